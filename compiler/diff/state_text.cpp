#include "compiler/diff/state_text.h"

#include <algorithm>

#include "compiler/contains.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

// Commits and digests: enough to tell them apart.
std::string Short(const std::string& text) {
  constexpr size_t kLong = 24, kShown = 16;
  const bool hex = text.find_first_not_of("0123456789abcdef:sh-") == text.npos;
  return text.size() > kLong && hex ? text.substr(0, kShown) + "…" : text;
}

std::string Listed(const std::vector<std::string>& texts) {
  return texts.empty() ? "none" : JoinTexts(texts);
}

std::string Head(const DiffState& state, bool site) {
  const std::string ref = state.kernel ? state.kernel->ref : "";
  if (!site && state.action == "kernel") return ref.empty() ? state.action : ref;
  std::string text = state.action;
  if (!ref.empty() && state.action != "fallback") {
    text += (state.action == "fused"       ? " into "
             : state.action == "candidate" ? " for "
             : state.action == "already"   ? " "
                                           : " by ") +
            ref;
  }
  const bool implied = state.reason == state.action;
  if (!state.reason.empty() && !implied) text += " [" + state.reason + "]";
  return text;
}

std::string FieldText(const DiffState& state, const std::string& field) {
  const auto kernel = [&](const std::optional<std::string> KernelUse::*part) {
    return state.kernel ? ((*state.kernel).*part).value_or("none") : std::string("none");
  };
  if (field == "name") return state.name;
  if (field == "kernel") return state.kernel ? state.kernel->ref : "none";
  if (field == "repo") return kernel(&KernelUse::repo);
  if (field == "revision") return Short(kernel(&KernelUse::revision));
  if (field == "variant") return kernel(&KernelUse::variant);
  if (field == "digest") return Short(kernel(&KernelUse::digest));
  if (field == "trust") return kernel(&KernelUse::trust);
  if (field == "mode") return state.mode.empty() ? "none" : state.mode;
  if (field == "guard") return state.guard;
  if (field == "only") return Listed(state.only);
  if (field == "except") return Listed(state.except);
  if (field == "members") return Listed(state.members);
  if (field == "class") return state.class_name;
  if (field == "proof") return state.proof.empty() ? "none" : state.proof;
  return "";
}

// Whether a field's change follows from what the two heads say already.
bool Implied(const std::string& field, const Change& change, bool same_head) {
  if (field == "action" || field == "reason") return true;
  const bool of_kernel = field == "kernel" || field == "repo" || field == "revision" ||
                         field == "variant" || field == "digest" || field == "trust";
  const bool other_kernel = Contains(change.fields, "kernel");
  if (field == "kernel") return !same_head;
  if (of_kernel) return other_kernel;
  return field == "proof" && Contains(change.fields, "action");
}

}  // namespace

std::pair<std::string, std::string> ChangeTexts(const Change& change, bool site) {
  std::string before, after;
  if (change.before) before = Head(*change.before, site);
  if (change.after) after = Head(*change.after, site);
  if (!change.fusion.empty()) {
    (change.before ? after : before) = "part of " + change.fusion;
  }
  if (!change.before || !change.after) return {before, after};
  const bool same_head = before == after;
  if (same_head) after.clear();  // said once is enough
  for (const std::string& field : change.fields) {
    if (Implied(field, change, same_head)) continue;
    before += ", " + field + " " + FieldText(*change.before, field);
    after += (after.empty() ? "" : ", ") + field + " " + FieldText(*change.after, field);
  }
  if (after.empty()) after = before;
  return {before, after};
}

}  // namespace kernelmap
