#include "compiler/diff/state.h"

#include <algorithm>

#include "compiler/reasons.h"

namespace kernelmap {
namespace {

// What tells a kernel from another: of a local one the name of its folder and its own.
std::string Identity(const KernelUse& kernel) {
  if (!IsLocal(kernel)) return kernel.ref;
  if (kernel.digest) return kernel.name;
  return kernel.ref.substr(kernel.ref.rfind('/') + 1);
}

}  // namespace

bool IsLocal(const KernelUse& kernel) {
  return kernel.trust
             ? *kernel.trust == "local"
             : !kernel.repo && (kernel.ref.starts_with("/") || kernel.ref.starts_with("."));
}

bool DecidedByModel(std::string_view reason) {
  const ReasonKind* kind = FindReason(reason);
  return kind && kind->of_model;
}

DiffState StateOf(const PlanEntry& entry) {
  DiffState state;
  state.action = DecisionName(entry.decision);
  state.mode = entry.mode;
  state.guard = entry.guard;
  state.only = entry.only;
  state.except = entry.except;
  state.kernel = entry.kernel;
  for (const FusionModule& module : entry.modules) {
    state.members.push_back(module.name + " " + module.pattern);
  }
  if (entry.reason) state.reason = entry.reason->code;
  return state;
}

DiffState StateOf(const Site& site) {
  DiffState state;
  state.name = site.name;
  state.action = ActionName(site.action);
  state.proof = site.proof;
  state.class_name = site.class_name;
  state.members = site.members;
  state.kernel = site.kernel;
  if (site.reason) state.reason = site.reason->code;
  return state;
}

std::vector<std::string> KernelFieldsThatDiffer(const std::optional<KernelUse>& before,
                                                const std::optional<KernelUse>& after) {
  if (before.has_value() != after.has_value()) return {"kernel"};
  std::vector<std::string> fields;
  if (!before) return fields;
  if (Identity(*before) != Identity(*after)) fields.emplace_back("kernel");
  // What a local kernel says of its own origin may be the path of a folder.
  if (!IsLocal(*before) || !IsLocal(*after)) {
    if (before->repo != after->repo) fields.emplace_back("repo");
    if (before->revision != after->revision) fields.emplace_back("revision");
  }
  if (before->variant != after->variant) fields.emplace_back("variant");
  if (before->digest != after->digest) fields.emplace_back("digest");
  if (before->trust != after->trust) fields.emplace_back("trust");
  return fields;
}

std::vector<std::string> FieldsThatDiffer(const DiffState& before, const DiffState& after) {
  std::vector<std::string> fields;
  if (before.name != after.name) fields.emplace_back("name");
  if (before.action != after.action) fields.emplace_back("action");
  for (std::string& field : KernelFieldsThatDiffer(before.kernel, after.kernel)) {
    fields.push_back(std::move(field));
  }
  const auto add = [&](const char* field, const auto& a, const auto& b) {
    if (a != b) fields.emplace_back(field);
  };
  add("mode", before.mode, after.mode);
  add("guard", before.guard, after.guard);
  add("only", before.only, after.only);
  add("except", before.except, after.except);
  add("members", before.members, after.members);
  add("class", before.class_name, after.class_name);
  add("proof", before.proof, after.proof);
  add("reason", before.reason, after.reason);
  return fields;
}

}  // namespace kernelmap
