// Config to plan, one entry: the entry for the device, its mode, its first candidate of use.
#include <utility>

#include "compiler/candidate.h"
#include "compiler/plan_json.h"
#include "compiler/resolve.h"
#include "compiler/select.h"

namespace kernelmap {
namespace {

class EntryResolver {
 public:
  explicit EntryResolver(const EntryRequest& request) : request_(request) {
    entry_.name = request.name;
    entry_.modules = request.modules;
    entry_.from_config = request.own != nullptr;
  }

  PlanEntry Run() {
    if (request_.own) entry_.source = PositionOf(request_.own->span);
    const std::vector<DeviceChoice> entries =
        EntriesForDevice(request_.own, request_.inherited, request_.target.device);
    if (entries.empty()) {
      return Fallback("entry", "no_kernel_for_device",
                      "no entry of " + entry_.name + " is for " + request_.target.device);
    }
    const DeviceChoice* choice = SmallestInterval(entries, request_.target.capability);
    if (!choice) {
      const std::string capability = CapabilityText(request_.target.capability);
      return Fallback("capability", "capability",
                      capability.empty()
                          ? "every entry for " + request_.target.device +
                                " has bounds, and the target's capability is not known"
                          : "no entry for " + request_.target.device + " holds " + capability);
    }
    const DeviceSelector selector{request_.target.device, choice->interval};
    if (choice->interval.Bounded()) entry_.interval = selector.Text();
    entry_.from_config = choice->from_config;
    entry_.source.reset();
    if (choice->from_config) entry_.source = PositionOf(choice->entry->span);
    Pass("entry", Origin(*choice));
    if (HasCapability(request_.target.device)) {
      Pass("capability",
           "`" + selector.Text() + "` is the smallest interval that holds " +
               (request_.target.capability ? CapabilityText(request_.target.capability)
                                           : std::string("an unknown capability")));
    }
    const ModeValue* mode = FirstFittingMode(*choice->entry, request_.target.mode);
    if (!mode) {
      return Fallback("mode", "mode",
                      "`" + selector.Text() + "` has no value for " + request_.target.mode);
    }
    entry_.mode = mode->mode ? mode->mode->Text() : "fallback";
    Pass("mode", "`" + entry_.mode + "` is the first that fits " + request_.target.mode);
    return Candidates(mode->value, mode->mode.value_or(Mode{.fallback = true}));
  }

 private:
  std::optional<Position> PositionOf(Span span) const {
    const LineColumn at = request_.config->source->Locate(span.begin);
    return Position{request_.config->source->BaseName(), at.line, at.column};
  }

  void Pass(std::string step, std::string text) {
    entry_.trace.push_back({std::move(step), true, std::move(text)});
  }

  PlanEntry Fallback(std::string step, std::string code, std::string text) {
    entry_.trace.push_back({std::move(step), false, text});
    entry_.decision = Decision::kFallback;
    entry_.reason = Reason{std::move(code), std::move(text), ""};
    return std::move(entry_);
  }

  std::string Origin(const DeviceChoice& choice) const {
    const std::string what = choice.entry->selector
                                 ? "an entry for `" + choice.entry->selector->Text() + "`"
                                 : std::string("an entry for any device");
    if (!choice.from_config)
      return what + ", inherited from the " +
             (request_.config ? request_.config->default_mapping.value : "builtin") + " mapping";
    const LineColumn at = request_.config->source->Locate(choice.entry->span.begin);
    return what + ", " + request_.config->source->BaseName() + ":" + std::to_string(at.line);
  }

  PlanEntry Candidates(const Value& value, const Mode& mode) {
    if (entry_.from_config) entry_.source = PositionOf(value.span);
    if (value.disabled) {
      const std::string text = "mapped to " + Written(value);
      entry_.trace.push_back({"candidate", false, entry_.name + " is " + text});
      entry_.decision = Decision::kDisabled;
      entry_.reason = Reason{"disabled", text, ""};
      return std::move(entry_);
    }
    std::vector<std::string> members;
    for (const FusionModule& module : entry_.modules) members.push_back(module.name);
    const CandidateContext context{.name = entry_.name,
                                   .target = request_.target,
                                   .environment = request_.environment,
                                   .store = request_.store,
                                   .config = request_.config,
                                   .from_config = entry_.from_config,
                                   .mode = mode,
                                   .members = std::move(members)};
    std::optional<CandidateResult> first;
    for (const Candidate& candidate : value.candidates) {
      const std::string revision =
          candidate.ref.revision ? "" : WantedRevision(candidate, entry_.name);
      Pass("candidate", "`" + RefLabel(candidate.ref, request_.config) + "`" +
                            (revision.empty() ? "" : ", revision " + revision));
      CandidateResult result = JudgeCandidate(candidate, context, &entry_.trace);
      if (result.kernel) {
        Take(candidate);
        entry_.decision = Decision::kKernel;
        entry_.kernel = std::move(result.kernel);
        entry_.code = std::move(result.code);
        return std::move(entry_);
      }
      AddRefused(candidate, *result.reason);
      if (!first) {
        Take(candidate);
        first = std::move(result);
      }
    }
    // Of several that cannot be used the first was wanted most.
    entry_.decision = first->turned_off ? Decision::kDisabled : Decision::kFallback;
    entry_.reason = std::move(first->reason);
    return std::move(entry_);
  }

  // As the config says it: `""`, or "eager".
  std::string Written(const Value& value) const {
    if (!entry_.from_config) return "\"\"";
    return std::string(request_.config->source->Slice(value.span));
  }

  void AddRefused(const Candidate& candidate, const Reason& reason) {
    const KernelRef& ref = candidate.ref;
    const bool hub = ref.kind == KernelRef::Kind::kHub;
    entry_.refused.push_back({hub ? ref.repo : "", WantedRevision(candidate, entry_.name),
                              ref.revision && !ref.revision->comparisons.empty(), reason});
  }

  void Take(const Candidate& candidate) {
    entry_.only = Texts(candidate.only);
    entry_.except = Texts(candidate.except);
    entry_.guard = candidate.guard;
    if (entry_.from_config) entry_.source = PositionOf(candidate.span);
  }

  PlanEntry entry_;
  const EntryRequest& request_;
};

}  // namespace

PlanEntry ResolveEntry(const EntryRequest& request) { return EntryResolver(request).Run(); }

}  // namespace kernelmap
