// Expressions, each stored once: two values with one id are computed in the same way from the same
// inputs, so they are equal. Building an expression applies rules that keep its value exactly
// (normalise.cpp) and derives facts about it (facts.cpp).
//
// In-place writes: what reads memory that has been written is an expression of its own each time,
// equal to no other. Values that were equal before a write may be different memory, and the write
// changes only one of them.
#pragma once

#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rewriter/expr/graph.h"

namespace kernelmap::expr {

using Id = int;
using Ids = std::vector<Id>;

struct Expr {
  std::string
      op;  // "add" for aten::add; "const", "param", "var", "opaque", "list", "tuple", "object"
  Ids args;
  Kind kind = Kind::kTensor;
  Constant constant;  // op "const"
  std::string label;  // "var": its name; "opaque": why; "param": its attribute
  int owner = -1;     // "object": the object; "param": the object that holds it
  // Facts about a tensor; -1 and false: not known.
  DType dtype = kUnknownDType;
  int rank = -1;
  int min_rank = 0;
  bool has_shape = false;
  Ids shape;     // integer expressions
  Id base = -1;  // representative of the memory that it may share
};

class Arena {
 public:
  const Expr& operator[](Id id) const { return exprs_[id]; }
  std::size_t size() const { return exprs_.size(); }

  /// Gradients count too: detach is no longer its operand.
  void KeepGradients() { gradients_ = true; }

  /// Whether dropout(x, p, train) hands on x: it does not train, or p is 0.
  bool IsIdleDropout(const Ids& args) const;

  // Leaves.
  Id Int(std::int64_t value);
  Id Float(double value);
  Id Bool(bool value);
  Id None();
  Id Const(const Constant& constant);
  Id Opaque(const std::string& why, Kind kind = Kind::kTensor);
  Id Var(const std::string& name, Kind kind);
  Id ObjectRef(int object);
  Id Param(int object, const std::string& attribute, const Constant& tensor);
  Id List(const Ids& items);
  Id Tuple(const Ids& items);

  /// The expression of an operation, after the rules of normalise.cpp. `name` has no "aten::";
  /// `declared` is what the front end says of the result, for operations without a rule.
  Id Op(const std::string& name, Ids args, Kind declared = Kind::kTensor);
  /// The same without rules.
  Id Raw(const std::string& op, const Ids& args, Kind kind = Kind::kTensor);
  /// Element `index` of a list or tuple expression.
  Id Item(Id list, Id index, Kind kind = Kind::kTensor);
  Id Size(Id tensor, Id dim);
  Id DTypeOf(Id tensor);
  Id Cast(Id tensor, Id dtype);

  // Memory.
  Id Base(Id id) const;
  void Alias(Id a, Id b);
  void Write(Id id);           // the memory of `id` is written now; numbers have none
  bool Written(Id id) const;   // ever
  void MarkLayoutRead(Id id);  // strides of this memory are read (as_strided, stride)
  bool LayoutRead(Id id) const;
  void MarkViewed(Id id);  // a view needs these strides to be mergeable
  bool Viewed(Id id) const;

  // Tests.
  bool IsConst(Id id) const { return exprs_[id].op == "const"; }
  bool IsTensor(Id id) const { return exprs_[id].kind == Kind::kTensor; }
  bool IsScalarTensor(Id id) const;  // a 0-dimensional constant tensor with a known value
  bool IsFloatTensor(Id id) const { return IsTensor(id) && IsFloating(exprs_[id].dtype); }
  std::optional<std::int64_t> AsInt(Id id) const;
  std::optional<bool> AsBool(Id id) const;
  std::optional<double> AsDouble(Id id) const;  // int, float or 0-dimensional tensor constants

  /// Facts learned from outside: the dtype of an input.
  void SetDType(Id id, DType dtype) { exprs_[id].dtype = dtype; }
  /// dtype and shape of `from`.
  void CopyFacts(Id to, Id from);
  /// Where an expression was first computed ("file.py:63").
  void SetSource(Id id, const std::string& source);
  const std::string& Source(Id id) const;

  /// Readable form, `depth` operations deep.
  std::string Print(Id id, int depth = 3) const;

 private:
  Id Intern(const std::string& key, Expr expr, bool* is_new = nullptr);
  std::string Key(const std::string& op, const Ids& args);
  template <typename F>
  void ForEachLeaf(Id id, const F& f) const;  // tensors inside lists and tuples

  // facts.cpp
  void Infer(Id id);
  bool InferCreation(Expr& e) const;
  bool InferShapeOp(Expr& e, Id id);
  bool InferMathOp(Expr& e, Id id);
  void InferItem(Expr& e);
  void DropDimension(Expr& e, const Expr& x, Id dim) const;
  void JoinShapes(Expr& e, const Ids& parts);
  void InferIndex(Expr& e, const Expr& x) const;
  void Broadcast(Expr& e, Id a, Id b, Id id = -1);
  DType PromoteOperands(Id a, Id b) const;
  bool IsRealScalar(Id id) const;

  // normalise.cpp
  Id Dim(Id tensor, Id dim, int extra = 0);
  Id ScalarOperand(Id scalar, Id tensor);
  Id IntOp(const std::string& op, Id a, Id b);
  bool IsIntLike(Id id) const;
  Id ToInt(Id id);
  bool IsDouble(Id id, double value) const;
  Id Permute(Id tensor, std::vector<int> order);
  Id OpTo(const Ids& args);
  Id OpSlice(Ids args);
  Id OpTranspose(Ids args);
  Id OpPermute(const Ids& args);
  Id OpExpand(const Ids& args);
  Id OpArithmetic(std::string op, Ids args, Kind declared);
  std::optional<Id> ListSlice(const Ids& a);
  std::optional<Id> OpConversion(const std::string& op, const Ids& args);
  std::optional<Id> OpLayout(const std::string& op, Ids args);
  std::optional<Id> OpLayerNorm(const Ids& args);
  std::optional<Id> OpVariance(Ids args);
  std::optional<Id> OpConvolution(const std::string& op, const Ids& args);
  std::optional<Id> OpMath(const std::string& op, Ids args, Kind declared);

  bool NonNegative(Id id) const;
  bool SizeIsOne(Id tensor, Id dim) const;

  mutable std::deque<Expr> exprs_;  // mutable: Base shortens chains
  std::unordered_map<std::string, Id> ids_;
  std::unordered_set<Id> written_;  // bases
  std::unordered_set<Id> layout_read_, viewed_;
  std::unordered_map<std::uint64_t, Id> storages_;
  std::unordered_map<Id, std::string> sources_;
  std::int64_t opaque_count_ = 0;
  bool gradients_ = false;
};

/// Whether `s` is one of `words`.
bool OneOf(std::string_view s, std::initializer_list<std::string_view> words);

}  // namespace kernelmap::expr
