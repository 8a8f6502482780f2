#include "rewriter/expr/arena.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace kernelmap::expr {

bool OneOf(std::string_view s, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), s) != words.end();
}

const Constant* Object::Find(const std::string& attribute) const {
  for (const auto& [name, value] : attributes) {
    if (name == attribute) return &value;
  }
  return nullptr;
}

Id Arena::Intern(const std::string& key, Expr expr, bool* is_new) {
  const auto [it, inserted] = ids_.emplace(key, static_cast<Id>(exprs_.size()));
  if (inserted) {
    expr.base = it->second;
    exprs_.push_back(std::move(expr));
    if (is_new) *is_new = true;
  }
  return it->second;
}

Id Arena::Int(std::int64_t value) {
  Expr e{.op = "const", .kind = Kind::kInt};
  e.constant.kind = Kind::kInt;
  e.constant.integer = value;
  return Intern("i" + std::to_string(value), std::move(e));
}

Id Arena::Float(double value) {
  Expr e{.op = "const", .kind = Kind::kFloat};
  e.constant.kind = Kind::kFloat;
  e.constant.real = value;
  return Intern("f" + std::to_string(std::bit_cast<std::int64_t>(value)), std::move(e));
}

Id Arena::Bool(bool value) {
  Expr e{.op = "const", .kind = Kind::kBool};
  e.constant.kind = Kind::kBool;
  e.constant.integer = value;
  return Intern(value ? "b1" : "b0", std::move(e));
}

Id Arena::None() {
  Expr e{.op = "const", .kind = Kind::kNone};
  return Intern("none", std::move(e));
}

Id Arena::Const(const Constant& c) {
  switch (c.kind) {
    case Kind::kInt:
      return Int(c.integer);
    case Kind::kFloat:
      return Float(c.real);
    case Kind::kBool:
      return Bool(c.integer != 0);
    case Kind::kNone:
      return None();
    case Kind::kList:
    case Kind::kTuple: {
      Ids items;
      for (const Constant& item : c.items) items.push_back(Const(item));
      return c.kind == Kind::kList ? List(items) : Tuple(items);
    }
    case Kind::kString:
    case Kind::kDevice: {
      Expr e{.op = "const", .kind = c.kind};
      e.constant = c;
      return Intern((c.kind == Kind::kString ? "s" : "d") + c.text, std::move(e));
    }
    case Kind::kTensor: {
      Expr e{.op = "const", .kind = Kind::kTensor};
      e.constant = c;
      e.dtype = c.dtype;
      e.rank = e.min_rank = static_cast<int>(c.shape.size());
      e.has_shape = true;
      for (const std::int64_t d : c.shape) e.shape.push_back(Int(d));
      std::string key = "t" + std::to_string(c.dtype) + ":";
      if (c.has_item) {
        key += "v" + std::to_string(IsFloating(c.dtype) ? std::bit_cast<std::int64_t>(c.real)
                                                        : c.integer);
      } else {
        key += "p" + std::to_string(c.identity);
      }
      const Id id = Intern(key, std::move(e));
      if (c.storage != 0) {
        const auto [it, fresh] = storages_.emplace(c.storage, id);
        if (!fresh) Alias(id, it->second);
      }
      return id;
    }
    case Kind::kObject:
      return ObjectRef(static_cast<int>(c.integer));
    case Kind::kOther:
      break;
  }
  return Opaque("constant", Kind::kOther);
}

Id Arena::Opaque(const std::string& why, Kind kind) {
  Expr e{.op = "opaque", .kind = kind, .label = why};
  return Intern("o" + std::to_string(opaque_count_++), std::move(e));
}

Id Arena::Var(const std::string& name, Kind kind) {
  Expr e{.op = "var", .kind = kind, .label = name};
  return Intern("v" + name + ":" + std::to_string(static_cast<int>(kind)), std::move(e));
}

Id Arena::ObjectRef(int object) {
  Expr e{.op = "object", .kind = Kind::kObject};
  e.owner = object;
  return Intern("O" + std::to_string(object), std::move(e));
}

Id Arena::Param(int object, const std::string& attribute, const Constant& tensor) {
  // Named by object and slot: of two names for one tensor each keeps its own path, and the shared
  // memory is known by its storage.
  Expr e{.op = "param", .kind = Kind::kTensor, .label = attribute};
  e.owner = object;
  e.dtype = tensor.dtype;
  e.rank = e.min_rank = static_cast<int>(tensor.shape.size());
  e.has_shape = true;
  for (const std::int64_t d : tensor.shape) e.shape.push_back(Int(d));
  const Id id = Intern("P" + std::to_string(object) + "." + attribute, std::move(e));
  if (tensor.storage != 0) {
    const auto [it, fresh] = storages_.emplace(tensor.storage, id);
    if (!fresh) Alias(id, it->second);
  }
  return id;
}

Id Arena::List(const Ids& items) { return Raw("list", items, Kind::kList); }
Id Arena::Tuple(const Ids& items) { return Raw("tuple", items, Kind::kTuple); }

template <typename F>
void Arena::ForEachLeaf(Id id, const F& f) const {
  const Expr& e = exprs_[id];
  if (e.op == "list" || e.op == "tuple") {
    for (const Id item : e.args) ForEachLeaf(item, f);
  }
  f(id);
}

std::string Arena::Key(const std::string& op, const Ids& args) {
  std::string key = op + "(";
  for (const Id id : args) {
    key += std::to_string(id);
    key += ',';
  }
  if (written_.empty()) return key;
  for (const Id id : args) {
    if (Written(id)) return key + "@" + std::to_string(opaque_count_++);
  }
  return key;
}

Id Arena::Raw(const std::string& op, const Ids& args, Kind kind) {
  std::string key = Key(op, args);
  key += static_cast<char>('0' + static_cast<int>(kind));
  bool is_new = false;
  Expr e{.op = op, .args = args, .kind = kind};
  const Id id = Intern(key, std::move(e), &is_new);
  if (is_new) Infer(id);
  return id;
}

Id Arena::Base(Id id) const {
  while (exprs_[id].base != id) {
    exprs_[id].base = exprs_[exprs_[id].base].base;
    id = exprs_[id].base;
  }
  return id;
}

void Arena::Alias(Id a, Id b) {
  std::vector<Id> leaves;
  ForEachLeaf(a, [&](Id leaf) { leaves.push_back(leaf); });
  ForEachLeaf(b, [&](Id leaf) { leaves.push_back(leaf); });
  for (std::size_t i = 1; i < leaves.size(); ++i) {
    const Id x = Base(leaves[0]), y = Base(leaves[i]);
    if (x == y || IsConst(x) != IsConst(y)) {
      // A constant number or None has no memory; constant tensors do.
      if (x == y || !IsTensor(x) || !IsTensor(y)) continue;
    }
    exprs_[y].base = x;
    if (written_.contains(y)) written_.insert(x);
    if (layout_read_.contains(y)) layout_read_.insert(x);
    if (viewed_.contains(y)) viewed_.insert(x);
  }
}

void Arena::Write(Id id) {
  ForEachLeaf(id, [&](Id leaf) {
    const bool number = IsConst(leaf) && !IsTensor(leaf);
    if (!number) written_.insert(Base(leaf));
  });
}

bool Arena::Written(Id id) const {
  bool written = false;
  ForEachLeaf(id, [&](Id leaf) { written = written || written_.contains(Base(leaf)); });
  return written;
}

void Arena::MarkLayoutRead(Id id) {
  ForEachLeaf(id, [&](Id leaf) { layout_read_.insert(Base(leaf)); });
}
bool Arena::LayoutRead(Id id) const { return layout_read_.contains(Base(id)); }
void Arena::MarkViewed(Id id) {
  ForEachLeaf(id, [&](Id leaf) { viewed_.insert(Base(leaf)); });
}
bool Arena::Viewed(Id id) const { return viewed_.contains(Base(id)); }

bool Arena::IsScalarTensor(Id id) const {
  const Expr& e = exprs_[id];
  return e.op == "const" && e.kind == Kind::kTensor && e.constant.has_item;
}

std::optional<std::int64_t> Arena::AsInt(Id id) const {
  const Expr& e = exprs_[id];
  if (e.op == "const" && e.kind == Kind::kInt) return e.constant.integer;
  return std::nullopt;
}

std::optional<bool> Arena::AsBool(Id id) const {
  const Expr& e = exprs_[id];
  if (!IsConst(id) || e.kind != Kind::kBool) return std::nullopt;
  return e.constant.integer != 0;
}

std::optional<double> Arena::AsDouble(Id id) const {
  const Expr& e = exprs_[id];
  if (e.op != "const") return std::nullopt;
  if (e.kind == Kind::kInt) return static_cast<double>(e.constant.integer);
  if (e.kind == Kind::kFloat) return e.constant.real;
  if (IsScalarTensor(id)) {
    return IsFloating(e.dtype) ? e.constant.real : static_cast<double>(e.constant.integer);
  }
  return std::nullopt;
}

void Arena::CopyFacts(Id to, Id from) {
  Expr& e = exprs_[to];
  const Expr& x = exprs_[from];
  e.dtype = x.dtype;
  e.rank = x.rank;
  e.min_rank = x.min_rank;
  e.has_shape = x.has_shape;
  e.shape = x.shape;
}

void Arena::SetSource(Id id, const std::string& source) {
  if (!source.empty()) sources_.emplace(id, source);
}

const std::string& Arena::Source(Id id) const {
  static const std::string kNone;
  const auto it = sources_.find(id);
  return it == sources_.end() ? kNone : it->second;
}

namespace {

std::string Number(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

}  // namespace

std::string Arena::Print(Id id, int depth) const {
  const Expr& e = exprs_[id];
  if (e.op == "const") {
    switch (e.kind) {
      case Kind::kInt:
        // The end of an open slice.
        return e.constant.integer == INT64_MAX ? "end" : std::to_string(e.constant.integer);
      case Kind::kFloat:
        return Number(e.constant.real);
      case Kind::kBool:
        return e.constant.integer ? "True" : "False";
      case Kind::kNone:
        return "None";
      case Kind::kTensor:
        if (const auto value = AsDouble(id)) return Number(*value);
        return "constant tensor";
      default:
        return e.constant.text;
    }
  }
  if (e.op == "var" || e.op == "param") return e.label;
  if (e.op == "object") return "self";
  if (e.op == "opaque") return e.label;
  if (depth == 0) return "…";
  std::string text;
  if (e.op == "list") {
    text = "[";
  } else if (e.op == "cast") {
    if (const auto dtype = AsInt(e.args[1])) {
      return "cast(" + Print(e.args[0], depth - 1) + ", " + DTypeName(static_cast<DType>(*dtype)) +
             ")";
    }
    text = "cast(";
  } else {
    text = e.op + "(";
  }
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    if (i > 0) text += ", ";
    text += Print(e.args[i], depth - 1);
  }
  return text + (e.op == "list" ? "]" : ")");
}

}  // namespace kernelmap::expr
