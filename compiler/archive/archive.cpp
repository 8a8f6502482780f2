#include "compiler/archive/archive.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "compiler/source.h"

namespace kernelmap {
namespace {

ArchiveError NotTorchScript(const std::string& what) {
  return ErrorOf(ArchiveErrorCode::kNotTorchScript, "not a TorchScript archive: " + what);
}

/// Whether the bytes a file begins with are those of a text; a character may be cut at their end.
bool IsText(std::string_view head) {
  const auto control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  };
  return std::none_of(head.begin(), head.end(), control) &&
         ValidUtf8Prefix(head) + 3 >= head.size();
}

/// The error for a file without a zip directory, sharpened by what its first bytes say.
ArchiveError DescribeNonZip(const std::string& path, ArchiveError error) {
  if (error.code != ArchiveErrorCode::kNotZip) return error;
  const ArchiveResult<InputFile> file = InputFile::Open(path);
  if (!file) return file.error();
  if (file->size() == 0) return NotTorchScript("the file is empty");
  const ArchiveResult<std::string> head = file->Read(0, std::min<uint64_t>(file->size(), 1024));
  if (!head) return head.error();
  // PROTO 2, LONG1 of ten bytes: the magic number of torch.save before its zip format.
  if (head->starts_with("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46")) {
    return NotTorchScript("it seems to be a `torch.save` file of before torch 1.6");
  }
  if (head->starts_with("GGUF")) return NotTorchScript("it seems to be a GGUF file");
  if (head->starts_with("\x89HDF\r\n")) return NotTorchScript("it seems to be an HDF5 file");
  if (head->starts_with("\x1f\x8b")) return NotTorchScript("it is compressed with gzip");
  if (head->starts_with("\x80")) return NotTorchScript("it seems to be a pickle");
  if (head->starts_with("version https://")) {
    return NotTorchScript("it seems to be a Git LFS pointer: the file itself was not fetched");
  }
  if (head->size() > 8 && (*head)[8] == '{') {
    uint64_t length = 0;
    std::memcpy(&length, head->data(), sizeof length);
    if (length <= file->size() - 8) {
      return NotTorchScript("it seems to be a safetensors file");
    }
  }
  if (IsText(*head)) {
    const bool config = path.ends_with(".toml") || path.ends_with(".json");
    return NotTorchScript(config ? "it seems to be a config; are config and model swapped? The "
                                   "config stands before the model"
                                 : "it is a text file");
  }
  return NotTorchScript("not a zip file");
}

/// Whether torch, which ignores case in names, would find an entry here that we do not: `name` is
/// one that torch.jit.load asks for, but for case.
bool DiffersInCase(std::string_view name, std::string_view root) {
  const std::string folded = FoldCase(name);
  if (!folded.starts_with(FoldCase(root))) return false;
  const std::string_view rest = name.substr(root.size());
  const std::string_view part = rest.substr(0, rest.find('/'));
  const std::string folded_part = FoldCase(part);
  for (const std::string_view known :
       {"data.pkl", "constants.pkl", "version", ".data", "code", "data", "constants", "extra"}) {
    if (folded_part == known) {
      return !name.starts_with(root) || part != known ||
             (known == "code" && folded.ends_with(".py") && !name.ends_with(".py"));
    }
  }
  return false;
}

/// What a zip without the entries of a TorchScript archive seems to be.
std::string DescribeZip(const ZipFile& zip, const std::string& root, int version, bool has_data,
                        bool has_code) {
  const auto ends_with = [&](std::string_view suffix) {
    return std::any_of(zip.entries().begin(), zip.entries().end(),
                       [&](const ZipEntry& entry) { return entry.name.ends_with(suffix); });
  };
  if (zip.entries().empty()) return "an empty zip file";
  if (zip.Find(root + "archive_format") || ends_with("serialized_exported_program.json") ||
      zip.Find("serialized_exported_program.json")) {
    return "it seems to be a torch.export archive (.pt2)";
  }
  if (has_data) {
    return "it seems to be a `torch.save` file" +
           (version > 0 ? " (format version " + std::to_string(version) + ")" : std::string()) +
           ": it has `data.pkl` but no `code/`";
  }
  if (ends_with("model.json")) {
    return "it seems to be of torch 1.3 or older, without `data.pkl`: load and save it with a "
           "newer torch";
  }
  return has_code ? "the zip has `code/` but no `data.pkl`"
                  : "a plain zip file, without `data.pkl` and `code/`";
}

}  // namespace

ArchiveResult<Archive> Archive::Open(const std::string& path, const ZipLimits& limits) {
  ArchiveResult<ZipFile> zip = ZipFile::Open(path, limits);
  if (!zip) return DescribeNonZip(path, zip.error());
  Archive archive(std::move(*zip));
  const std::vector<ZipEntry>& entries = archive.zip_.entries();
  if (!entries.empty()) {  // torch takes the first entry's folder
    const std::string& first = entries[0].name;
    const size_t slash = first.find('/');
    if (slash != std::string::npos) archive.root_ = first.substr(0, slash + 1);
  }
  for (const ZipEntry& entry : entries) {
    if (DiffersInCase(entry.name, archive.root_)) {
      return ErrorAt(ArchiveErrorCode::kUnsafeName, entry.header_offset,
                     "the entry `" + entry.name +
                         "` differs in case from a name of TorchScript, which torch does not see");
    }
  }
  const ZipEntry* version = archive.Find("version");
  if (!version) version = archive.Find(".data/version");
  if (version) {
    const ArchiveResult<std::string> text = archive.zip_.Read(*version);
    if (!text) return text.error();
    std::from_chars(text->data(), text->data() + text->size(), archive.version_);
  }
  const std::string code = archive.root_ + "code/", extra = archive.root_ + "extra/";
  bool has_code = false;
  for (const ZipEntry& entry : entries) {
    if (entry.name.starts_with(code)) has_code = true;
    if (entry.name.starts_with(extra) && !entry.name.ends_with('/')) {
      archive.extra_files_.push_back(entry.name.substr(extra.size()));
    }
  }
  std::sort(archive.extra_files_.begin(), archive.extra_files_.end());
  const bool has_data = archive.Find("data.pkl") != nullptr;
  if (!has_data || !has_code || archive.root_.empty()) {
    return NotTorchScript(
        DescribeZip(archive.zip_, archive.root_, archive.version_, has_data, has_code));
  }
  if (archive.version_ <= 0) {
    return ErrorOf(ArchiveErrorCode::kMalformed, "the archive has no valid `version`");
  }
  return archive;
}

const ZipEntry* Archive::Find(std::string_view name) const {
  return zip_.Find(root_ + std::string(name));
}

ArchiveResult<std::optional<std::string>> Archive::ReadExtraFile(std::string_view name) const {
  const ZipEntry* entry = Find("extra/" + std::string(name));
  if (!entry) return std::optional<std::string>();
  ArchiveResult<std::string> bytes = zip_.Read(*entry);
  if (!bytes) return bytes.error();
  return std::optional<std::string>(std::move(*bytes));
}

}  // namespace kernelmap
