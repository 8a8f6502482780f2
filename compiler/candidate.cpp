#include "compiler/candidate.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "compiler/binding.h"
#include "compiler/catalogue.h"
#include "compiler/contains.h"

namespace kernelmap {
namespace {

// A name that is no layer of the catalogue is a class: its code decides, at each site.
bool Fuses(const Implementation& implementation, const std::vector<std::string>& names) {
  return !implementation.layout.empty() && implementation.members.size() == names.size() &&
         std::equal(names.begin(), names.end(), implementation.members.begin(),
                    [](const std::string& name, const FusedMember& member) {
                      return name == member.layer || !BuiltinCatalogue().FindLayer(name);
                    });
}

class Judge {
 public:
  Judge(const Candidate& candidate, const CandidateContext& context, std::vector<TraceStep>* trace)
      : candidate_(candidate),
        ref_(candidate.ref),
        label_(RefLabel(candidate.ref, context.config)),
        context_(context),
        trace_(trace) {}

  CandidateResult Run() {
    switch (ref_.kind) {
      case KernelRef::Kind::kBuiltin:
        return Builtin(BuiltinCatalogue().FindKernel(ref_.name));
      case KernelRef::Kind::kLocal:
        return Stored("", "local");
      case KernelRef::Kind::kHub:
        return Hub();
    }
    return {};
  }

  CandidateResult Builtin(const Kernel* kernel) {
    if (!kernel) return Fail("present", "not_found", "`" + label_ + "` is not built in");
    Pass("present", "`" + label_ + "` is built in");
    const Target& target = context_.target;
    if (!Contains(kernel->devices, target.device)) {
      return Fail("variant", "no_variant", "`" + label_ + "` has no build for " + target.device);
    }
    Pass("variant", "`" + label_ + "` has a build for " + target.device);
    // A name that is no layer of the catalogue is a class: its code decides, at each site.
    const bool implements =
        std::any_of(kernel->implementations.begin(), kernel->implementations.end(),
                    [&](const Implementation& other) { return other.layer == context_.name; });
    if (!context_.members.empty()) {
      if (auto misfit = NoLayout(*kernel)) return *misfit;
    } else if (!implements && BuiltinCatalogue().FindLayer(context_.name)) {
      return Fail("implements", "no_implementation",
                  "`" + label_ + "` does not implement " + context_.name);
    }
    if (auto misfit = Misfit(kernel->backward, kernel->torch_compile, kernel->deterministic)) {
      return *misfit;
    }
    CandidateResult result;
    KernelUse use;
    use.ref = label_;
    use.name = ref_.name;
    use.trust = "builtin";
    result.kernel = std::move(use);
    return result;
  }

 private:
  void Pass(std::string step, std::string text) {
    trace_->push_back({std::move(step), true, std::move(text)});
  }

  CandidateResult Fail(std::string step, std::string code, std::string text) {
    trace_->push_back({std::move(step), false, text});
    CandidateResult result;
    result.reason = Reason{std::move(code), std::move(text), ""};
    return result;
  }

  // What a kernel must be able to do: for the target's mode, and for the mode it is mapped for.
  std::optional<CandidateResult> Misfit(bool backward, bool torch_compile, bool deterministic) {
    const bool trains = context_.target.mode.starts_with("training");
    if (trains || context_.mode.training) {
      if (!backward) {
        return Fail("backward", "no_backward",
                    "`" + label_ + "` has no backward pass" +
                        (trains ? "" : ", but is mapped for " + context_.mode.Text()));
      }
      Pass("backward", "`" + label_ + "` has a backward pass");
    }
    const bool compiles = context_.target.mode.ends_with("torch_compile");
    if (compiles || context_.mode.torch_compile) {
      if (!torch_compile) {
        return Fail("compile", "no_compile",
                    "`" + label_ + "` does not support torch.compile" +
                        (compiles ? "" : ", but is mapped for " + context_.mode.Text()));
      }
      Pass("compile", "`" + label_ + "` supports torch.compile");
    }
    if (context_.config && context_.config->deterministic.value && !deterministic) {
      return Fail("deterministic", "not_deterministic",
                  "`" + label_ + "` is not declared deterministic");
    }
    return std::nullopt;
  }

  // One kernel for several modules: how its parameters come from theirs is its layout.
  std::optional<CandidateResult> NoLayout(const Kernel& kernel) {
    for (const Implementation& implementation : kernel.implementations) {
      if (Fuses(implementation, context_.members)) {
        Pass("layout", "`" + label_ + "` has a layout for " + context_.name);
        return std::nullopt;
      }
    }
    return Fail("layout", "no_layout", "`" + label_ + "` has no layout for " + context_.name);
  }

  // Asks the store.
  CandidateResult Stored(std::string revision, std::string trust) {
    const auto distrust = [this](const std::string& repo) {
      return Distrust(repo.substr(0, repo.find('/')), false, nullptr);
    };
    StoreAnswer answer = context_.store(
        {ref_, label_, std::move(revision), context_.name, context_.target, distrust});
    trace_->insert(trace_->end(), answer.steps.begin(), answer.steps.end());
    if (!answer.kernel) {
      CandidateResult result;
      result.reason = std::move(answer.reason);
      return result;
    }
    if (!context_.members.empty()) {
      static const Kernel none;
      if (auto misfit = NoLayout(answer.code ? *answer.code : none)) return *misfit;
    }
    if (auto misfit = Misfit(answer.backward, answer.torch_compile, answer.deterministic)) {
      return *misfit;
    }
    CandidateResult result;
    result.kernel = std::move(answer.kernel);
    result.kernel->ref = label_;
    result.kernel->trust = std::move(trust);
    result.code = std::move(answer.code);
    return result;
  }

  CandidateResult Hub() {
    if (!context_.environment.HubEnabled()) {
      CandidateResult result = Fail("hub", "disabled",
                                    "USE_HUB_KERNELS is `" + *context_.environment.use_hub_kernels +
                                        "`, which turns Hub kernels off");
      result.turned_off = true;
      return result;
    }
    std::string trust;
    const bool by_entry = candidate_.trust_remote_code && context_.from_config;
    if (std::string distrust = Distrust(ref_.Publisher(), by_entry, &trust); !distrust.empty()) {
      return Fail("trust", "not_trusted", std::move(distrust));
    }
    Pass("trust", "`" + ref_.Publisher() + "` is trusted: " + trust);
    const Binding* binding = FindBinding(ref_.repo);
    const std::string why = binding ? binding->WhyPythonOnly(ref_.name) : "";
    if (!why.empty()) return Fail("binding", "python_only", "`" + label_ + "` is " + why);
    return Stored(WantedRevision(candidate_, context_.name), std::move(trust));
  }

  // Why a publisher is not trusted; empty, and why it is in `trust` (may be null), when it is.
  // `by_entry`: its repository is the one that the entry names, and the entry trusts that.
  std::string Distrust(const std::string& publisher, bool by_entry, std::string* trust) const {
    static const Config defaults;
    const Config& config = context_.config ? *context_.config : defaults;
    if (HasPublisher(config.trusted_publishers.value, publisher)) {
      if (trust) *trust = "trusted_publishers";
    } else if (config.allow_all_kernels.value) {
      if (trust) *trust = "allow_all_kernels";
    } else if (by_entry) {
      if (trust) *trust = "trust_remote_code";
    } else {
      return "publisher `" + publisher + "` is not trusted";
    }
    const std::optional<Environment::Policy>& policy = context_.environment.policy;
    if (policy && !policy->allow_all_kernels &&
        !HasPublisher(policy->trusted_publishers, publisher)) {
      return "publisher `" + publisher + "` is not trusted by the policy of this machine";
    }
    return "";
  }

  const Candidate& candidate_;
  const KernelRef& ref_;
  const std::string label_;
  const CandidateContext& context_;
  std::vector<TraceStep>* trace_;
};

}  // namespace

std::string RefLabel(const KernelRef& ref, const Config* config) {
  if (ref.kind != KernelRef::Kind::kLocal || !config) return ref.text;
  std::error_code ignored;
  const std::filesystem::path base =
      std::filesystem::absolute(config->source->name(), ignored).parent_path();
  const std::string path =
      std::filesystem::path(ref.repo).lexically_relative(base).generic_string();
  return path.empty() ? ref.text : path + (ref.name.empty() ? "" : ":" + ref.name);
}

std::string WantedRevision(const Candidate& candidate, const std::string& name) {
  if (candidate.ref.kind != KernelRef::Kind::kHub) return "";
  if (!candidate.revision.empty()) return candidate.revision;
  if (name == "attention") {
    if (candidate.ref.repo.ends_with("/flash-attn2")) return "v3";
    if (candidate.ref.repo.ends_with("/flash-attn4")) return "v0";
  }
  return "v1";
}

CandidateResult JudgeBuiltin(const Kernel& kernel, const Candidate& candidate,
                             const CandidateContext& context, std::vector<TraceStep>* trace) {
  return Judge(candidate, context, trace).Builtin(&kernel);
}

CandidateResult JudgeCandidate(const Candidate& candidate, const CandidateContext& context,
                               std::vector<TraceStep>* trace) {
  return Judge(candidate, context, trace).Run();
}

}  // namespace kernelmap
