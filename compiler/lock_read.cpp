// Reading lock files: ours, and the Python library's.
#include <unistd.h>

#include <map>
#include <utility>

#include "compiler/lock.h"
#include "compiler/store/cache.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxLockTargets = 1000;

class Reader {
 public:
  explicit Reader(Diagnostics* diagnostics) : diagnostics_(diagnostics) {}

  // A member of a table: text, or null where it may be. The value's place goes to `span`.
  std::string Text(const Node& table, std::string_view key, bool may_be_null,
                   Span* span = nullptr) {
    const Member* member = table.Find(key);
    if (!member) {
      diagnostics_->Report<Diag::MissingKey>(table.span, key, "the lock file");
      return "";
    }
    if (span) *span = member->value.span;
    if (member->value.Is(Node::Kind::kString)) return member->value.text;
    if (!may_be_null || !member->value.Is(Node::Kind::kNull)) WrongType(*member, "a string");
    return "";
  }

  const Node* List(const Node& table, std::string_view key) {
    const Member* member = table.Find(key);
    if (!member) {
      diagnostics_->Report<Diag::MissingKey>(table.span, key, "the lock file");
      return nullptr;
    }
    if (!member->value.Is(Node::Kind::kArray)) {
      WrongType(*member, "a list");
      return nullptr;
    }
    return &member->value;
  }

  bool IsTable(const Node& node) {
    if (node.Is(Node::Kind::kTable)) return true;
    diagnostics_->Report<Diag::BadLock>(node.span, "an item is no table");
    return false;
  }

  void ReadTarget(const Node& node, Lock* lock) {
    if (!IsTable(node)) return;
    Target target;
    target.device = Text(node, "device", false);
    target.torch = Text(node, "torch", false);
    if (const std::string cuda = Text(node, "cuda", true); !cuda.empty()) target.cuda = cuda;
    const Member* capability = node.Find("capability");
    if (capability && capability->value.Is(Node::Kind::kString)) {
      target.capability =
          ParseCapability(SubText::OfString(capability->value), target.device, diagnostics_);
    } else if (capability && !capability->value.Is(Node::Kind::kNull)) {
      WrongType(*capability, "a string");
    }
    lock->targets.push_back(std::move(target));
  }

  void ReadKernel(const Node& node, Lock* lock) {
    if (!IsTable(node)) return;
    LockedKernel kernel;
    kernel.span = node.span;
    kernel.kernel = Text(node, "kernel", false, &kernel.span);
    kernel.revision = Text(node, "revision", true);
    kernel.repo = Text(node, "repo", true);
    kernel.commit = Text(node, "commit", true, &kernel.commit_span);
    kernel.reason = Text(node, "reason", true);
    if (const Node* builds = List(node, "builds")) {
      for (const Node& item : builds->items) {
        if (!IsTable(item)) continue;
        kernel.builds.push_back(ReadBuild(item, lock->targets.size()));
      }
    }
    CheckCommit(kernel);
    if (const LockedKernel* other = AddNew(kernel, lock)) ReportTwo(kernel, *other);
  }

  // {"dependency": {"repo-id", "version" | "revision"}, "lock": {"commit"}}, or before 0.14
  // {"repo_id", "sha", "variants"}, which is for any revision.
  void ReadPythonKernel(const Node& node, Lock* lock) {
    if (!IsTable(node)) return;
    LockedKernel kernel;
    kernel.span = node.span;
    const Member *dependency = node.Find("dependency"), *locked = node.Find("lock");
    if (dependency && locked && IsTable(dependency->value) && IsTable(locked->value)) {
      kernel.kernel = Text(dependency->value, "repo-id", false, &kernel.span);
      const Member* version = dependency->value.Find("version");
      if (version && version->value.Is(Node::Kind::kInteger)) {
        kernel.revision = "v" + std::to_string(version->value.integer);
      } else {
        kernel.revision = Text(dependency->value, "revision", false);
      }
      kernel.commit = Text(locked->value, "commit", false, &kernel.commit_span);
    } else {
      kernel.kernel = Text(node, "repo_id", false, &kernel.span);
      kernel.commit = Text(node, "sha", false, &kernel.commit_span);
    }
    kernel.repo = kernel.kernel;
    CheckCommit(kernel);
    // The same twice is of no harm here.
    const LockedKernel* other = AddNew(kernel, lock);
    if (other && other->commit != kernel.commit) ReportTwo(kernel, *other);
  }

 private:
  LockedBuild ReadBuild(const Node& node, size_t targets) {
    LockedBuild build;
    build.variant = Text(node, "variant", false);
    build.digest = Text(node, "digest", false, &build.span);
    const Node* list = List(node, "targets");
    if (!list) return build;
    for (const Node& place : list->items) {
      // A number that is too large for an integer is none.
      if (place.Is(Node::Kind::kInteger) && place.integer >= 0 &&
          static_cast<uint64_t>(place.integer) < targets) {
        build.targets.push_back(static_cast<size_t>(place.integer));
      } else {
        diagnostics_->Report<Diag::BadLock>(place.span, "a build's target is no place in `targets`");
      }
    }
    return build;
  }

  // Adds a kernel that the lock does not have yet; else the entry that it has. In the older form
  // of Python's file an entry is for every revision.
  const LockedKernel* AddNew(const LockedKernel& kernel, Lock* lock) {
    const auto [first, last] = places_.equal_range(kernel.kernel);
    for (auto at = first; at != last; ++at) {
      const LockedKernel& other = lock->kernels[at->second];
      const bool any = lock->python && (other.revision.empty() || kernel.revision.empty());
      if (any || other.revision == kernel.revision) return &other;
    }
    places_.emplace(kernel.kernel, lock->kernels.size());
    lock->kernels.push_back(kernel);
    return nullptr;
  }

  void ReportTwo(const LockedKernel& kernel, const LockedKernel& other) {
    const std::string& revision = kernel.revision.empty() ? other.revision : kernel.revision;
    diagnostics_->Report<Diag::BadLock>(
        kernel.span, "a second entry for `" + kernel.kernel +
                         (revision.empty() ? "" : "@" + revision) + "`");
  }

  // A commit becomes part of paths and addresses.
  void CheckCommit(const LockedKernel& kernel) {
    if (kernel.commit.empty() || IsCommit(kernel.commit)) return;
    diagnostics_->Report<Diag::BadLock>(kernel.commit_span,
                                        "a commit is 40 hexadecimal digits, in lower case");
  }

  void WrongType(const Member& member, std::string_view wanted) {
    diagnostics_->Report<Diag::WrongType>(member.value.span, member.key, wanted,
                                          KindName(member.value.kind));
  }

  Diagnostics* diagnostics_;
  std::multimap<std::string, size_t> places_;  // of each kernel's entries
};

std::string Beside(const std::optional<std::string>& config_path, const std::string& name) {
  if (!config_path) return name;
  const size_t slash = config_path->rfind('/');
  return slash == std::string::npos ? name : config_path->substr(0, slash + 1) + name;
}

}  // namespace

std::optional<Lock> ReadLock(Diagnostics* diagnostics) {
  const std::optional<Node> root = ReadDocument(Syntax::kJson, diagnostics);
  if (!root) return std::nullopt;
  Lock lock;
  lock.source = diagnostics->source();
  Reader reader(diagnostics);
  lock.python = root->Is(Node::Kind::kArray);
  if (lock.python) {
    lock.span = root->span;
    for (const Node& item : root->items) reader.ReadPythonKernel(item, &lock);
  } else if (root->Is(Node::Kind::kTable)) {
    if (reader.Text(*root, "format", false) != "kernelmap-lock/1" && diagnostics->errors() == 0) {
      diagnostics->Report<Diag::BadLock>(root->Find("format")->value.span,
                                         "this version of kernelmap does not know the format");
    }
    if (root->Find("config")) lock.config = reader.Text(*root, "config", true, &lock.config_span);
    if (const Node* targets = reader.List(*root, "targets")) {
      // Each is resolved, so a file of very many would take long.
      if (targets->items.size() > kMaxLockTargets) {
        diagnostics->Report<Diag::BadLock>(
            targets->span, "more than " + std::to_string(kMaxLockTargets) + " targets");
        return std::nullopt;
      }
      for (const Node& item : targets->items) reader.ReadTarget(item, &lock);
    }
    if (const Node* kernels = reader.List(*root, "kernels")) {
      lock.span = root->Find("kernels")->key_span;
      for (const Node& item : kernels->items) reader.ReadKernel(item, &lock);
    }
  } else {
    diagnostics->Report<Diag::BadLock>(root->span, "it is neither a table nor a list");
  }
  if (diagnostics->errors() > 0) return std::nullopt;
  return lock;
}

std::optional<Lock> LoadLock(const std::optional<std::string>& config_path, const std::string& file,
                             std::vector<Diagnostic>* diagnostics, std::string* error) {
  const bool standard_input = config_path && *config_path == "-";
  const auto config = standard_input ? std::nullopt : config_path;
  std::string path = file.empty() ? Beside(config, "kernelmap.lock") : file;
  const std::string python = Beside(config, "kernels.lock");
  if (file.empty() && access(path.c_str(), F_OK) != 0 && access(python.c_str(), F_OK) == 0)
    path = python;
  std::optional<std::string> bytes = ReadFile(path, kMaxFileBytes, error);
  if (!bytes) {
    *error += "\nhelp: kernelmap lock writes it";
    return std::nullopt;
  }
  Diagnostics found(std::make_shared<Source>(path, std::move(*bytes)));
  std::optional<Lock> lock = ReadLock(&found);
  const std::string other = lock ? lock->config.value_or("") : "";
  if (lock && config && !other.empty() && other != config->substr(config->rfind('/') + 1)) {
    found.Report<Diag::OtherLock>(lock->config_span, other)
        .Help("kernelmap lock -o FILE writes one for each config, and --lock FILE reads it");
  }
  found.Finish();
  diagnostics->insert(diagnostics->end(), found.list().begin(), found.list().end());
  return lock;
}

}  // namespace kernelmap
