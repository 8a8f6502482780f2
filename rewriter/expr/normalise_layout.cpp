// Rules of normalise.cpp for operations that view tensors and put them together.
#include "rewriter/expr/arena.h"

namespace kernelmap::expr {

Id Arena::OpSlice(Ids a) {
  a[1] = Dim(a[0], a[1]);
  if (exprs_[a[2]].kind == Kind::kNone) a[2] = Int(0);
  if (exprs_[a[3]].kind == Kind::kNone) a[3] = Int(INT64_MAX);
  const auto dim = AsInt(a[1]), start = AsInt(a[2]), end = AsInt(a[3]), step = AsInt(a[4]);
  if (start && *start == 0 && step && *step == 1) {
    if (end && *end == INT64_MAX) return a[0];
    const Expr& x = exprs_[a[0]];
    if (dim && *dim >= 0 && x.has_shape && *dim < x.rank && a[3] == x.shape[*dim]) return a[0];
  }
  return Raw("slice", a);
}

Id Arena::Permute(Id tensor, std::vector<int> order) {
  if (exprs_[tensor].op == "permute") {
    std::vector<int> composed;
    const Expr& inner = exprs_[exprs_[tensor].args[1]];
    for (const int i : order) composed.push_back(static_cast<int>(*AsInt(inner.args[i])));
    order = composed;
    tensor = exprs_[tensor].args[0];
  }
  bool identity = true;
  Ids dims;
  for (std::size_t i = 0; i < order.size(); ++i) {
    identity = identity && order[i] == static_cast<int>(i);
    dims.push_back(Int(order[i]));
  }
  return identity ? tensor : Raw("permute", {tensor, List(dims)});
}

Id Arena::OpTranspose(Ids a) {
  a[1] = Dim(a[0], a[1]);
  a[2] = Dim(a[0], a[2]);
  const auto i = AsInt(a[1]), j = AsInt(a[2]);
  const int rank = exprs_[a[0]].rank;
  if (i && j && *i >= 0 && *j >= 0 && *i < rank && *j < rank) {
    std::vector<int> order;
    for (int d = 0; d < rank; ++d) order.push_back(d);
    std::swap(order[*i], order[*j]);
    return Permute(a[0], order);
  }
  if (i && j && *i > *j) std::swap(a[1], a[2]);
  return Raw("transpose", a);
}

Id Arena::OpPermute(const Ids& a) {
  const Expr& list = exprs_[a[1]];
  const int rank = exprs_[a[0]].rank;
  if (list.op != "list" || rank != static_cast<int>(list.args.size())) return Raw("permute", a);
  std::vector<int> order;
  std::vector<bool> seen(rank, false);
  for (const Id d : list.args) {
    const auto c = AsInt(d);
    if (!c || *c < -rank || *c >= rank) return Raw("permute", a);
    const int i = static_cast<int>(*c < 0 ? *c + rank : *c);
    if (seen[i]) return Raw("permute", a);
    seen[i] = true;
    order.push_back(i);
  }
  return Permute(a[0], order);
}

Id Arena::OpExpand(const Ids& a) {
  const Expr &list = exprs_[a[1]], &x = exprs_[a[0]];
  if (list.op == "list" && x.has_shape && x.shape.size() == list.args.size()) {
    bool same = true;
    for (std::size_t i = 0; i < list.args.size(); ++i) {
      const auto c = AsInt(list.args[i]);
      same = same && ((c && *c == -1) || list.args[i] == x.shape[i]);
    }
    if (same) return a[0];
  }
  return Raw("expand", {a[0], a[1]});
}

bool Arena::SizeIsOne(Id tensor, Id dim) const {
  const auto d = AsInt(dim);
  const Expr& x = exprs_[tensor];
  return d && x.has_shape && *d >= 0 && *d < x.rank && AsInt(x.shape[*d]) == 1;
}

std::optional<Id> Arena::OpLayout(const std::string& op, Ids a) {
  const std::size_t n = a.size();
  if (n == 0 || !(IsTensor(a[0]) || exprs_[a[0]].kind == Kind::kList)) return std::nullopt;
  if (OneOf(op, {"view", "reshape", "_unsafe_view"}) && n == 2) {
    if (exprs_[a[1]].kind != Kind::kList) return std::nullopt;  // view as a dtype
    const Expr &list = exprs_[a[1]], &x = exprs_[a[0]];
    if (list.op == "list" && x.has_shape && x.shape == list.args) return a[0];
    return Raw("reshape", a);
  }
  if (op == "expand" && n >= 2) return OpExpand(a);
  if (op == "slice" && n == 5 && IsTensor(a[0])) return OpSlice(a);
  if (op == "transpose" && n == 3) return OpTranspose(a);
  if (op == "permute" && n == 2) return OpPermute(a);
  if (op == "t" && n == 1 && exprs_[a[0]].rank == 2) return Permute(a[0], {1, 0});
  if (op == "flatten" && n == 3) return Raw(op, {a[0], Dim(a[0], a[1]), Dim(a[0], a[2])});
  if (op == "repeat_interleave" && n == 4 && exprs_[a[2]].kind == Kind::kInt) {
    a[2] = Dim(a[0], a[2]);
    return Raw(op, a);
  }
  if (op == "unsqueeze" && n == 2) {
    a[1] = Dim(a[0], a[1], 1);
    const Expr& x = exprs_[a[0]];
    if (x.op == "squeeze" && x.args.size() == 2 && x.args[1] == a[1]) {
      if (SizeIsOne(x.args[0], a[1])) return x.args[0];
    }
    return Raw("unsqueeze", a);
  }
  if (op == "squeeze" && n == 2 && exprs_[a[1]].kind == Kind::kInt) {
    a[1] = Dim(a[0], a[1]);
    return Raw("squeeze", a);
  }
  if ((op == "cat" || op == "stack") && n == 2) {
    const Expr& list = exprs_[a[0]];
    if (list.op == "list" && !list.args.empty() && exprs_[list.args[0]].rank > 0) {
      a[1] = Dim(list.args[0], a[1], op == "stack" ? 1 : 0);
    }
    return Raw(op, a);
  }
  if (OneOf(op, {"chunk", "split", "split_with_sizes", "unbind"}) && n >= 2) {
    if (op == "unbind") return Raw(op, {a[0], Dim(a[0], a[1])}, Kind::kList);
    if (n > 2) a[2] = Dim(a[0], a[2]);
    return Raw(op, a, Kind::kList);
  }
  return std::nullopt;
}

}  // namespace kernelmap::expr
