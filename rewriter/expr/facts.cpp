// Facts about a tensor expression, from its operands' facts: dtype, rank, symbolic shape, memory.
// A fact is stated only where it holds for every input on which the operation does not raise.
#include <algorithm>

#include "rewriter/expr/arena.h"

namespace kernelmap::expr {
namespace {

void SetShape(Expr& e, Ids shape) {
  e.rank = e.min_rank = static_cast<int>(shape.size());
  e.has_shape = true;
  e.shape = std::move(shape);
}

void SetRank(Expr& e, int rank) {
  if (rank >= 0) e.rank = e.min_rank = rank;
}

void SameShape(Expr& e, const Expr& x) {
  e.rank = x.rank;
  e.min_rank = x.min_rank;
  e.has_shape = x.has_shape;
  e.shape = x.shape;
}

bool IsView(std::string_view op) {
  return OneOf(op,
               {"reshape",   "permute", "transpose", "slice",   "unsqueeze",        "squeeze",
                "expand",    "select",  "chunk",     "split",   "split_with_sizes", "tensor_split",
                "item",      "flatten", "narrow",    "t",       "expand_as",        "unflatten",
                "to_device", "unbind",  "view_as",   "movedim", "diagonal",         "unfold",
                "cast",      "dropout"});
}

}  // namespace

DType Arena::PromoteOperands(Id a, Id b) const {
  const Expr &x = exprs_[a], &y = exprs_[b];
  const bool tx = x.kind == Kind::kTensor, ty = y.kind == Kind::kTensor;
  if (!tx && !ty) return kUnknownDType;
  if (tx != ty) {
    const Expr &t = tx ? x : y, &s = tx ? y : x;
    if (t.dtype < 0) return kUnknownDType;
    if (s.kind != Kind::kInt && s.kind != Kind::kFloat && s.kind != Kind::kBool) {
      return kUnknownDType;
    }
    if (IsFloating(t.dtype)) return t.dtype;
    return IsIntegral(t.dtype) && s.kind != Kind::kFloat ? t.dtype : kUnknownDType;
  }
  if (x.dtype < 0 || y.dtype < 0) return kUnknownDType;
  if (x.dtype == y.dtype) return x.dtype;
  const auto category = [](DType d) { return IsFloating(d) ? 2 : d == kBoolDType ? 0 : 1; };
  const bool known = (IsFloating(x.dtype) || IsIntegral(x.dtype) || x.dtype == kBoolDType) &&
                     (IsFloating(y.dtype) || IsIntegral(y.dtype) || y.dtype == kBoolDType);
  if (!known) return kUnknownDType;
  // A 0-dimensional operand takes part only by its category.
  if (x.rank == 0 && y.min_rank >= 1 && category(x.dtype) <= category(y.dtype)) return y.dtype;
  if (y.rank == 0 && x.min_rank >= 1 && category(y.dtype) <= category(x.dtype)) return x.dtype;
  if (x.min_rank >= 1 && y.min_rank >= 1) return Promote(x.dtype, y.dtype);
  return kUnknownDType;
}

void Arena::Broadcast(Expr& e, Id a, Id b) const {
  const Expr &x = exprs_[a], &y = exprs_[b];
  if (x.kind != Kind::kTensor) return SameShape(e, y);
  if (y.kind != Kind::kTensor) return SameShape(e, x);
  if (x.rank == 0) return SameShape(e, y);
  if (y.rank == 0) return SameShape(e, x);
  e.min_rank = std::max(x.min_rank, y.min_rank);
  if (x.rank >= 0 && y.rank >= 0) SetRank(e, std::max(x.rank, y.rank));
  if (!x.has_shape || !y.has_shape) return;
  const Expr &longer = x.rank >= y.rank ? x : y, &shorter = x.rank >= y.rank ? y : x;
  Ids shape = longer.shape;
  const std::size_t offset = longer.shape.size() - shorter.shape.size();
  for (std::size_t i = 0; i < shorter.shape.size(); ++i) {
    Id& d = shape[offset + i];
    const Id s = shorter.shape[i];
    const auto cd = AsInt(d), cs = AsInt(s);
    if (d == s || (cs && *cs == 1)) continue;
    if ((cd && *cd == 1) || cs) {
      d = s;  // 1 gives way; a constant other than 1 is what the other dimension becomes
    } else if (!cd) {
      return;
    }
  }
  SetShape(e, shape);
}

void Arena::InferItem(Expr& e) {
  const Expr& list = exprs_[e.args[0]];
  if (!OneOf(list.op, {"chunk", "split", "unbind"})) return;
  const Expr& x = exprs_[list.args[0]];
  e.dtype = x.dtype;
  if (list.op == "unbind") {
    if (x.rank > 0) SetRank(e, x.rank - 1);
    return;
  }
  e.rank = x.rank;
  e.min_rank = x.min_rank;
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
  } else if (op == "select") {
    e.dtype = a.dtype;
    if (a.rank > 0) SetRank(e, a.rank - 1);
  } else if (OneOf(op, {"index", "flatten", "squeeze", "narrow", "view_as", "expand_as", "repeat",
                        "index_select", "gather", "roll", "tril", "triu", "flip"})) {
    e.dtype = a.dtype;
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
    if (rank >= 0) SetRank(e, rank + (op == "stack" ? 1 : 0));
  } else {
    return false;
  }
  return true;
}

bool Arena::InferMathOp(Expr& e) {
  const std::string& op = e.op;
  const std::size_t n = e.args.size();
  if (n == 0) return false;
  const auto arg = [&](std::size_t i) -> const Expr& { return exprs_[e.args[i]]; };
  const auto float_like_first = [&] {
    SameShape(e, arg(0));
    e.dtype = IsFloating(arg(0).dtype) ? arg(0).dtype : kUnknownDType;
  };
  if (OneOf(op, {"neg", "abs", "square", "relu", "clamp", "clamp_min", "clamp_max"})) {
    float_like_first();
    if ((op == "neg" || op == "abs" || op == "square") && IsIntegral(arg(0).dtype)) {
      e.dtype = arg(0).dtype;
    }
    if (op.starts_with("clamp")) {  // bounds that are tensors promote and broadcast
      for (std::size_t i = 1; i < n; ++i) {
        if (arg(i).kind == Kind::kTensor) {
          e.dtype = kUnknownDType;
          e.rank = -1;
          e.has_shape = false;
        }
      }
    }
  } else if (OneOf(op, {"rsqrt",    "tanh",       "silu",       "gelu",       "cos",
                        "sin",      "exp",        "sigmoid",    "sqrt",       "log",
                        "erf",      "softmax",    "layer_norm", "reciprocal", "softplus",
                        "rms_norm", "leaky_relu", "elu",        "hardtanh",   "mish"})) {
    float_like_first();
  } else if (op == "pow" && n == 2) {
    if (arg(1).kind != Kind::kTensor) float_like_first();
  } else if (op == "masked_fill") {
    e.dtype = arg(0).dtype;
    if (n == 3) Broadcast(e, e.args[0], e.args[1]);
  } else if (OneOf(op, {"add", "mul", "sub", "div", "add_scalar_first", "mul_scalar_first",
                        "sub_scalar_first", "div_scalar_first", "minimum", "maximum"}) &&
             n >= 2) {
    e.dtype = PromoteOperands(e.args[0], e.args[1]);
    if (op.starts_with("div") && !IsFloating(e.dtype)) e.dtype = kUnknownDType;
    if (n > 2) e.dtype = IsFloating(e.dtype) && op != "div" ? e.dtype : kUnknownDType;
    Broadcast(e, e.args[0], e.args[1]);
  } else if (OneOf(op, {"le", "lt", "ge", "gt", "eq", "ne", "logical_and", "logical_or"}) &&
             n == 2) {
    e.dtype = kBoolDType;
    Broadcast(e, e.args[0], e.args[1]);
  } else if (op == "logical_not" || op == "isnan" || op == "isinf") {
    e.dtype = kBoolDType;
    SameShape(e, arg(0));
  } else if (OneOf(op, {"__and__", "__or__", "bitwise_and", "bitwise_or"}) && n == 2) {
    if (arg(0).dtype == kBoolDType && arg(1).dtype == kBoolDType) e.dtype = kBoolDType;
    Broadcast(e, e.args[0], e.args[1]);
  } else if (op == "where" && n == 3) {
    e.dtype = PromoteOperands(e.args[1], e.args[2]);
    e.min_rank = std::max({arg(0).min_rank, arg(1).min_rank, arg(2).min_rank});
    Expr values{.op = "", .kind = Kind::kTensor};
    Broadcast(values, e.args[1], e.args[2]);
    if (arg(1).kind != Kind::kTensor && arg(2).kind != Kind::kTensor) SetRank(values, 0);
    if (arg(0).rank >= 0 && values.rank >= 0) SetRank(e, std::max(arg(0).rank, values.rank));
  } else if (OneOf(op, {"mean", "sum", "var", "amax", "amin"})) {
    e.dtype = IsFloating(arg(0).dtype) ? arg(0).dtype : kUnknownDType;
    // An explicit dtype, or what var and others have there.
    const std::size_t last = n == 2 || n == 4 ? n - 1 : 0;
    if (last > 0 && (op == "mean" || op == "sum") && arg(last).kind != Kind::kList) {
      const auto dtype = AsInt(e.args[last]);
      if (dtype && *dtype >= 0 && *dtype < 64) {
        e.dtype = static_cast<DType>(*dtype);
      } else if (arg(last).kind != Kind::kNone) {
        e.dtype = kUnknownDType;
      }
    } else if (n >= 4) {
      e.dtype = kUnknownDType;
    }
    const bool keeps =
        n >= 3 && IsConst(e.args[2]) && arg(2).kind == Kind::kBool && arg(2).constant.integer != 0;
    if (keeps) {
      e.rank = arg(0).rank;
      e.min_rank = arg(0).min_rank;
    }
  } else if (op == "embedding" && n >= 2) {
    e.dtype = arg(0).dtype;
    e.min_rank = arg(1).min_rank + 1;
    if (arg(1).rank >= 0) SetRank(e, arg(1).rank + 1);
    if (arg(0).shape.size() == 2 && arg(1).has_shape) {
      Ids shape = arg(1).shape;
      shape.push_back(arg(0).shape[1]);
      SetShape(e, shape);
    }
  } else if (op == "linear" && n >= 2) {
    // Operands of another dtype raise, so one known dtype is the result's.
    e.dtype = arg(1).dtype >= 0 ? arg(1).dtype : arg(0).dtype;
    e.rank = arg(0).rank;
    e.min_rank = std::max(1, arg(0).min_rank);
    if (arg(1).rank != 2) {
      e.rank = -1;
      e.min_rank = 0;
    } else if (arg(0).has_shape && !arg(0).shape.empty() && arg(1).shape.size() == 2) {
      Ids shape = arg(0).shape;
      shape.back() = arg(1).shape[0];
      SetShape(e, shape);
    }
  } else if (op == "addmm" && n >= 3) {
    e.dtype = arg(2).dtype >= 0 ? arg(2).dtype : arg(1).dtype;
    SetRank(e, 2);
    if (arg(1).shape.size() == 2 && arg(2).shape.size() == 2) {
      SetShape(e, {arg(1).shape[0], arg(2).shape[1]});
    }
  } else if (OneOf(op, {"matmul", "bmm"}) && n == 2) {
    e.dtype = arg(0).dtype >= 0 ? arg(0).dtype : arg(1).dtype;
    if (arg(0).rank >= 2 && arg(1).rank >= 2) SetRank(e, std::max(arg(0).rank, arg(1).rank));
  } else if (OneOf(op, {"_convolution", "conv1d", "conv2d", "convolution"}) && n >= 2) {
    e.dtype = arg(1).dtype;
    e.rank = arg(0).rank;
  } else if (op == "arange") {
    SetRank(e, 1);
  } else if (op == "scaled_dot_product_attention" && n >= 3) {
    e.dtype = arg(0).dtype;
    e.rank = arg(0).rank;
    e.min_rank = arg(0).min_rank;
  } else {
    return false;
  }
  return true;
}

void Arena::Infer(Id id) {
  // Only the views below share memory by name; other operations are told by the executor.
  Expr e = exprs_[id];
  if (e.kind == Kind::kTensor && !InferShapeOp(e, id)) InferMathOp(e);
  if (e.op == "list" || e.op == "tuple") {
    exprs_[id] = std::move(e);
    return;
  }
  if (IsView(e.op) && !e.args.empty()) e.base = Base(e.args[0]);
  exprs_[id] = std::move(e);
}

}  // namespace kernelmap::expr
