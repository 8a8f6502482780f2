#include "compiler/sha256.h"

#include <openssl/evp.h>

namespace kernelmap {

struct Hasher::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Hasher::Hasher(Kind kind) : context_(std::make_unique<Context>()) {
  const EVP_MD* hash = kind == Kind::kSha1     ? EVP_sha1()
                       : kind == Kind::kSha256 ? EVP_sha256()
                                               : EVP_sha512();
  EVP_DigestInit_ex(context_->evp, hash, nullptr);
}

Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;

void Hasher::Add(std::string_view bytes) {
  EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size());
}

std::string Hasher::Finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(context_->evp, digest, &size);
  return {reinterpret_cast<const char*>(digest), size};
}

std::string Sha256(std::string_view bytes) {
  Hasher hasher;
  hasher.Add(bytes);
  return ToHex(hasher.Finish());
}

std::string ToHex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[c & 0xF];
  }
  return text;
}

std::string ToBase64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // the function ends with a NUL
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

}  // namespace kernelmap
