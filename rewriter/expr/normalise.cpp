// Rules that build one expression for operations that compute the same bits. Each must hold for
// every input on which the operation does not raise; none needs to be complete. What is not known
// to be equal keeps expressions apart, and costs only a match.
#include <algorithm>
#include <cmath>
#include <map>

#include "rewriter/expr/arena.h"

namespace kernelmap::expr {

Id Arena::Dim(Id tensor, Id dim, int extra) {
  const auto c = AsInt(dim);
  if (c && *c < 0 && exprs_[tensor].rank >= 0) return Int(*c + exprs_[tensor].rank + extra);
  return dim;
}

Id Arena::DTypeOf(Id tensor) {
  if (exprs_[tensor].dtype >= 0) return Int(exprs_[tensor].dtype);
  return Raw("dtype", {tensor}, Kind::kInt);
}

Id Arena::Cast(Id tensor, Id dtype) {
  const auto c = AsInt(dtype);
  if (c && exprs_[tensor].dtype == static_cast<DType>(*c)) return tensor;
  // `x.to(x.dtype)` where the dtype is not known.
  const Expr& d = exprs_[dtype];
  if (d.op == "dtype" && d.args[0] == tensor) return tensor;
  return Raw("cast", {tensor, dtype});
}

Id Arena::Size(Id tensor, Id dim) {
  dim = Dim(tensor, dim);
  const auto c = AsInt(dim);
  const Expr& t = exprs_[tensor];
  if (c && t.has_shape && *c >= 0 && *c < static_cast<std::int64_t>(t.shape.size())) {
    return t.shape[*c];
  }
  return Raw("size", {tensor, dim}, Kind::kInt);
}

Id Arena::Item(Id list, Id index, Kind kind) {
  const Expr& l = exprs_[list];
  const auto i = AsInt(index);
  if ((l.op == "list" || l.op == "tuple") && i && (l.op == "tuple" || !Written(list))) {
    const std::int64_t j = *i < 0 ? *i + static_cast<std::int64_t>(l.args.size()) : *i;
    if (j >= 0 && j < static_cast<std::int64_t>(l.args.size())) return l.args[j];
  }
  if (l.op == "size" && l.args.size() == 1) return Size(l.args[0], index);
  const Id id = Raw("item", {list, index}, kind);
  return id;
}

bool Arena::IsIntLike(Id id) const {
  return exprs_[id].kind == Kind::kInt || (IsScalarTensor(id) && exprs_[id].dtype == kInt64);
}

Id Arena::ToInt(Id id) {
  return exprs_[id].kind == Kind::kInt ? id : Int(exprs_[id].constant.integer);
}

Id Arena::IntOp(const std::string& op, Id x, Id y) {
  const auto a = AsInt(x), b = AsInt(y);
  std::int64_t r = 0;
  if (a && b) {
    if (op == "int_add" && !__builtin_add_overflow(*a, *b, &r)) return Int(r);
    if (op == "int_sub" && !__builtin_sub_overflow(*a, *b, &r)) return Int(r);
    if (op == "int_mul" && !__builtin_mul_overflow(*a, *b, &r)) return Int(r);
    if (op == "int_floordiv" && *b > 0) return Int(*a >= 0 ? *a / *b : -((-*a + *b - 1) / *b));
  }
  if ((op == "int_add" || op == "int_sub") && b && *b == 0) return x;
  if (op == "int_add" && a && *a == 0) return y;
  if (op == "int_mul" && a && *a == 1) return y;
  if ((op == "int_mul" || op == "int_floordiv") && b && *b == 1) return x;
  if ((op == "int_add" || op == "int_mul") && x > y) std::swap(x, y);
  return Raw(op, {x, y}, Kind::kInt);
}

// A scalar operand beside a floating tensor: 0-dimensional constants and whole numbers become the
// double that the operation reads.
Id Arena::ScalarOperand(Id scalar, Id tensor) {
  if (!IsFloatTensor(tensor)) return scalar;
  if (IsScalarTensor(scalar) && !IsConst(tensor) && exprs_[tensor].min_rank >= 1 &&
      exprs_[scalar].dtype != kBoolDType) {
    return Float(*AsDouble(scalar));
  }
  if (const auto c = AsInt(scalar)) return Float(static_cast<double>(*c));
  return scalar;
}

bool Arena::IsDouble(Id id, double value) const {
  const Expr& e = exprs_[id];
  return e.op == "const" && e.kind == Kind::kFloat && e.constant.real == value;
}

bool Arena::IsIdleDropout(const Ids& args) const {
  return AsBool(args[2]) == false || IsDouble(args[1], 0.0);
}

Id Arena::OpTo(const Ids& a) {
  const std::size_t n = a.size();
  const auto kind = [&](std::size_t i) { return exprs_[a[i]].kind; };
  const auto has_dtype = [&](std::size_t i) { return i < n && kind(i) == Kind::kInt; };
  if (n < 2) return Raw("to", a);
  if (kind(1) == Kind::kTensor && !IsScalarTensor(a[1])) return Cast(a[0], DTypeOf(a[1]));
  if (n == 8) {  // dtype, layout, device, pin_memory, ...
    Id x = has_dtype(1) ? Cast(a[0], a[1]) : a[0];
    return kind(3) == Kind::kNone ? x : Raw("to_device", {x, a[3]});
  }
  if (kind(1) == Kind::kDevice) {  // device, dtype, ...
    const Id x = has_dtype(2) ? Cast(a[0], a[2]) : a[0];
    return Raw("to_device", {x, a[1]});
  }
  if (kind(1) == Kind::kNone) return has_dtype(2) ? Cast(a[0], a[2]) : a[0];
  const bool plain = n <= 5 && (n < 3 || kind(2) == Kind::kBool);  // dtype, non_blocking, copy
  if (has_dtype(1) && plain) return Cast(a[0], a[1]);
  return Raw("to", a);
}

// list[start:end:step] as Python computes it, for a step of 1.
std::optional<Id> Arena::ListSlice(const Ids& a) {
  const Ids items = exprs_[a[0]].args;
  const auto length = static_cast<std::int64_t>(items.size());
  const bool open = exprs_[a[2]].kind == Kind::kNone;
  const auto start =
      exprs_[a[1]].kind == Kind::kNone ? std::optional<std::int64_t>(0) : AsInt(a[1]);
  const auto end = open ? std::optional<std::int64_t>(length) : AsInt(a[2]);
  if (!start || !end || AsInt(a[3]) != 1) return std::nullopt;
  const auto clamp = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + length : i, 0, length);
  };
  const std::int64_t from = clamp(*start), to = std::max(from, clamp(*end));
  return List(Ids(items.begin() + from, items.begin() + to));
}

std::optional<Id> Arena::OpConversion(const std::string& op, const Ids& a) {
  const std::size_t n = a.size();
  if (op == "to") return OpTo(a);
  if (op == "type_as" && n == 2) return Cast(a[0], DTypeOf(a[1]));
  if (n == 1 && IsTensor(a[0])) {
    if (op == "float") return Cast(a[0], Int(kFloat32));
    if (op == "half") return Cast(a[0], Int(kHalf));
    if (op == "bfloat16") return Cast(a[0], Int(kBFloat16));
    if (op == "double") return Cast(a[0], Int(kFloat64));
  }
  if (op == "detach" && gradients_ && n == 1) {
    const Id detached = Raw("detach", a);
    CopyFacts(detached, a[0]);
    return detached;
  }
  if (op == "detach" || op == "contiguous" || op == "alias") return a[0];
  if ((op == "dropout" || op == "feature_dropout") && n == 3) {
    return IsIdleDropout(a) ? a[0] : Opaque("dropout in training mode");
  }
  if (op == "dtype" && n == 1) return DTypeOf(a[0]);
  if (OneOf(op, {"Int", "IntImplicit", "ScalarImplicit"}) && n == 1 && IsIntLike(a[0])) {
    return ToInt(a[0]);
  }
  if (op == "dim" && n == 1 && exprs_[a[0]].rank >= 0) return Int(exprs_[a[0]].rank);
  if (op == "size") {
    if (n == 2) return Size(a[0], a[1]);
    if (n == 1 && exprs_[a[0]].has_shape) return List(Ids(exprs_[a[0]].shape));
    if (n == 1 && exprs_[a[0]].rank >= 0) {
      Ids sizes;
      for (int d = 0; d < exprs_[a[0]].rank; ++d) sizes.push_back(Size(a[0], Int(d)));
      return List(sizes);
    }
    return Raw("size", a, Kind::kList);
  }
  if (op == "len" && n == 1) {
    const Expr& l = exprs_[a[0]];
    if (l.op == "list" && !Written(a[0])) return Int(static_cast<std::int64_t>(l.args.size()));
    if (l.op == "size" && exprs_[l.args[0]].rank >= 0) return Int(exprs_[l.args[0]].rank);
  }
  if (op == "copy_of_list" && n == 1 && exprs_[a[0]].op == "list" && !Written(a[0])) return a[0];
  if (op == "slice" && n == 4 && exprs_[a[0]].op == "list" && !Written(a[0])) {
    return ListSlice(a);
  }
  if (op == "add" && n == 2 && exprs_[a[0]].op == "list" && exprs_[a[1]].op == "list" &&
      !Written(a[0]) && !Written(a[1])) {
    Ids items = exprs_[a[0]].args;
    items.insert(items.end(), exprs_[a[1]].args.begin(), exprs_[a[1]].args.end());
    return List(items);
  }
  if ((op == "__isnot__" || op == "__is__") && n == 2) {
    const Kind x = exprs_[a[0]].kind, y = exprs_[a[1]].kind;
    if ((x == Kind::kNone || y == Kind::kNone) && x != Kind::kOther && y != Kind::kOther) {
      return Bool((x == y) == (op == "__is__"));
    }
    return Raw(op, a, Kind::kBool);
  }
  if (op == "__not__" && n == 1) {
    if (const auto value = AsBool(a[0])) return Bool(!*value);
  }
  if (OneOf(op, {"eq", "ne", "lt", "le", "gt", "ge"}) && n == 2) {
    const bool numbers = !IsTensor(a[0]) && !IsTensor(a[1]);
    const auto x = AsDouble(a[0]), y = AsDouble(a[1]);
    constexpr double kExact = 9007199254740992.0;  // whole numbers beyond it are no doubles
    if (numbers && x && y && std::abs(*x) < kExact && std::abs(*y) < kExact) {
      return Bool(op == "eq"   ? *x == *y
                  : op == "ne" ? *x != *y
                  : op == "lt" ? *x < *y
                  : op == "le" ? *x <= *y
                  : op == "gt" ? *x > *y
                               : *x >= *y);
    }
  }
  return std::nullopt;
}

Id Arena::OpArithmetic(std::string op, Ids a, Kind declared) {
  if ((op == "add" || op == "sub") && a.size() == 3) {
    if (AsDouble(a[2]) != 1.0 || exprs_[a[2]].kind == Kind::kTensor) return Raw(op, a, declared);
    a.pop_back();
  }
  if (a.size() != 2) return Raw(op, a, declared);
  if (!IsTensor(a[0]) && !IsTensor(a[1])) {
    // Numbers. Floating constants fold as Python computes them.
    const auto number = [&](Id id) {
      return IsConst(id) && (exprs_[id].kind == Kind::kFloat || AsInt(id));
    };
    const bool whole = AsInt(a[0]) && AsInt(a[1]);  // only their quotient is a floating number
    if (number(a[0]) && number(a[1]) && (!whole || op == "div")) {
      const double x = *AsDouble(a[0]), y = *AsDouble(a[1]);
      if (op == "add") return Float(x + y);
      if (op == "sub") return Float(x - y);
      if (op == "mul") return Float(x * y);
      if (op == "div" && y != 0) return Float(x / y);
    }
    return Raw(op, a, declared);
  }
  a[1] = ScalarOperand(a[1], a[0]);
  const DType second = exprs_[a[1]].dtype;
  if (IsTensor(a[1]) && (second == kFloat32 || second == kFloat64)) {
    a[0] = ScalarOperand(a[0], a[1]);
  } else if (IsTensor(a[1]) && IsConst(a[0]) && (!IsTensor(a[0]) || IsScalarTensor(a[0]))) {
    // In half precision `c * x` and `x * c` differ in the last bit: the scalar is rounded first
    // only when it comes first.
    return Raw(op + "_scalar_first", a);
  }
  if (op == "mul" && IsDouble(a[1], 1.0) && IsFloatTensor(a[0])) return a[0];
  if (op == "mul" && IsDouble(a[0], 1.0) && IsFloatTensor(a[1])) return a[1];
  if (op == "div" && IsDouble(a[1], 1.0) && IsFloatTensor(a[0])) return a[0];
  if (op == "div" && IsConst(a[1]) && exprs_[a[1]].kind == Kind::kFloat && IsFloatTensor(a[0])) {
    // Division by a power of two is multiplication by its inverse, bit for bit.
    int exponent = 0;
    const double d = exprs_[a[1]].constant.real;
    if (d > 0 && std::frexp(d, &exponent) == 0.5 && std::abs(exponent) < 60) {
      op = "mul";
      a[1] = Float(1.0 / d);
    }
  }
  if (op == "mul" && a[0] == a[1]) return Raw("square", {a[0]});
  // A 0-dimensional operand of another dtype is rounded first only when it comes first.
  const Expr &x = exprs_[a[0]], &y = exprs_[a[1]];
  const bool commutes = !IsTensor(a[0]) || !IsTensor(a[1]) ||
                        (x.dtype >= 0 && x.dtype == y.dtype) ||
                        (x.min_rank >= 1 && y.min_rank >= 1);
  if ((op == "add" || op == "mul") && commutes && a[0] > a[1]) std::swap(a[0], a[1]);
  return Raw(op, a);
}

// `_convolution` as tracing writes it, `convN` as code has it. The flags are those of a process
// that nobody changed; with others the algorithm, and so the last bits, may be another.
std::optional<Id> Arena::OpConvolution(const std::string& op, const Ids& a) {
  if (op == "_convolution" && a.size() == 13) {
    if (AsBool(a[6]) != false || AsBool(a[9]) != false || AsBool(a[10]) != false ||
        AsBool(a[11]) != true || AsBool(a[12]) != true) {
      return std::nullopt;
    }
    return Raw("convolution", {a[0], a[1], a[2], a[3], a[4], a[5], a[8]});
  }
  const bool lists = a.size() == 7 && exprs_[a[4]].kind == Kind::kList;  // not "same" or "valid"
  if (lists && OneOf(op, {"conv1d", "conv2d", "conv3d"})) return Raw("convolution", a);
  return std::nullopt;
}

// The sixth argument asks for cuDNN, which no version of the operation has used.
std::optional<Id> Arena::OpLayerNorm(const Ids& a) {
  return Raw("layer_norm", {a[0], a[1], a[2], a[3], a[4]});
}

// var(x, dims, unbiased, keepdim) and var(x, dims, *, correction, keepdim) as the latter.
std::optional<Id> Arena::OpVariance(Ids a) {
  if (a.size() != 4 || exprs_[a[1]].op != "list") return Raw("variance", a);
  if (const auto unbiased = AsBool(a[2])) a[2] = Int(*unbiased ? 1 : 0);
  Ids dims = exprs_[a[1]].args;
  for (Id& d : dims) d = Dim(a[0], d);
  a[1] = List(dims);
  return Raw("variance", a);
}

std::optional<Id> Arena::OpMath(const std::string& op, Ids a, Kind declared) {
  const std::size_t n = a.size();
  if (n == 2 && (op == "floor_divide" || op == "floordiv") && IsIntLike(a[0]) && IsIntLike(a[1])) {
    return IntOp("int_floordiv", ToInt(a[0]), ToInt(a[1]));
  }
  if (OneOf(op, {"add", "sub", "mul"}) && n >= 2 && IsIntLike(a[0]) && IsIntLike(a[1]) &&
      (n == 2 || AsInt(a[2]) == 1)) {
    return IntOp("int_" + op, ToInt(a[0]), ToInt(a[1]));
  }
  if (op == "neg" && n == 1 && exprs_[a[0]].kind == Kind::kInt) {
    if (const auto c = AsInt(a[0]); c && *c != INT64_MIN) return Int(-*c);
    return Raw("int_neg", a, Kind::kInt);
  }
  if (op == "rsub" && n == 3 && AsInt(a[2]) == 1)
    return OpArithmetic("sub", {a[1], a[0]}, declared);
  if (OneOf(op, {"add", "sub", "mul", "div"})) return OpArithmetic(op, a, declared);
  if (op == "square" && n == 1) return Raw("square", a);
  if ((op == "sqrt" || op == "Float" || op == "neg") && n == 1 && !IsTensor(a[0]) &&
      AsDouble(a[0])) {
    const double x = *AsDouble(a[0]);
    return Float(op == "sqrt" ? std::sqrt(x) : op == "neg" ? -x : x);
  }
  if (op == "pow" && n == 2 && IsTensor(a[0])) {
    a[1] = ScalarOperand(a[1], a[0]);
    // A whole tensor to the power 2.0 is a floating one.
    const bool same_kind = IsFloatTensor(a[0]) || exprs_[a[1]].kind == Kind::kInt;
    if (same_kind && AsDouble(a[1]) == 2.0 && !IsTensor(a[1])) return Raw("square", {a[0]});
    return Raw("pow", a);
  }
  if (op == "softmax" && n >= 2 && IsTensor(a[0])) {
    const Id x = n > 2 && exprs_[a[2]].kind == Kind::kInt ? Cast(a[0], a[2]) : a[0];
    return Raw("softmax", {x, Dim(a[0], a[1])});
  }
  if ((op == "mean" || op == "sum") && n >= 3 && exprs_[a[1]].op == "list") {
    Ids dims = exprs_[a[1]].args;
    for (Id& d : dims) d = Dim(a[0], d);
    a[1] = List(dims);
    if (n == 4 && exprs_[a[3]].kind == Kind::kNone) a.pop_back();
    return Raw(op, a);
  }
  if (op == "layer_norm" && n == 6) return OpLayerNorm(a);
  if (op == "variance") return OpVariance(a);
  if (op.find("conv") != std::string::npos) return OpConvolution(op, a);
  if (op == "linear" && n == 2) {
    a.push_back(None());
    return Raw(op, a);
  }
  if (op == "gelu" && n == 1) {
    Constant none;
    none.kind = Kind::kString;
    none.text = "none";
    a.push_back(Const(none));
    return Raw(op, a);
  }
  return std::nullopt;
}

Id Arena::Op(const std::string& name, Ids args, Kind declared) {
  // Expressions that are no operation have these names (arena.h).
  static const std::map<std::string, std::string> kOtherNames = {
      {"var", "variance"}, {"list", "copy_of_list"}, {"item", "number_of"}};
  const auto other = kOtherNames.find(name);
  const std::string& op = other == kOtherNames.end() ? name : other->second;
  if (auto id = OpConversion(op, args)) return *id;
  if (auto id = OpLayout(op, args)) return *id;
  if (auto id = OpMath(op, args, declared)) return *id;
  if (op == "__getitem__" && args.size() == 2) return Item(args[0], args[1], declared);
  return Raw(op, args, declared);
}

}  // namespace kernelmap::expr
