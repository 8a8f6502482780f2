// Facts of operations that make, view or put together tensors.
#include <algorithm>

#include "rewriter/expr/facts.h"

namespace kernelmap::expr {

// `x` without the dimension `dim`.
void Arena::DropDimension(Expr& e, const Expr& x, Id dim) const {
  if (x.rank <= 0) return;
  SetRank(e, x.rank - 1);
  const auto d = AsInt(dim);
  if (!x.has_shape || !d || *d < -x.rank || *d >= x.rank) return;
  Ids shape = x.shape;
  shape.erase(shape.begin() + (*d < 0 ? *d + x.rank : *d));
  SetShape(e, shape);
}

void Arena::InferItem(Expr& e) {
  const Expr& list = exprs_[e.args[0]];
  if (!OneOf(list.op, {"chunk", "split", "split_with_sizes", "unbind"})) return;
  const Expr& x = exprs_[list.args[0]];
  e.dtype = x.dtype;
  if (list.op == "unbind") return DropDimension(e, x, list.args[1]);
  e.rank = x.rank;
  e.min_rank = x.min_rank;
  if (list.op == "split_with_sizes" || exprs_[list.args[1]].op == "list") return;
  const auto count = AsInt(list.args[1]);
  const auto dim = list.args.size() > 2 ? AsInt(list.args[2]) : std::optional<std::int64_t>(0);
  if (!count || !dim || !x.has_shape || *count <= 0) return;
  const std::int64_t d = *dim < 0 ? *dim + x.rank : *dim;
  if (d < 0 || d >= x.rank) return;
  const auto length = AsInt(x.shape[d]);
  if (!length || *length % *count != 0) return;
  Ids shape = x.shape;
  shape[d] = Int(list.op == "chunk" ? *length / *count : *count);
  SetShape(e, shape);
}

// A size that a model computes may be -1, "whatever fits", unless it is known not to be.
bool Arena::NonNegative(Id id) const {
  if (const auto c = AsInt(id)) return *c >= 0;
  const Expr& e = exprs_[id];
  if (OneOf(e.op, {"size", "inferred_size", "slice_size", "len", "dim"})) return true;
  if (OneOf(e.op, {"int_add", "int_mul", "int_floordiv"})) {
    return NonNegative(e.args[0]) && NonNegative(e.args[1]);
  }
  return false;
}

// zeros(size, dtype, ...), full(size, value, dtype, ...), new_zeros(x, size, dtype, ...),
// zeros_like(x, dtype, ...) and the like.
bool Arena::InferCreation(Expr& e) const {
  const bool has_value = OneOf(e.op, {"full", "new_full", "full_like"});
  const bool of_another = e.op.starts_with("new_") || e.op.ends_with("_like");
  if (OneOf(e.op,
            {"zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like"})) {
    SameShape(e, exprs_[e.args[0]]);
  } else if (OneOf(e.op, {"zeros", "ones", "full", "empty", "rand", "randn", "new_zeros",
                          "new_ones", "new_full", "new_empty"})) {
    const std::size_t size = of_another ? 1 : 0;
    if (e.args.size() <= size) return false;
    const Expr& list = exprs_[e.args[size]];
    if (list.op == "list") SetRank(e, static_cast<int>(list.args.size()));
  } else {
    return false;
  }
  const std::size_t at = (e.op.starts_with("new_") ? 2 : 1) + (has_value ? 1 : 0);
  if (e.args.size() <= at) return true;
  const auto dtype = AsInt(e.args[at]);
  if (dtype && *dtype >= 0 && *dtype < 64) {
    e.dtype = static_cast<DType>(*dtype);
  } else if (of_another && exprs_[e.args[at]].kind == Kind::kNone) {
    e.dtype = exprs_[e.args[0]].dtype;
  }
  return true;
}

// The shape of cat and stack of tensors of one rank, where those of all are known.
void Arena::JoinShapes(Expr& e, const Ids& parts) {
  const auto given = e.args.size() > 1 ? AsInt(e.args[1]) : std::optional<std::int64_t>(0);
  if (!given || *given < -e.rank || *given >= e.rank) return;
  const std::int64_t dim = *given < 0 ? *given + e.rank : *given;
  for (const Id x : parts) {
    if (!exprs_[x].has_shape) return;
  }
  Ids shape = exprs_[parts[0]].shape;
  if (e.op == "stack") {
    shape.insert(shape.begin() + dim, Int(static_cast<std::int64_t>(parts.size())));
  } else {
    for (std::size_t i = 1; i < parts.size(); ++i) {
      shape[dim] = IntOp("int_add", shape[dim], exprs_[parts[i]].shape[dim]);
    }
  }
  SetShape(e, shape);
}

// x[i, j, …]: tensors of whole numbers take a dimension each and give those that they broadcast to.
// Of booleans, and where it is not known what they are, nothing is said.
void Arena::InferIndex(Expr& e, const Expr& x) const {
  const Expr& list = exprs_[e.args[1]];
  if (list.op != "list" || x.rank < 0) return;
  int taken = 0, given = 0;
  for (const Id i : list.args) {
    const Expr& index = exprs_[i];
    if (index.kind == Kind::kNone) continue;
    const bool whole = index.kind == Kind::kTensor && IsIntegral(index.dtype);
    if (!whole || index.dtype == kUInt8 || index.rank < 0) return;
    ++taken;
    given = std::max(given, index.rank);
  }
  if (taken <= x.rank) SetRank(e, x.rank - taken + given);
}

bool Arena::InferShapeOp(Expr& e, Id id) {
  const std::string& op = e.op;
  const std::size_t n = e.args.size();
  if (n == 0) return false;
  const Expr a = exprs_[e.args[0]];  // copied: building sizes may grow the arena
  if (op == "cast") {
    SameShape(e, a);
    const auto d = AsInt(e.args[1]);
    if (d && *d >= 0 && *d < 64) e.dtype = static_cast<DType>(*d);
  } else if (OneOf(op, {"to_device", "clone", "dropout"})) {
    SameShape(e, a);
    e.dtype = a.dtype;
  } else if (op == "reshape") {
    e.dtype = a.dtype;
    const Expr list = exprs_[e.args[1]];
    if (list.op != "list") return true;
    Ids shape;
    for (const Id d : list.args) {
      const auto c = AsInt(d);
      if (c && *c == -1) {
        shape.push_back(Raw("inferred_size", {e.args[0], e.args[1]}, Kind::kInt));
      } else if (NonNegative(d)) {
        shape.push_back(d);
      } else {
        const auto at = static_cast<std::int64_t>(shape.size());
        shape.push_back(Raw("size", {id, Int(at)}, Kind::kInt));
      }
    }
    SetShape(e, shape);
  } else if (op == "expand") {
    e.dtype = a.dtype;
    const Expr list = exprs_[e.args[1]];
    if (list.op != "list") return true;
    Ids shape;
    bool known = true;
    for (std::size_t i = 0; i < list.args.size(); ++i) {
      const auto c = AsInt(list.args[i]);
      if (c && *c == -1) {
        const auto j = static_cast<std::int64_t>(i) -
                       static_cast<std::int64_t>(list.args.size() - a.shape.size());
        known = known && a.has_shape && j >= 0;
        shape.push_back(known ? a.shape[j] : list.args[i]);
      } else if (NonNegative(list.args[i])) {
        shape.push_back(list.args[i]);
      } else {
        shape.push_back(Raw("size", {id, Int(static_cast<std::int64_t>(i))}, Kind::kInt));
      }
    }
    if (known) {
      SetShape(e, shape);
    } else {
      SetRank(e, static_cast<int>(list.args.size()));
    }
  } else if (op == "permute") {
    e.dtype = a.dtype;
    e.rank = a.rank;
    e.min_rank = a.min_rank;
    const Expr& list = exprs_[e.args[1]];
    if (list.op == "list") SetRank(e, static_cast<int>(list.args.size()));
    if (!a.has_shape || list.op != "list") return true;
    Ids shape;
    for (const Id d : list.args) {
      const auto c = AsInt(d);
      if (!c || *c < 0 || *c >= static_cast<std::int64_t>(a.shape.size())) return true;
      shape.push_back(a.shape[*c]);
    }
    SetShape(e, shape);
  } else if (op == "transpose") {
    e.dtype = a.dtype;
    e.rank = a.rank;
    e.min_rank = a.min_rank;
  } else if (op == "unsqueeze") {
    e.dtype = a.dtype;
    e.min_rank = a.min_rank + 1;
    if (a.rank >= 0) SetRank(e, a.rank + 1);
    const auto d = AsInt(e.args[1]);
    if (a.has_shape && d && *d >= 0 && *d <= static_cast<std::int64_t>(a.shape.size())) {
      Ids shape = a.shape;
      shape.insert(shape.begin() + *d, Int(1));
      SetShape(e, shape);
    }
  } else if (op == "slice" && n == 5) {
    e.dtype = a.dtype;
    e.rank = a.rank;
    e.min_rank = a.min_rank;
    const auto d = AsInt(e.args[1]);
    if (!a.has_shape || !d || *d < 0 || *d >= a.rank) return true;
    Ids shape = a.shape;
    const auto start = AsInt(e.args[2]), end = AsInt(e.args[3]), step = AsInt(e.args[4]);
    const auto length = AsInt(shape[*d]);
    if (start && end && step && length && *step > 0) {
      const auto clamp = [&](std::int64_t i) {
        return std::clamp<std::int64_t>(i < 0 ? i + *length : i, 0, *length);
      };
      const std::int64_t span = clamp(*end) - clamp(*start);
      shape[*d] = Int(span <= 0 ? 0 : (span + *step - 1) / *step);
    } else {
      shape[*d] = Raw("slice_size", {shape[*d], e.args[2], e.args[3], e.args[4]}, Kind::kInt);
    }
    SetShape(e, shape);
  } else if (op == "select" && n >= 2) {
    e.dtype = a.dtype;
    DropDimension(e, a, e.args[1]);
  } else if (OneOf(op, {"roll", "tril", "triu", "flip"})) {
    SameShape(e, a);
    e.dtype = a.dtype;
  } else if (op == "flatten" && n == 3) {
    e.dtype = a.dtype;
    const auto start = AsInt(e.args[1]), end = AsInt(e.args[2]);
    if (a.rank <= 0 || !start || !end) return true;
    const std::int64_t from = *start < 0 ? *start + a.rank : *start;
    const std::int64_t to = *end < 0 ? *end + a.rank : *end;
    if (from < 0 || from > to || to >= a.rank) return true;
    SetRank(e, static_cast<int>(a.rank - (to - from)));
    if (!a.has_shape) return true;
    Ids shape = a.shape;
    for (std::int64_t d = to; d > from; --d) shape[d - 1] = IntOp("int_mul", shape[d - 1], shape[d]);
    shape.erase(shape.begin() + from + 1, shape.begin() + to + 1);
    SetShape(e, shape);
  } else if (OneOf(op, {"view_as", "expand_as"}) && n == 2) {
    SameShape(e, exprs_[e.args[1]]);
    e.dtype = a.dtype;
  } else if (op == "repeat" && n == 2) {
    e.dtype = a.dtype;
    const Expr& list = exprs_[e.args[1]];
    if (list.op == "list") SetRank(e, static_cast<int>(list.args.size()));
  } else if (op == "squeeze" && n == 2 && a.has_shape) {
    e.dtype = a.dtype;
    const auto d = AsInt(e.args[1]);
    if (!d || *d < 0 || *d >= a.rank || !AsInt(a.shape[*d])) return true;
    SizeIsOne(e.args[0], e.args[1]) ? DropDimension(e, a, e.args[1]) : SameShape(e, a);
  } else if (op == "repeat_interleave" && n == 4) {
    e.dtype = a.dtype;
    const auto d = AsInt(e.args[2]);
    if (exprs_[e.args[2]].kind == Kind::kNone) SetRank(e, 1);
    if (exprs_[e.args[2]].kind != Kind::kInt || a.rank < 1) return true;
    SetRank(e, a.rank);
    const bool whole = exprs_[e.args[1]].kind == Kind::kInt;  // else a count for each element
    if (!whole || !a.has_shape || !d || *d < -a.rank || *d >= a.rank) return true;
    Ids shape = a.shape;
    Id& length = shape[*d < 0 ? *d + a.rank : *d];
    length = IntOp("int_mul", length, e.args[1]);
    SetShape(e, shape);
  } else if (op == "gather" && n >= 3) {
    SameShape(e, exprs_[e.args[2]]);
    e.dtype = a.dtype;
  } else if (op == "index" && n == 2) {
    e.dtype = a.dtype;
    InferIndex(e, a);
  } else if (op.starts_with("upsample_")) {
    e.dtype = a.dtype;
    SetRank(e, a.rank);
  } else if (OneOf(op, {"squeeze", "narrow", "index_select"})) {
    e.dtype = a.dtype;
  } else if (InferCreation(e)) {
    return true;
  } else if (op == "item") {
    InferItem(e);
  } else if (op == "cat" || op == "stack") {
    if (a.op != "list" || a.args.empty()) return true;
    DType dtype = exprs_[a.args[0]].dtype;
    int rank = exprs_[a.args[0]].rank;
    for (const Id x : a.args) {
      if (exprs_[x].dtype != dtype) dtype = kUnknownDType;
      if (exprs_[x].rank != rank) rank = -1;
    }
    e.dtype = dtype;
    // torch.cat takes empty 1-d tensors beside others; ranks that agree are the result's.
    if (rank < 0) return true;
    SetRank(e, rank + (op == "stack" ? 1 : 0));
    JoinShapes(e, a.args);
  } else {
    return false;
  }
  return true;
}

}  // namespace kernelmap::expr
