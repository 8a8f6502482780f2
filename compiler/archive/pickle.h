// The pickle that TorchScript writes, read as data. It calls nothing and imports nothing: a class
// is a name and an object its state. Only the opcodes that torch's pickler uses are known.
//
// What comes out may be cyclic or share its parts, as memo entries allow: whoever walks it bounds
// the walk.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/archive/error.h"

namespace kernelmap {

enum class PickleKind : uint8_t {
  kNone,
  kBool,        // Integer()
  kInt,         // Integer(); a whole number beyond 64 bits is an error
  kFloat,       // Float()
  kString,      // Text(): UTF-8 as written, unchecked
  kGlobal,      // Text(): "module\nname"
  kTuple,       // Items()
  kList,        // Items()
  kDict,        // Items(): key, value, key, value, …; a key may come twice
  kObject,      // Items(): class, arguments, and the state once it is set
  kCall,        // Items(): callable, arguments
  kPersistent,  // Items(): the persistent id
};

struct PickleLimits {
  uint64_t max_values = 20'000'000;  // with a 32-bit Id, at most a billion
  uint64_t max_stack = 5'000'000;
  uint64_t max_marks = 1'000;  // marks open at one time: how deep the writer nests
};

class PickleValues {
 public:
  using Id = uint32_t;

  /// Reads `bytes`, which are those of `entry` of an archive (for messages).
  static ArchiveResult<PickleValues> Read(std::string bytes, const std::string& entry,
                                          const PickleLimits& limits = {});

  Id root() const { return root_; }
  size_t size() const { return values_.size(); }
  PickleKind kind(Id id) const { return values_[id].kind; }
  int64_t Integer(Id id) const { return values_[id].integer; }
  double Float(Id id) const;
  std::string_view Text(Id id) const;
  std::span<const Id> Items(Id id) const;

 private:
  friend class PickleReader;
  struct Value {
    PickleKind kind = PickleKind::kNone;
    uint32_t count = 0;     // of items, or of bytes of text
    uint32_t capacity = 0;  // of items
    uint32_t begin = 0;     // in items_, or in bytes_
    int64_t integer = 0;    // or the bits of a double
  };

  std::string bytes_;
  std::vector<Value> values_;
  std::vector<Id> items_;
  Id root_ = 0;
};

}  // namespace kernelmap
