// Where results and diagnostics go.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/diagnostics.h"

namespace kernelmap {

/// Writes a result to standard output ("-") or to a file, which is replaced in one step or not at
/// all. Returns the exit code, 0 or 2, and has said why on standard error. `final`: what the
/// command is for; once the file has its name, interrupts come too late and are held.
int WriteResult(const std::string& output, std::string_view text, bool final = false);

/// A file for a while, in the system's folder for such: STEM-XXXXXXSUFFIX. It goes with the object
/// or with an interrupt.
class TemporaryFile {
 public:
  TemporaryFile(std::string_view stem, std::string_view suffix, std::string_view content);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }
  int exit_code() const { return exit_code_; }  // as WriteResult's

 private:
  std::string path_;
  int exit_code_ = 0;
};

/// Whether what goes there is for a terminal, and NO_COLOR is not set.
bool WantsColor(int descriptor);

/// To standard error, in colour on a terminal unless NO_COLOR is set.
void PrintDiagnostics(const std::vector<Diagnostic>& diagnostics);

/// From now on writing to a closed pipe, or past the largest size that a file may have (ulimit -f),
/// is an error as others are, with a message and an exit code.
void IgnoreWriteSignals();

/// From now on an interrupt (SIGINT, SIGTERM) removes a file that is half written and ends the
/// program with 130.
void ExitOnInterrupt();

/// Interrupts wait until the program that takes this one's place calls ExitOnInterrupt.
void HoldInterrupts();

/// "kernelmap: error: …" to standard error, Printable; after it "\nhelp: …", where the message ends
/// so. Returns 2.
int UsageError(const std::string& message);

}  // namespace kernelmap
