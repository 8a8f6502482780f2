// The store of a plan: what the Hugging Face cache and local folders have.
#include <map>
#include <memory>
#include <utility>

#include "compiler/store.h"
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
    result.kernel = std::move(use);
    const LayerFlags flags = ReadLayerFlags(found.layers, request.ref.name);
    result.backward = flags.has_backward;
    result.torch_compile = flags.can_torch_compile;
    return result;
  }

 private:
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
    return place->second = FindRepository(wanted);
  }

  std::string cache_;
  std::map<std::pair<std::string, bool>, RepositoryAnswer> answers_;
};

}  // namespace

Store DefaultStore(const std::string& cache) {
  return [store = std::make_shared<FolderStore>(cache)](const StoreRequest& request) {
    return store->Find(request);
  };
}

}  // namespace kernelmap
