// What one operand of `kernelmap diff` says: a config, a plan or a report, brought to one shape.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/plan.h"

namespace kernelmap {

/// kNone: there is nothing, as where git adds or removes a file.
enum class SideKind { kNone, kConfig, kPlan, kReport };
std::string_view SideKindName(SideKind kind);

/// What an operand says for one target.
struct Side {
  SideKind kind = SideKind::kNone;
  std::optional<Target> target;  // nothing of kNone
  std::string file, sha256;      // of a report's model, of a plan's config; never compared
  bool has_entries = false;      // a config and a plan have them
  std::vector<PlanEntry> entries;
  bool has_sites = false;  // a report, and a plan with a model
  std::vector<Site> sites;

  /// Whether each site was decided as apply would. Without proofs sites are candidates, and some
  /// are not found at all.
  bool Proved() const;
};

/// An operand that was read. A config is yet to be resolved for a target.
struct Operand {
  SideKind kind = SideKind::kNone;
  std::string label;             // how outputs call it: a base name, git:REV:PATH, <stdin>
  std::optional<Config> config;  // of kConfig; nothing: the built-in mapping
  Side side;                     // of the other kinds
};

/// No plan or report may be larger; ten thousand sites take 6 MB and 200,000 values.
inline constexpr DocumentLimits kReportLimits{.bytes = 64u << 20, .values = 2'000'000};

/// What an operand is called.
struct OperandName {
  std::string path;  // decides between TOML and JSON, and what a config's local kernels are near to
  std::string shown;  // in messages
  std::string label;  // in outputs
};

/// Reads an operand's bytes. Nothing where there are errors; warnings of configs are not told,
/// since `check` tells them.
std::optional<Operand> ReadOperand(const OperandName& name, std::string bytes,
                                   const Environment& environment,
                                   std::vector<Diagnostic>* diagnostics);

/// A plan or a report from its JSON, whichever its `format` says. Nothing where there are errors.
std::optional<Side> ReadOutput(const Node& root, const Node& format, Diagnostics* diagnostics);
std::optional<Side> ReadSide(const Node& root, SideKind kind, Diagnostics* diagnostics);

}  // namespace kernelmap
