// What was, or would be, done at each site of a model. Plain data; JSON is its truth
// (schemas/report.schema.json) and every rendering is made from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/target.h"

namespace kernelmap {

/// Where a config says something: base name of the file, line and column from 1.
struct Position {
  std::string file;
  int line = 0;
  int column = 0;
};

struct KernelUse {
  std::string ref;   // as the config wrote it: "builtin:rms_norm"
  std::string name;  // "rms_norm"
  std::optional<std::string> repo, revision, variant, digest, trust;
};

struct Reason {
  std::string code;  // a word of reasons.def
  std::string text;
  std::string difference;  // first difference between reference and model; empty when none
};

/// A reason with its one-line text of reasons.def.
Reason ReasonOf(const std::string& code, const std::string& difference = "");

enum class Action { kReplaced, kFused, kAlready, kExcluded, kDisabled, kFallback, kCandidate };
std::string_view ActionName(Action action);

struct Site {
  std::string path;          // as named_modules() gives it; "" is the root
  std::string class_name;    // last component, unmangled
  std::string name;          // the layer or function name
  std::optional<int> index;  // tells several sites of one name in one module apart, from 0
  Action action = Action::kFallback;
  std::optional<KernelUse> kernel;
  std::vector<std::string> members;  // of a fusion
  std::vector<std::string> also;     // other names that the module answers to
  std::string proof;                 // "semantic", "numeric", "name" or ""
  std::string reference;             // the reference that matched: "llama"; "" when none
  std::optional<Reason> reason;
  std::optional<Position> source;  // the config entry that decided
  std::string model_source;        // "modeling_qwen3.py:63"; "" when unknown
};

struct Report {
  Target target;
  std::string model_file;    // base name; of a model in memory what its caller says
  std::string model_sha256;  // empty of a model in memory
  std::vector<Site> sites;   // sorted by path (order of the module tree), then name, index
};

/// kernelmap-report/1, ending in a newline.
std::string ReportToJson(const Report& report);
/// The same for people: a summary line, then a line a site, grouped by action.
std::string ReportToText(const Report& report);

}  // namespace kernelmap
