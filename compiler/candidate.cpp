#include "compiler/candidate.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "compiler/catalogue.h"

namespace kernelmap {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

class Judge {
 public:
  Judge(const Candidate& candidate, const CandidateContext& context, std::vector<TraceStep>* trace)
      : candidate_(candidate), ref_(candidate.ref), context_(context), trace_(trace) {}

  CandidateResult Run() {
    switch (ref_.kind) {
      case KernelRef::Kind::kBuiltin:
        return Builtin(BuiltinCatalogue().FindKernel(ref_.name));
      case KernelRef::Kind::kLocal:
        return Local();
      case KernelRef::Kind::kHub:
        return Hub();
    }
    return {};
  }

  CandidateResult Builtin(const Kernel* kernel) {
    if (!kernel) return Fail("present", "not_found", "`" + ref_.text + "` is not built in");
    Pass("present", "`" + ref_.text + "` is built in");
    const Target& target = context_.target;
    if (!Contains(kernel->devices, target.device)) {
      return Fail("variant", "no_variant", "`" + ref_.text + "` has no build for " + target.device);
    }
    Pass("variant", "`" + ref_.text + "` has a build for " + target.device);
    // A name that is no layer of the catalogue is a class: its code decides, at each site.
    const bool implements =
        std::any_of(kernel->implementations.begin(), kernel->implementations.end(),
                    [&](const Implementation& other) { return other.layer == context_.name; });
    if (!implements && BuiltinCatalogue().FindLayer(context_.name)) {
      return Fail("implements", "no_implementation",
                  "`" + ref_.text + "` does not implement " + context_.name);
    }
    const bool trains = target.mode.starts_with("training");
    if (trains || context_.mode.training) {
      if (!kernel->backward) {
        return Fail("backward", "no_backward",
                    "`" + ref_.text + "` has no backward pass" +
                        (trains ? "" : ", but is mapped for " + context_.mode.Text()));
      }
      Pass("backward", "`" + ref_.text + "` has a backward pass");
    }
    const bool compiles = target.mode.ends_with("torch_compile");
    if (compiles || context_.mode.torch_compile) {
      if (!kernel->torch_compile) {
        return Fail("compile", "no_compile",
                    "`" + ref_.text + "` does not support torch.compile" +
                        (compiles ? "" : ", but is mapped for " + context_.mode.Text()));
      }
      Pass("compile", "`" + ref_.text + "` supports torch.compile");
    }
    if (context_.config && context_.config->deterministic.value && !kernel->deterministic) {
      return Fail("deterministic", "not_deterministic",
                  "`" + ref_.text + "` is not declared deterministic");
    }
    CandidateResult result;
    KernelUse use;
    use.ref = ref_.text;
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

  // Relative to the config, so that plans do not depend on where things lie.
  CandidateResult Local() {
    const std::filesystem::path config(context_.config->source->name());
    std::error_code ignored;
    const std::filesystem::path base = std::filesystem::absolute(config, ignored).parent_path();
    const std::string path =
        std::filesystem::path(ref_.repo).lexically_relative(base).generic_string();
    return Fail("present", "not_found",
                "local kernel `" + (path.empty() ? ref_.repo : path) + "` is not in the store");
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
    if (std::string distrust = Distrust(&trust); !distrust.empty()) {
      return Fail("trust", "not_trusted", std::move(distrust));
    }
    Pass("trust", "`" + ref_.Publisher() + "` is trusted: " + trust);
    return Fail("present", "not_found",
                "`" + ref_.repo + "@" + EffectiveRevision() + "` is not in the store");
  }

  // Why the publisher is not trusted; empty, and why it is in `trust`, when it is.
  std::string Distrust(std::string* trust) const {
    const std::string publisher = ref_.Publisher();
    static const Config defaults;
    const Config& config = context_.config ? *context_.config : defaults;
    if (Contains(config.trusted_publishers.value, publisher)) {
      *trust = "trusted_publishers";
    } else if (config.allow_all_kernels.value) {
      *trust = "allow_all_kernels";
    } else if (candidate_.trust_remote_code && context_.from_config) {
      *trust = "trust_remote_code";
    } else {
      return "publisher `" + publisher + "` is not trusted";
    }
    const std::optional<Environment::Policy>& policy = context_.environment.policy;
    if (policy && !policy->allow_all_kernels && !Contains(policy->trusted_publishers, publisher)) {
      return "publisher `" + publisher + "` is not trusted by the policy of this machine";
    }
    return "";
  }

  std::string EffectiveRevision() const {
    if (!candidate_.revision.empty()) return candidate_.revision;
    if (context_.name == "attention") {
      if (ref_.repo.ends_with("/flash-attn2")) return "v3";
      if (ref_.repo.ends_with("/flash-attn4")) return "v0";
    }
    return "v1";
  }

  const Candidate& candidate_;
  const KernelRef& ref_;
  const CandidateContext& context_;
  std::vector<TraceStep>* trace_;
};

}  // namespace

CandidateResult JudgeBuiltin(const Kernel& kernel, const Candidate& candidate,
                             const CandidateContext& context, std::vector<TraceStep>* trace) {
  return Judge(candidate, context, trace).Builtin(&kernel);
}

CandidateResult JudgeCandidate(const Candidate& candidate, const CandidateContext& context,
                               std::vector<TraceStep>* trace) {
  return Judge(candidate, context, trace).Run();
}

}  // namespace kernelmap
