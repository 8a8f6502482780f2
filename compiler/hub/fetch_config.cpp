#include "compiler/hub/fetch_config.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/candidate.h"
#include "compiler/check.h"

namespace kernelmap {
namespace {

using Status = FetchedRepository::Status;

constexpr const char* kModes[] = {"inference", "inference|torch_compile", "training",
                                  "training|torch_compile"};

// What a kernel is asked for by: repository, revision, and whether that is specifiers.
using Wanted = std::tuple<std::string, std::string, bool>;

std::tuple<std::string, std::string, std::string, std::vector<std::string>, std::string> KeyOf(
    const FetchedRepository& one) {
  return {one.repo, one.revision, one.needed_by, one.builds, one.reason ? one.reason->text : ""};
}

// Everything that is fetched for one target.
class Run {
 public:
  Run(const Environment& environment, const FetchOptions& options, Fetcher* fetcher,
      FetchReport* report)
      : environment_(environment), options_(options), fetcher_(fetcher), report_(report) {}

  void ForTarget(const Config& config, Target target, size_t place) {
    fetched_.clear();
    // What there is, is known only once it is fetched: the store is asked afterwards.
    const Store there = DefaultStore(environment_.kernel_cache);
    const Store local = options_.lock ? LockedStore(there, *options_.lock) : there;
    const Store store = RecordingStore(
        [&](const StoreRequest& request) {
          if (request.ref.kind == KernelRef::Kind::kHub) Fetch(request);
          return local(request);
        },
        place, &report_->found);
    std::vector<std::string> modes(std::begin(kModes), std::end(kModes));
    if (options_.mode) modes = {*options_.mode};
    for (const std::string& mode : modes) {
      target.mode = mode;
      const Plan plan = Resolve(&config, target, environment_, store);
      for (const PlanEntry& entry : plan.entries) AddRefused(entry);
    }
  }

 private:
  void Fetch(const StoreRequest& request) {
    const std::string& repo = request.ref.repo;
    const bool specifiers = request.ref.revision && !request.ref.revision->comparisons.empty();
    if (!fetched_.insert({repo, request.revision, specifiers}).second) return;
    FetchRequest wanted;
    wanted.what.cache = environment_.kernel_cache;
    wanted.what.repo = repo;
    wanted.what.revision = request.revision;
    if (specifiers) wanted.what.comparisons = request.ref.revision->comparisons;
    wanted.what.label = repo + "@" + request.revision;
    wanted.what.system = SystemOf(request.target);
    wanted.what.capability = request.target.capability;
    wanted.what.distrust = request.distrust;
    if (options_.lock) {
      const LockedKernel* locked = options_.lock->Find(repo, request.revision);
      if (!locked || locked->commit.empty()) {
        return AddSkipped(repo, request.revision,
                          {"not_locked", "the lock file has no commit of it", ""}, !locked);
      }
      wanted.what.locked_repo = locked->repo.empty() ? repo : locked->repo;
      wanted.what.locked_commit = locked->commit;
    }
    for (FetchedRepository& one : fetcher_->Fetch(wanted)) {
      report_->repositories.push_back(std::move(one));
    }
  }

  // Candidates that are not even asked for: not trusted, turned off, Python alone.
  void AddRefused(const PlanEntry& entry) {
    for (const RefusedCandidate& refused : entry.refused) {
      const std::string& code = refused.reason.code;
      if (refused.repo.empty() ||
          fetched_.contains({refused.repo, refused.revision, refused.specifiers})) {
        continue;
      }
      if (!entry.from_config && code == "python_only") continue;  // there are many
      AddSkipped(refused.repo, refused.revision, refused.reason, entry.from_config);
    }
  }

  void AddSkipped(const std::string& repo, const std::string& revision, Reason reason,
                  bool wanted) {
    FetchedRepository one;
    one.repo = repo;
    one.revision = revision;
    one.status = Status::kSkipped;
    one.reason = std::move(reason);
    one.wanted = wanted;
    report_->repositories.push_back(std::move(one));
  }

  const Environment& environment_;
  const FetchOptions& options_;
  Fetcher* fetcher_;
  FetchReport* report_;
  std::set<Wanted> fetched_;
};

// The repositories and revisions that the config itself names.
std::set<std::pair<std::string, std::string>> OwnKernels(const Config& config) {
  std::set<std::pair<std::string, std::string>> own;
  const auto add = [&](const Mapping& mapping) {
    ForEachCandidateOf(mapping, [&](const Candidate& candidate) {
      own.insert({candidate.ref.repo, WantedRevision(candidate, mapping.name)});
    });
  };
  for (const Mapping& mapping : config.mappings) add(mapping);
  if (config.attn_implementation) add(*config.attn_implementation);
  for (const Fusion& fusion : config.fusions) add(fusion.mapping);
  return own;
}

// Two entries for the same: what was fetched for one was there for the other.
void Merge(std::vector<FetchedRepository>* list) {
  std::stable_sort(list->begin(), list->end(),
                   [](const auto& a, const auto& b) { return KeyOf(a) < KeyOf(b); });
  std::vector<FetchedRepository> merged;
  for (FetchedRepository& one : *list) {
    if (merged.empty() || KeyOf(merged.back()) != KeyOf(one)) {
      merged.push_back(std::move(one));
      continue;
    }
    FetchedRepository& last = merged.back();
    last.wanted = last.wanted || one.wanted;
    last.own = last.own || one.own;
    if (one.status == Status::kFetched) last.status = Status::kFetched;
    for (size_t i = 0; i < std::min(last.files.size(), one.files.size()); ++i) {
      last.files[i].fetched = last.files[i].fetched || one.files[i].fetched;
    }
  }
  *list = std::move(merged);
}

}  // namespace

bool IsBad(const FetchedRepository& one) {
  if (!one.reason || !one.wanted) return false;
  const std::string& code = one.reason->code;
  return code != "python_only";
}

FetchReport FetchForConfig(const Config& config, const Environment& environment,
                           const HubSettings& settings, const FetchOptions& options) {
  FetchReport report;
  report.targets = options.targets;
  Fetcher fetcher(settings, options.all_builds, options.show);
  Run run(environment, options, &fetcher, &report);
  for (size_t i = 0; i < options.targets.size(); ++i) {
    run.ForTarget(config, options.targets[i], i);
  }
  const auto own = OwnKernels(config);
  for (FetchedRepository& one : report.repositories) {
    one.own = one.needed_by.empty() && own.contains({one.repo, one.revision});
    // That an inherited kernel has no build for a target is not the config's fault.
    const bool none = one.reason && one.reason->code == "no_variant";
    const bool mine = own.contains({one.repo, one.revision}) || !one.needed_by.empty();
    if (none && !mine) one.wanted = false;
    if (one.reason && one.reason->code == "not_locked" && mine) one.wanted = true;
  }
  Merge(&report.repositories);
  return report;
}

void ReportNotFetched(const Config& config, const FetchReport& report, Diagnostics* diagnostics) {
  const auto look = [&](const Mapping& mapping) {
    ForEachCandidateOf(mapping, [&](const Candidate& candidate) {
      const std::string revision = WantedRevision(candidate, mapping.name);
      for (const FetchedRepository& one : report.repositories) {
        if (!IsBad(one) || one.repo != candidate.ref.repo || one.revision != revision ||
            !one.needed_by.empty()) {
          continue;
        }
        const bool there = one.status == Status::kFetched || one.status == Status::kPresent;
        diagnostics
            ->Report<Diag::NotFetched>(candidate.span, candidate.ref.text,
                                       there ? "is there, but of no use" : "was not fetched",
                                       one.reason->text, one.reason->code)
            .Help(FetchHelp(*one.reason));
      }
    });
  };
  for (const Mapping& mapping : config.mappings) look(mapping);
  if (config.attn_implementation) look(*config.attn_implementation);
  for (const Fusion& fusion : config.fusions) look(fusion.mapping);
}

int FetchExitCode(const FetchReport& report) {
  int code = 0;
  for (const FetchedRepository& one : report.repositories) {
    if (one.reason && one.reason->code == "cannot_write") return 2;
    if (IsBad(one)) code = 1;
  }
  return code;
}

}  // namespace kernelmap
