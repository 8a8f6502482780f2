#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace kernelmap {

/// The SHA-256 of `bytes` in lower-case hexadecimal.
std::string Sha256(std::string_view bytes);

/// A hash of what is added to it, piece by piece.
class Hasher {
 public:
  enum class Kind { kSha1, kSha256, kSha512 };
  explicit Hasher(Kind kind = Kind::kSha256);
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  void Add(std::string_view bytes);
  /// The bytes of the hash; once.
  std::string Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// Bytes in lower-case hexadecimal.
std::string ToHex(std::string_view bytes);
/// Bytes in base64, with `=` at the end where needed.
std::string ToBase64(std::string_view bytes);

}  // namespace kernelmap
