// Facts of operations that compute: dtypes by promotion, shapes by broadcasting.
#include "rewriter/expr/facts.h"

#include <algorithm>

namespace kernelmap::expr {
namespace {

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

// A 0-dimensional tensor that is no complex number, whatever its dtype. torch.where of two Python
// numbers is of the default dtype, which a program may set.
bool Arena::IsRealScalar(Id id) const {
  const Expr& e = exprs_[id];
  if (e.kind != Kind::kTensor || e.rank != 0) return false;
  if (e.dtype >= 0) return IsFloating(e.dtype) || IsIntegral(e.dtype) || e.dtype == kBoolDType;
  if (e.op == "neg") return IsRealScalar(e.args[0]);
  const auto number = [&](Id x) {
    return exprs_[x].kind == Kind::kFloat || exprs_[x].kind == Kind::kInt;
  };
  return e.op == "where" && e.args.size() == 3 && number(e.args[1]) && number(e.args[2]);
}

// `id`: the expression whose facts these are, where it may be asked for its sizes.
void Arena::Broadcast(Expr& e, Id a, Id b, Id id) {
  const Expr &x = exprs_[a], &y = exprs_[b];
  if (x.kind != Kind::kTensor) return SameShape(e, y);
  if (y.kind != Kind::kTensor) return SameShape(e, x);
  if (x.rank == 0) return SameShape(e, y);
  if (y.rank == 0) return SameShape(e, x);
  e.min_rank = std::max(x.min_rank, y.min_rank);
  if (x.rank >= 0 && y.rank >= 0) SetRank(e, std::max(x.rank, y.rank));
  if (!x.has_shape || !y.has_shape) return;
  const bool x_longer = x.rank >= y.rank;
  Ids shape = x_longer ? x.shape : y.shape;
  const Ids shorter = x_longer ? y.shape : x.shape;
  const std::size_t offset = shape.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Id& d = shape[offset + i];
    const Id s = shorter[i];
    const auto cd = AsInt(d), cs = AsInt(s);
    if (d == s || (cs && *cs == 1)) continue;
    if ((cd && *cd == 1) || cs) {
      d = s;  // 1 gives way; a constant other than 1 is what the other dimension becomes
    } else if (!cd) {
      if (id < 0) return;
      d = Raw("size", {id, Int(static_cast<std::int64_t>(offset + i))}, Kind::kInt);
    }
  }
  SetShape(e, shape);
}

bool Arena::InferMathOp(Expr& e, Id id) {
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
      // A 0-dimensional bound takes part only by its category.
      const bool wide = IsFloating(arg(0).dtype) && arg(0).min_rank >= 1;
      for (std::size_t i = 1; i < n; ++i) {
        if (arg(i).kind == Kind::kTensor && !(wide && IsRealScalar(e.args[i]))) {
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
    if (n == 3) Broadcast(e, e.args[0], e.args[1], id);
  } else if (OneOf(op, {"add", "mul", "sub", "div", "add_scalar_first", "mul_scalar_first",
                        "sub_scalar_first", "div_scalar_first", "minimum", "maximum"}) &&
             n >= 2) {
    e.dtype = PromoteOperands(e.args[0], e.args[1]);
    if (op.starts_with("div") && !IsFloating(e.dtype)) e.dtype = kUnknownDType;
    if (n > 2) e.dtype = IsFloating(e.dtype) && op != "div" ? e.dtype : kUnknownDType;
    Broadcast(e, e.args[0], e.args[1], id);
  } else if (OneOf(op, {"le", "lt", "ge", "gt", "eq", "ne", "logical_and", "logical_or"}) &&
             n == 2) {
    e.dtype = kBoolDType;
    Broadcast(e, e.args[0], e.args[1], id);
  } else if ((op == "any" || op == "all") && n == 1) {
    if (arg(0).dtype == kBoolDType) e.dtype = kBoolDType;
    SetRank(e, 0);
  } else if (op == "logical_not" || op == "isnan" || op == "isinf") {
    e.dtype = kBoolDType;
    SameShape(e, arg(0));
  } else if (OneOf(op, {"__and__", "__or__", "bitwise_and", "bitwise_or"}) && n == 2) {
    if (arg(0).dtype == kBoolDType && arg(1).dtype == kBoolDType) e.dtype = kBoolDType;
    Broadcast(e, e.args[0], e.args[1], id);
  } else if (op == "where" && n == 3) {
    e.dtype = PromoteOperands(e.args[1], e.args[2]);
    e.min_rank = std::max({arg(0).min_rank, arg(1).min_rank, arg(2).min_rank});
    Expr values{.op = "", .kind = Kind::kTensor};
    Broadcast(values, e.args[1], e.args[2]);
    if (arg(1).kind != Kind::kTensor && arg(2).kind != Kind::kTensor) SetRank(values, 0);
    if (arg(0).rank >= 0 && values.rank >= 0) SetRank(e, std::max(arg(0).rank, values.rank));
  } else if (OneOf(op, {"mean", "sum", "variance", "std", "amax", "amin"})) {
    e.dtype = IsFloating(arg(0).dtype) ? arg(0).dtype : kUnknownDType;
    // An explicit dtype.
    const std::size_t last = n == 2 || n == 4 ? n - 1 : 0;
    if (last > 0 && (op == "mean" || op == "sum") && arg(last).kind != Kind::kList) {
      const auto dtype = AsInt(e.args[last]);
      if (dtype && *dtype >= 0 && *dtype < 64) {
        e.dtype = static_cast<DType>(*dtype);
      } else if (arg(last).kind != Kind::kNone) {
        e.dtype = kUnknownDType;
      }
    }
    const std::size_t keep = op == "variance" || op == "std" ? 3 : 2;
    const bool keeps = n > keep && AsBool(e.args[keep]) == true;
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
    // arange([start,] end[, step], dtype, layout, device, pin_memory)
    if (n >= 5) {
      const auto dtype = AsInt(e.args[n - 4]);
      bool whole = arg(n - 4).kind == Kind::kNone;
      for (std::size_t i = 0; i + 4 < n; ++i) whole = whole && arg(i).kind == Kind::kInt;
      if (whole) e.dtype = kInt64;
      if (dtype && *dtype >= 0 && *dtype < 64) e.dtype = static_cast<DType>(*dtype);
    }
    SetShape(e, {Raw("size", {id, Int(0)}, Kind::kInt)});
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
  if (e.kind == Kind::kTensor && !InferShapeOp(e, id)) InferMathOp(e, id);
  if (e.op == "list" || e.op == "tuple") {
    exprs_[id] = std::move(e);
    return;
  }
  if (IsView(e.op) && !e.args.empty()) e.base = Base(e.args[0]);
  exprs_[id] = std::move(e);
}

}  // namespace kernelmap::expr
