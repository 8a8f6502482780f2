// Facts about a tensor expression, from its operands' facts: dtype, rank, symbolic shape, memory.
// A fact is stated only where it holds for every input on which the operation does not raise.
#pragma once

#include <utility>

#include "rewriter/expr/arena.h"

namespace kernelmap::expr {

inline void SetShape(Expr& e, Ids shape) {
  e.rank = e.min_rank = static_cast<int>(shape.size());
  e.has_shape = true;
  e.shape = std::move(shape);
}

inline void SetRank(Expr& e, int rank) {
  if (rank >= 0) e.rank = e.min_rank = rank;
}

inline void SameShape(Expr& e, const Expr& x) {
  e.rank = x.rank;
  e.min_rank = x.min_rank;
  e.has_shape = x.has_shape;
  e.shape = x.shape;
}

}  // namespace kernelmap::expr
