// The store of a plan: what the Hugging Face cache and local folders have.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "compiler/binding.h"
#include "compiler/store.h"
#include "compiler/store/check_binding.h"
#include "compiler/store/hub_kernel.h"
#include "compiler/store/layers.h"
#include "compiler/store/repository.h"

namespace kernelmap {
namespace {

class FolderStore {
 public:
  explicit FolderStore(std::string cache) : cache_(std::move(cache)) {}

  StoreAnswer Find(const StoreRequest& request) {
    const RepositoryAnswer& answer = FindOnce(request);
    StoreAnswer result;
    result.steps = answer.steps;
    result.reason = answer.reason;
    if (!answer.found) return result;
    const FoundRepository& found = *answer.found;
    KernelUse use;
    use.ref = request.label;
    use.name = request.ref.name;
    if (!found.repo.empty()) use.repo = found.repo;
    if (!found.commit.empty()) use.revision = found.commit;
    use.variant = found.variant;
    use.digest = found.digest;
    const Bound bound = BoundTo(found, request.ref.name);
    HubKernel made =
        bound.problem
            ? HubKernel{nullptr, bound.problem}
            : MakeHubKernel(
                  {found.repo, found.commit, found.digest, request.ref.name, found.folder},
                  found.layers, BuiltinCatalogue().FindLayer(request.layer), bound.kernel);
    if (made.kernel && !Runs(*made.kernel, request.target.device)) {
      made = {nullptr, Reason{"no_variant",
                              "`" + request.ref.name + "` of " + request.label +
                                  " has no code for " + request.target.device,
                              ""}};
    }
    if (!made.kernel) {
      result.steps.push_back({"layer", false, made.reason->text});
      result.reason = std::move(made.reason);
      result.unusable = std::move(use);
      return result;
    }
    result.steps.push_back(
        {"layer", true,
         "`" + request.ref.name + "` is code for TorchScript, in " +
             (made.kernel->layer_source ? "its layers.py" : "a binding") +
             (bound.kernel && bound.kernel->untested ? " that was never run by its author" : "")});
    result.deterministic = made.kernel->deterministic;
    result.code = std::move(made.kernel);
    result.kernel = std::move(use);
    const LayerFlags flags = ReadLayerFlags(found.layers, request.ref.name);
    // Where a binding calls operations of a repository that has no such class, nobody says so.
    result.backward = flags.has_backward && (flags.found || !bound.kernel);
    result.torch_compile = flags.can_torch_compile;
    if (bound.kernel) {
      result.backward = bound.kernel->backward.value_or(result.backward);
      result.torch_compile = bound.kernel->torch_compile.value_or(result.torch_compile);
    }
    return result;
  }

 private:
  // What is said of a kernel beyond its own files, or what is wrong with the file that says it.
  struct Bound {
    const BoundKernel* kernel = nullptr;
    std::optional<Reason> problem;
  };

  // The repository's own binding comes before ours.
  Bound BoundTo(const FoundRepository& found, const std::string& name) {
    const Binding* binding = FindBinding(found.repo);
    if (!found.binding.empty()) {
      auto problem =
          ReadOwnBinding(found.binding, found.repo, BuiltinCatalogue(), &bindings_.emplace_back());
      if (problem) return {nullptr, std::move(problem)};
      binding = &*bindings_.back();
    }
    const std::string why = binding ? binding->WhyPythonOnly(name) : "";
    if (!why.empty()) return {nullptr, Reason{"python_only", "`" + name + "` is " + why, ""}};
    return {binding ? binding->Find(name) : nullptr, std::nullopt};
  }

  static bool Runs(const Kernel& kernel, const std::string& device) {
    return kernel.devices.empty() ||
           std::find(kernel.devices.begin(), kernel.devices.end(), device) != kernel.devices.end();
  }

  // Several names are often mapped to one repository: it is read once. Trust, on which a redirect
  // depends, is the same for all requests of a plan.
  const RepositoryAnswer& FindOnce(const StoreRequest& request) {
    const bool local = request.ref.kind == KernelRef::Kind::kLocal;
    std::string label = request.label;
    if (local && !request.ref.name.empty())
      label.resize(label.size() - request.ref.name.size() - 1);
    const bool specifiers = request.ref.revision && !request.ref.revision->comparisons.empty();
    const std::string key = local ? request.ref.repo : request.ref.repo + "@" + request.revision;
    // A tag may be called like specifiers.
    const auto [place, is_new] = answers_.try_emplace({key, specifiers});
    if (!is_new) return place->second;
    RepositoryRequest wanted;
    wanted.cache = cache_;
    if (local) {
      wanted.folder = request.ref.repo;
    } else {
      wanted.repo = request.ref.repo;
      wanted.revision = request.revision;
      if (specifiers) wanted.comparisons = request.ref.revision->comparisons;
    }
    wanted.label = local ? label : key;
    wanted.system = SystemOf(request.target);
    wanted.capability = request.target.capability;
    wanted.distrust = request.distrust;
    wanted.locked_repo = request.locked_repo;
    wanted.locked_commit = request.locked_commit;
    return place->second = FindRepository(wanted);
  }

  std::string cache_;
  std::deque<std::optional<Binding>> bindings_;  // read from repositories
  std::map<std::pair<std::string, bool>, RepositoryAnswer> answers_;
};

}  // namespace

Store DefaultStore(const std::string& cache) {
  return [store = std::make_shared<FolderStore>(cache)](const StoreRequest& request) {
    return store->Find(request);
  };
}

}  // namespace kernelmap
