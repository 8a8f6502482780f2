// What the fuzz targets share. A target is one file with a function that libFuzzer calls; with
// another compiler than clang, driver.cpp calls it. What must hold is checked by Require, which
// ends the program: that is what a fuzzer looks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "compiler/compile.h"
#include "compiler/diagnostics.h"
#include "compiler/languages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace kernelmap::fuzz {

/// Ends the program with `what` where `holds` is false.
void Require(bool holds, const char* what);

inline std::string_view Text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Renders in every form: spans lie in the text, and outputs are UTF-8, hold nothing that steers a
/// terminal, and are no longer than a multiple of the number of diagnostics.
void CheckDiagnostics(const std::vector<Diagnostic>& list);

/// Reads, binds, checks, resolves for several targets, and renders. `name` says the syntax.
void CheckConfigText(const char* name, std::string_view text);

/// A text of a small language, and where its mistakes go.
class Language {
 public:
  explicit Language(std::string_view text);
  SubText text() const { return SubText::OfSource(*source_); }
  Diagnostics* diagnostics() { return &diagnostics_; }
  /// Of what was parsed: it is there, or there are errors, never both. Returns whether it is.
  bool Check(bool parsed);

 private:
  std::shared_ptr<const Source> source_;
  Diagnostics diagnostics_;
};

/// Whether a text can be in a config at all: it is UTF-8.
bool CanBeInConfig(std::string_view text);

}  // namespace kernelmap::fuzz
