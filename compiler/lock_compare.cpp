// What differs between a lock file and what the store has now. Every difference shows both.
#include <algorithm>
#include <utility>

#include "compiler/lock.h"

namespace kernelmap {
namespace {

constexpr const char* kLock = "kernelmap lock CONFIG writes the file anew, if that is meant";
constexpr const char* kFetchOrLock =
    "kernelmap fetch CONFIG --locked brings what the file says; kernelmap lock CONFIG writes it "
    "anew";
constexpr const char* kAgainOrLock =
    "kernelmap fetch CONFIG --locked, with the repository's folder gone from the cache, brings the "
    "files anew; kernelmap lock CONFIG writes the lock file anew";

std::string NameOf(const LockedKernel& kernel) {
  return kernel.revision.empty() ? kernel.kernel : kernel.kernel + "@" + kernel.revision;
}

// "commit aaaa…", "nothing [not_found]".
std::string What(const LockedKernel& kernel) {
  if (!kernel.commit.empty()) return "commit " + kernel.commit;
  if (!kernel.builds.empty()) return "a build";
  return "nothing [" + kernel.reason + "]";
}

bool IsThere(const LockedKernel& kernel) {
  return !kernel.commit.empty() || !kernel.builds.empty();
}

class Comparer {
 public:
  Comparer(const Lock& lock, Diagnostics* diagnostics) : lock_(lock), diagnostics_(diagnostics) {}

  // `target`: null where what was found is for all targets of the lock.
  void Compare(const LockedKernel& found, const Target* target) {
    const LockedKernel* locked = lock_.Find(found.kernel, found.revision);
    if (!locked) {
      diagnostics_->Report<Diag::NotLocked>(lock_.span, NameOf(found), What(found)).Help(kLock);
      return;
    }
    if (!IsThere(found) && !IsThere(*locked)) return;
    if (!IsThere(found)) {
      // Where the lock has no build for the target either, nothing came or went. Of a target that
      // it is not for it says nothing: such a one may have none.
      const bool none = found.reason == "no_variant" || found.reason == "python_only";
      if (target && !HasBuildFor(*locked, *target) && (none || IsFor(*target))) return;
      return Differs(locked->span, found, *locked);
    }
    if (!IsThere(*locked)) return Differs(locked->span, found, *locked);
    if (found.commit != locked->commit) {
      return Differs(locked->commit_span, found, *locked);
    }
    if (lock_.python) return;
    if (found.repo != locked->repo) {
      diagnostics_
          ->Report<Diag::LockedRepository>(locked->span, NameOf(found), found.repo, locked->repo)
          .Help(kLock);
      return;
    }
    for (const LockedBuild& build : found.builds) CompareBuild(found, build, *locked);
  }

 private:
  void Differs(Span span, const LockedKernel& found, const LockedKernel& locked) {
    diagnostics_->Report<Diag::LockedCommit>(span, NameOf(found), What(found), What(locked))
        .Help(locked.commit.empty() ? kLock : kFetchOrLock);
  }

  void CompareBuild(const LockedKernel& found, const LockedBuild& build,
                    const LockedKernel& locked) {
    for (const LockedBuild& other : locked.builds) {
      if (other.variant != build.variant) continue;
      if (other.digest != build.digest) {
        diagnostics_
            ->Report<Diag::LockedDigest>(other.span, build.variant, NameOf(found), build.digest,
                                         other.digest)
            .Help(found.commit.empty() ? kLock : kAgainOrLock);
      }
      return;
    }
    std::string others;
    for (const LockedBuild& other : locked.builds) {
      others += (others.empty() ? "" : ", ") + other.variant;
    }
    diagnostics_->Report<Diag::BuildNotLocked>(locked.span, build.variant, NameOf(found), others)
        .Help("kernelmap lock --target writes the file for more targets");
  }

  static bool Same(const Target& a, const Target& b) {
    return a.device == b.device && a.capability == b.capability && a.torch == b.torch &&
           a.cuda == b.cuda;
  }

  bool IsFor(const Target& target) const {
    return std::any_of(lock_.targets.begin(), lock_.targets.end(),
                       [&](const Target& other) { return Same(other, target); });
  }

  bool HasBuildFor(const LockedKernel& locked, const Target& target) const {
    for (size_t i = 0; i < lock_.targets.size(); ++i) {
      const bool same = Same(lock_.targets[i], target);
      const bool has =
          std::any_of(locked.builds.begin(), locked.builds.end(), [&](const LockedBuild& build) {
            return std::find(build.targets.begin(), build.targets.end(), i) != build.targets.end();
          });
      if (same && has) return true;
    }
    return false;
  }

  const Lock& lock_;
  Diagnostics* diagnostics_;
};

}  // namespace

void CompareWithLock(const std::vector<LockedKernel>& found, const Target& target, const Lock& lock,
                     Diagnostics* diagnostics) {
  Comparer comparer(lock, diagnostics);
  for (const LockedKernel& kernel : found) comparer.Compare(kernel, &target);
}

void CompareLocks(const Lock& found, const Lock& lock, Diagnostics* diagnostics) {
  Comparer comparer(lock, diagnostics);
  for (const LockedKernel& kernel : found.kernels) comparer.Compare(kernel, nullptr);
  if (lock.python) return;  // it may be of more than this config
  for (const LockedKernel& locked : lock.kernels) {
    const auto same = [&](const LockedKernel& kernel) {
      return kernel.kernel == locked.kernel && kernel.revision == locked.revision;
    };
    const auto now = std::find_if(found.kernels.begin(), found.kernels.end(), same);
    if (now == found.kernels.end()) {
      diagnostics->Report<Diag::OnlyLocked>(locked.span, NameOf(locked)).Help(kLock);
      continue;
    }
    for (const LockedBuild& build : locked.builds) {
      const bool there =
          std::any_of(now->builds.begin(), now->builds.end(),
                      [&](const LockedBuild& b) { return b.variant == build.variant; });
      if (!there && IsThere(*now) && now->commit == locked.commit) {
        diagnostics->Report<Diag::OnlyLocked>(build.span, build.variant + "` of `" + NameOf(locked))
            .Help(kLock);
      }
    }
  }
}

bool CheckAgainstLock(const std::string& config_path, const Config& config, const std::string& file,
                      std::vector<Diagnostic>* diagnostics, std::string* error) {
  const std::optional<Environment> environment = ReadEnvironment(diagnostics, error);
  const std::optional<Lock> lock = LoadLock(config_path, file, diagnostics, error);
  if (!environment || !lock) return false;
  std::vector<Target> targets = lock->targets;
  if (lock->python) {
    const std::optional<Target> target = ResolveTarget({}, &config, diagnostics);
    if (!target) return false;
    targets = {*target};
  }
  Diagnostics differences(lock->source);
  CompareLocks(MakeLock(config, *environment, targets, &*lock), *lock, &differences);
  differences.Finish();
  diagnostics->insert(diagnostics->end(), differences.list().begin(), differences.list().end());
  return differences.errors() == 0;
}

}  // namespace kernelmap
