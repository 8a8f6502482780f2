// Making a lock: choosing for every target and mode, and noting what the store was asked for.
#include <algorithm>
#include <utility>

#include "compiler/json_writer.h"
#include "compiler/lock.h"
#include "compiler/plan_json.h"

namespace kernelmap {
namespace {

constexpr const char* kModes[] = {"inference", "inference|torch_compile", "training",
                                  "training|torch_compile"};

bool Before(const LockedKernel& a, const LockedKernel& b) {
  return std::pair(a.kernel, a.revision) < std::pair(b.kernel, b.revision);
}

LockedKernel FromAnswer(const StoreRequest& request, const StoreAnswer& answer, size_t target) {
  LockedKernel kernel;
  if (request.ref.kind == KernelRef::Kind::kLocal) {
    const std::string& name = request.ref.name;
    kernel.kernel =
        request.label.substr(0, request.label.size() - (name.empty() ? 0 : name.size() + 1));
  } else {
    kernel.kernel = request.ref.repo;
    kernel.revision = request.revision;
  }
  // A build that is there but whose code is for Python alone is locked; a damaged one is not.
  const bool broken = answer.reason && answer.reason->code == "bad_metadata";
  const std::optional<KernelUse>& use =
      answer.kernel || broken ? answer.kernel : answer.unusable;
  if (use) {
    kernel.repo = use->repo.value_or("");
    kernel.commit = use->revision.value_or("");
    kernel.builds.push_back({use->variant.value_or(""), use->digest.value_or(""), {target}, {}});
  } else if (answer.reason) {
    kernel.reason = answer.reason->code;
    kernel.missing[target] = kernel.reason;
  }
  return kernel;
}

// Puts what was found together with what was found before, for another target or mode.
void Add(LockedKernel kernel, std::vector<LockedKernel>* kernels) {
  const auto place = std::lower_bound(kernels->begin(), kernels->end(), kernel, Before);
  if (place == kernels->end() || Before(kernel, *place)) {
    kernels->insert(place, std::move(kernel));
    return;
  }
  place->missing.insert(kernel.missing.begin(), kernel.missing.end());
  if (kernel.builds.empty()) return;
  place->repo = kernel.repo;
  place->commit = kernel.commit;
  place->reason.clear();
  for (LockedBuild& build : kernel.builds) {
    const auto at = std::lower_bound(
        place->builds.begin(), place->builds.end(), build,
        [](const LockedBuild& a, const LockedBuild& b) { return a.variant < b.variant; });
    if (at == place->builds.end() || at->variant != build.variant) {
      place->builds.insert(at, std::move(build));
    } else if (at->targets.back() != build.targets.front()) {
      at->targets.push_back(build.targets.front());  // targets come in their order
    }
  }
}

// Notes the candidates of an entry that the store was not asked for.
void AddRefused(const PlanEntry& entry, size_t target, std::vector<LockedKernel>* refused) {
  for (const RefusedCandidate& one : entry.refused) {
    const std::string& code = one.reason.code;
    if (one.repo.empty() || (code != "not_trusted" && code != "disabled")) continue;
    LockedKernel kernel;
    kernel.kernel = one.repo;
    kernel.revision = one.revision;
    kernel.reason = code;
    kernel.why = one.reason.text;
    kernel.missing[target] = code;
    Add(std::move(kernel), refused);
  }
}

void WriteText(const std::string& text, JsonWriter* json) {
  text.empty() ? json->Null() : json->String(text);
}

}  // namespace

Store RecordingStore(const Store& store, size_t target, std::vector<LockedKernel>* kernels) {
  return [store, target, kernels](const StoreRequest& request) {
    StoreAnswer answer = store(request);
    Add(FromAnswer(request, answer, target), kernels);
    return answer;
  };
}

const LockedKernel* Lock::Find(const std::string& kernel, const std::string& revision) const {
  for (const LockedKernel& one : kernels) {
    // The older lock of Python says nothing of revisions.
    const bool same = one.revision == revision || (python && one.revision.empty());
    if (one.kernel == kernel && same) return &one;
  }
  return nullptr;
}

Store LockedStore(const Store& store, const Lock& lock) {
  return [store, &lock](const StoreRequest& request) {
    const bool hub = request.ref.kind == KernelRef::Kind::kHub;
    const LockedKernel* locked = hub ? lock.Find(request.ref.repo, request.revision) : nullptr;
    if (!locked || locked->commit.empty()) return store(request);
    StoreRequest wanted = request;
    wanted.locked_repo = locked->repo.empty() ? request.ref.repo : locked->repo;
    wanted.locked_commit = locked->commit;
    return store(wanted);
  };
}

Lock MakeLock(const Config& config, const Environment& environment,
              const std::vector<Target>& targets, const Lock* locked) {
  Lock lock;
  lock.config = config.source->name() == "<stdin>" ? "" : config.source->BaseName();
  lock.targets = targets;
  for (size_t i = 0; i < targets.size(); ++i) {
    Target target = targets[i];
    const Store found = DefaultStore(environment.kernel_cache);
    const Store store =
        RecordingStore(locked ? LockedStore(found, *locked) : found, i, &lock.kernels);
    for (const char* mode : kModes) {
      target.mode = mode;
      for (const PlanEntry& entry : Resolve(&config, target, environment, store).entries) {
        AddRefused(entry, i, &lock.refused);
      }
    }
  }
  // Of a redirect to a publisher that is not trusted the store was asked.
  std::erase_if(lock.refused, [&](const LockedKernel& kernel) {
    return std::binary_search(lock.kernels.begin(), lock.kernels.end(), kernel, Before);
  });
  return lock;
}

std::string LockToJson(const Lock& lock) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-lock/1");
  json.Key("config");
  WriteText(lock.config.value_or(""), &json);
  json.Key("targets").BeginArray();
  for (const Target& target : lock.targets) {
    json.BeginObject();
    json.Key("device").String(target.device);
    json.Key("capability");
    WriteText(CapabilityText(target.capability), &json);
    json.Key("torch").String(target.torch);
    json.Key("cuda");
    WriteText(target.cuda.value_or(""), &json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("kernels").BeginArray();
  for (const LockedKernel& kernel : lock.kernels) {
    json.BeginObject();
    json.Key("kernel").String(kernel.kernel);
    json.Key("revision");
    WriteText(kernel.revision, &json);
    json.Key("repo");
    WriteText(kernel.repo, &json);
    json.Key("commit");
    WriteText(kernel.commit, &json);
    json.Key("builds").BeginArray();
    for (const LockedBuild& build : kernel.builds) {
      json.BeginObject();
      json.Key("variant").String(build.variant);
      json.Key("digest").String(build.digest);
      json.Key("targets").BeginArray();
      for (const size_t target : build.targets) json.Integer(static_cast<int64_t>(target));
      json.EndArray();
      json.EndObject();
    }
    json.EndArray();
    json.Key("reason");
    WriteText(kernel.reason, &json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Finish();
}

}  // namespace kernelmap
