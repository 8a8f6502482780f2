#include "compiler/store/redirect.h"

#include <memory>
#include <utility>

#include "compiler/document.h"
#include "compiler/languages.h"

namespace kernelmap {
namespace {

constexpr std::string_view kFile = "kernel-status.toml";
constexpr uint64_t kMaxBytes = 1 << 16;

std::string TextOf(const Node& table, std::string_view key) {
  const Member* member = table.Find(key);
  return member && member->value.Is(Node::Kind::kString) ? member->value.text : "";
}

bool IsRepository(const std::string& text) {
  Diagnostics diagnostics(std::make_shared<Source>(std::string(kFile), text));
  const auto ref = ParseKernelRef(SubText::OfSource(*diagnostics.source()), &diagnostics);
  return ref && ref->kind == KernelRef::Kind::kHub && ref->repo == text;
}

std::nullopt_t Fail(std::string code, const std::string& text, std::optional<Reason>* reason) {
  *reason = Reason{std::move(code), "`" + std::string(kFile) + "` " + text, ""};
  return std::nullopt;
}

}  // namespace

std::optional<Redirect> ParseRedirect(std::string text, std::optional<Reason>* reason) {
  Diagnostics diagnostics(std::make_shared<Source>(std::string(kFile), std::move(text)));
  const std::optional<Node> root = ReadDocument(Syntax::kToml, &diagnostics);
  if (!root || diagnostics.errors() > 0) return Fail("bad_redirect", "is no TOML", reason);
  if (TextOf(*root, "kind") != "redirect") return Fail("bad_redirect", "is no redirect", reason);
  Redirect redirect;
  redirect.repo = TextOf(*root, "destination");
  if (!IsRepository(redirect.repo)) {
    return Fail("bad_redirect", "names no repository as its `destination`", reason);
  }
  if (root->Find("revision")) redirect.revision = TextOf(*root, "revision");
  return redirect;
}

std::optional<Redirect> ReadRedirect(const Folder& folder, const std::string& path,
                                     std::optional<Reason>* reason) {
  FolderError error = FolderError::kNone;
  auto text = folder.Read(path + "/" + std::string(kFile), kMaxBytes, &error);
  if (!text && error == FolderError::kMissing) return std::nullopt;
  if (!text) {
    const bool bad = error == FolderError::kTooLarge || error == FolderError::kFailed;
    return Fail(bad ? "bad_redirect" : "unsafe_path", std::string(FolderErrorText(error)), reason);
  }
  return ParseRedirect(std::move(*text), reason);
}

}  // namespace kernelmap
