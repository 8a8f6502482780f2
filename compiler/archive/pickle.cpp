#include "compiler/archive/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace kernelmap {

double PickleValues::Float(Id id) const { return std::bit_cast<double>(values_[id].integer); }

std::string_view PickleValues::Text(Id id) const {
  return std::string_view(bytes_).substr(values_[id].begin, values_[id].count);
}

std::span<const PickleValues::Id> PickleValues::Items(Id id) const {
  return std::span(items_).subspan(values_[id].begin, values_[id].count);
}

/// The stack machine. Every method returns false once `error_` is set.
class PickleReader {
 public:
  PickleReader(std::string bytes, const std::string& entry, const PickleLimits& limits)
      : entry_(entry), limits_(limits) {
    out_.bytes_ = std::move(bytes);
  }

  ArchiveResult<PickleValues> Run() {
    if (out_.bytes_.size() > UINT32_MAX) {
      return ErrorAt(ArchiveErrorCode::kTooLarge, 0, "the pickle has over 4 GiB", entry_);
    }
    while (!stopped_) {
      opcode_at_ = at_;
      std::string_view opcode;
      if (!Take(1, opcode) || !Step(static_cast<unsigned char>(opcode[0]))) return error_;
    }
    return std::move(out_);
  }

 private:
  using Id = PickleValues::Id;
  using Value = PickleValues::Value;

  bool Fail(ArchiveErrorCode code, std::string message) {
    error_ = ErrorAt(code, opcode_at_, "the pickle " + std::move(message), entry_);
    return false;
  }
  bool Malformed(std::string message) {
    return Fail(ArchiveErrorCode::kMalformed, std::move(message));
  }

  bool Take(uint64_t count, std::string_view& taken) {
    if (count > out_.bytes_.size() - at_) {
      return Fail(ArchiveErrorCode::kTruncated, "ends in the middle of a value");
    }
    taken = std::string_view(out_.bytes_).substr(at_, count);
    at_ += count;
    return true;
  }

  template <typename T>
  bool TakeNumber(T& number) {
    std::string_view taken;
    if (!Take(sizeof number, taken)) return false;
    std::memcpy(&number, taken.data(), sizeof number);
    return true;
  }

  /// A new value on the stack.
  bool Push(Value value) {
    if (out_.values_.size() >= limits_.max_values) {
      return Fail(ArchiveErrorCode::kTooLarge, "has too many values");
    }
    out_.values_.push_back(value);
    return PushId(static_cast<Id>(out_.values_.size() - 1));
  }
  bool PushId(Id id) {
    if (stack_.size() >= limits_.max_stack) {
      return Fail(ArchiveErrorCode::kTooLarge, "keeps too many values at one time");
    }
    stack_.push_back(id);
    return true;
  }
  bool PushInteger(PickleKind kind, int64_t integer) {
    Value value;
    value.kind = kind;
    value.integer = integer;
    return Push(value);
  }
  bool PushText(PickleKind kind, std::string_view text) {
    Value value;
    value.kind = kind;
    value.begin = static_cast<uint32_t>(text.data() - out_.bytes_.data());
    value.count = static_cast<uint32_t>(text.size());
    return Push(value);
  }
  bool PushItems(PickleKind kind, std::span<const Id> items) {
    Value value;
    value.kind = kind;
    value.begin = static_cast<uint32_t>(out_.items_.size());
    value.count = value.capacity = static_cast<uint32_t>(items.size());
    out_.items_.insert(out_.items_.end(), items.begin(), items.end());
    return Push(value);
  }

  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }

  /// The `count` topmost values, which stay on the stack until Drop; all above the last mark.
  bool Top(size_t count, std::span<const Id>& top) {
    if (stack_.size() - Floor() < count) return Malformed("takes a value that is not there");
    top = std::span<const Id>(stack_).last(count);
    return true;
  }
  void Drop(size_t count) { stack_.resize(stack_.size() - count); }

  /// Takes the values above the last mark off the stack, and the mark.
  bool PopMark(std::vector<Id>& values) {
    if (marks_.empty()) return Malformed("closes what it has not opened");
    values.assign(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return true;
  }

  bool TupleOf(size_t count) {
    std::span<const Id> top;
    if (!Top(count, top)) return false;
    const std::vector<Id> items(top.begin(), top.end());
    Drop(count);
    return PushItems(PickleKind::kTuple, items);
  }

  /// Adds items to the list or dict on top of the stack; room doubles, so that adding one by one
  /// stays linear.
  bool Extend(PickleKind kind, std::span<const Id> added) {
    std::span<const Id> top;
    if (!Top(1, top)) return false;
    Value& value = out_.values_[top[0]];
    if (value.kind != kind) return Malformed("adds items to what cannot hold them");
    if (kind == PickleKind::kDict && added.size() % 2) return Malformed("has a key without value");
    std::vector<Id>& pool = out_.items_;
    const uint64_t needed = uint64_t{value.count} + added.size();
    if (needed > value.capacity) {
      const uint64_t capacity = value.capacity == 0 ? needed : 2 * needed;
      if (pool.size() + capacity > 4 * limits_.max_values) {
        return Fail(ArchiveErrorCode::kTooLarge, "has too many values");
      }
      const size_t begin = pool.size();
      pool.resize(begin + capacity);
      std::copy_n(pool.begin() + value.begin, value.count,
                  pool.begin() + static_cast<ptrdiff_t>(begin));
      value.begin = static_cast<uint32_t>(begin);
      value.capacity = static_cast<uint32_t>(capacity);
    }
    std::copy(added.begin(), added.end(), pool.begin() + value.begin + value.count);
    value.count = static_cast<uint32_t>(needed);
    return true;
  }

  bool Remember(uint64_t slot) {
    std::span<const Id> top;
    if (!Top(1, top)) return false;
    // torch numbers memo entries from 0 without gaps; a far one would only cost memory.
    if (slot > memo_.size()) return Malformed("leaves memo entries out");
    if (slot == memo_.size()) {
      if (memo_.size() >= limits_.max_values) {
        return Fail(ArchiveErrorCode::kTooLarge, "has too many memo entries");
      }
      memo_.push_back(top[0]);
    } else {
      memo_[slot] = top[0];
    }
    return true;
  }
  bool Recall(uint64_t slot) {
    if (slot >= memo_.size()) return Malformed("uses a memo entry that is not there");
    return PushId(memo_[slot]);
  }

  bool TakeLine(std::string_view& line) {
    const size_t end = out_.bytes_.find('\n', at_);
    if (end == std::string::npos) {
      return Fail(ArchiveErrorCode::kTruncated, "ends in the middle of a name");
    }
    line = std::string_view(out_.bytes_).substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  bool TakeString(uint64_t length) {
    std::string_view text;
    return Take(length, text) && PushText(PickleKind::kString, text);
  }

  bool TakeLong() {
    uint8_t length = 0;
    std::string_view digits;
    if (!TakeNumber(length) || !Take(length, digits)) return false;
    if (length > 8) return Malformed("has a whole number beyond 64 bits");
    uint64_t number = 0;
    for (size_t i = 0; i < length; ++i) {
      number |= uint64_t{static_cast<unsigned char>(digits[i])} << (8 * i);
    }
    if (length > 0 && length < 8 && (digits.back() & 0x80)) number |= ~uint64_t{0} << (8 * length);
    return PushInteger(PickleKind::kInt, static_cast<int64_t>(number));
  }

  bool TakeFloat() {
    uint64_t bits = 0;
    if (!TakeNumber(bits)) return false;
    return PushInteger(PickleKind::kFloat, static_cast<int64_t>(__builtin_bswap64(bits)));
  }

  /// GLOBAL: two lines, kept as one text.
  bool TakeGlobal() {
    std::string_view module, name;
    if (!TakeLine(module) || !TakeLine(name)) return false;
    return PushText(PickleKind::kGlobal, {module.data(), module.size() + 1 + name.size()});
  }

  /// NEWOBJ and REDUCE: a callable and its arguments become one value.
  bool Apply(PickleKind kind) {
    std::span<const Id> top;
    if (!Top(2, top)) return false;
    if (out_.values_[top[0]].kind != PickleKind::kGlobal) {
      return Malformed("calls what is not a name");
    }
    if (out_.values_[top[1]].kind != PickleKind::kTuple) {
      return Malformed("calls with what are not arguments");
    }
    // An object's state comes later, with BUILD: room for it.
    const Id items[] = {top[0], top[1], top[1]};
    Drop(2);
    if (!PushItems(kind, items)) return false;
    out_.values_.back().count = 2;
    return true;
  }

  bool Build() {
    std::span<const Id> top;
    if (!Top(2, top)) return false;
    Value& object = out_.values_[top[0]];
    if (object.kind != PickleKind::kObject) return Malformed("sets the state of what has none");
    if (object.count != 2) return Malformed("sets the state of an object twice");
    out_.items_[object.begin + 2] = top[1];
    object.count = 3;
    Drop(1);
    return true;
  }

  bool Persistent() {
    std::span<const Id> top;
    if (!Top(1, top)) return false;
    const Id id = top[0];
    Drop(1);
    return PushItems(PickleKind::kPersistent, {&id, 1});
  }

  bool Append() {
    std::span<const Id> top;
    if (!Top(2, top)) return false;
    const Id item = top[1];
    Drop(1);
    return Extend(PickleKind::kList, {&item, 1});
  }

  bool SetItem() {
    std::span<const Id> top;
    if (!Top(3, top)) return false;
    const Id pair[] = {top[1], top[2]};
    Drop(2);
    return Extend(PickleKind::kDict, pair);
  }

  bool Stop() {
    if (!marks_.empty() || stack_.size() != 1) return Malformed("ends with other than one value");
    out_.root_ = stack_[0];
    stopped_ = true;
    return true;
  }

  template <typename T>
  bool TakeInteger() {
    T number = 0;
    return TakeNumber(number) && PushInteger(PickleKind::kInt, number);
  }
  template <typename T, typename Then>
  bool WithNumber(Then then) {
    T number = 0;
    return TakeNumber(number) && (this->*then)(number);
  }

  bool Step(unsigned char opcode) {
    switch (opcode) {
      case 0x80: {  // PROTO
        uint8_t version = 0;
        if (!TakeNumber(version)) return false;
        return version == 2 || Malformed("has protocol " + std::to_string(version) + ", not 2");
      }
      case '.':
        return Stop();
      case '(':  // MARK
        if (marks_.size() >= limits_.max_marks) {
          return Fail(ArchiveErrorCode::kTooLarge, "is nested too deeply");
        }
        marks_.push_back(stack_.size());
        return true;
      case 'c':
        return TakeGlobal();
      case 'q':
        return WithNumber<uint8_t>(&PickleReader::Remember);
      case 'r':
        return WithNumber<uint32_t>(&PickleReader::Remember);
      case 'h':
        return WithNumber<uint8_t>(&PickleReader::Recall);
      case 'j':
        return WithNumber<uint32_t>(&PickleReader::Recall);
      case 'N':
        return PushInteger(PickleKind::kNone, 0);
      case 0x88:
        return PushInteger(PickleKind::kBool, 1);
      case 0x89:
        return PushInteger(PickleKind::kBool, 0);
      case 'K':
        return TakeInteger<uint8_t>();
      case 'M':
        return TakeInteger<uint16_t>();
      case 'J':
        return TakeInteger<int32_t>();
      case 0x8a:
        return TakeLong();
      case 'G':
        return TakeFloat();
      case 'X':
        return WithNumber<uint32_t>(&PickleReader::TakeString);
      case ')':
        return PushItems(PickleKind::kTuple, {});
      case ']':
        return PushItems(PickleKind::kList, {});
      case '}':
        return PushItems(PickleKind::kDict, {});
      case 0x85:
        return TupleOf(1);
      case 0x86:
        return TupleOf(2);
      case 0x87:
        return TupleOf(3);
      case 't':
        return PopMark(popped_) && PushItems(PickleKind::kTuple, popped_);
      case 'e':
        return PopMark(popped_) && Extend(PickleKind::kList, popped_);
      case 'u':
        return PopMark(popped_) && Extend(PickleKind::kDict, popped_);
      case 'a':
        return Append();
      case 's':
        return SetItem();
      case 0x81:
        return Apply(PickleKind::kObject);
      case 'R':
        return Apply(PickleKind::kCall);
      case 'b':
        return Build();
      case 'Q':
        return Persistent();
      default: {
        constexpr char kDigits[] = "0123456789abcdef";
        return Fail(ArchiveErrorCode::kUnsupported,
                    std::string("has opcode 0x") + kDigits[opcode >> 4] + kDigits[opcode & 15] +
                        ", which TorchScript does not write");
      }
    }
  }

  std::string entry_;
  PickleLimits limits_;
  PickleValues out_;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::vector<Id> memo_;
  std::vector<Id> popped_;
  uint64_t at_ = 0, opcode_at_ = 0;
  bool stopped_ = false;
  ArchiveError error_;
};

ArchiveResult<PickleValues> PickleValues::Read(std::string bytes, const std::string& entry,
                                               const PickleLimits& limits) {
  return PickleReader(std::move(bytes), entry, limits).Run();
}

}  // namespace kernelmap
