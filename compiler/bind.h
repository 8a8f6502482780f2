// Helpers of binding: taking typed values out of a document, with a diagnostic where they are not
// what they should be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/config.h"

namespace kernelmap {

/// Reports a value that has another type than `wanted` ("a string").
void ReportWrongType(std::string_view key, std::string_view wanted, const Node& found,
                     Diagnostics* diagnostics);

/// Reports a key that a table does not have. `where` is "the config" or "`target`".
void ReportUnknownKey(const Member& member, std::string_view where,
                      const std::vector<std::string>& keys, Diagnostics* diagnostics);

bool IsKind(const Node& node, Node::Kind kind, std::string_view key, std::string_view wanted,
            Diagnostics* diagnostics);

std::optional<std::string> BindText(const Member& member, Diagnostics* diagnostics);
std::optional<bool> BindBool(const Member& member, Diagnostics* diagnostics);
/// A list of strings; items that are none are reported and left out.
std::vector<std::string> BindTexts(const Member& member, Diagnostics* diagnostics);
/// The same, sorted.
std::vector<std::string> BindSortedTexts(const Member& member, Diagnostics* diagnostics);
/// A string that is one of `words`.
std::optional<std::string> BindWord(const Node& node, std::string_view key,
                                    const std::vector<std::string>& words,
                                    Diagnostics* diagnostics);

/// `kernel_mapping`: a table, or the list of [key, value] pairs that Python writes.
void BindMappings(const Member& member, Config* config, Diagnostics* diagnostics);
/// A value that stands for a kernel: the string, pair, table and `any` forms. `name` is the name
/// it is for.
std::optional<Value> BindValue(const Node& node, std::string_view name, Diagnostics* diagnostics);
/// The entries of a name: one value, or a table of devices.
std::vector<DeviceEntry> BindEntries(const Node& node, std::string_view name,
                                     Diagnostics* diagnostics);
/// A list of path patterns.
std::vector<PathPattern> BindPatterns(const Member& member, Diagnostics* diagnostics);

void BindTarget(const Member& member, TargetSettings* target, Diagnostics* diagnostics);
void BindModel(const Member& member, Config* config, Diagnostics* diagnostics);

/// `attn_implementation`: a word of transformers, or a reference.
void BindAttention(const Member& member, Config* config, Diagnostics* diagnostics);
/// `[[fusion]]`.
void BindFusions(const Member& member, Config* config, Diagnostics* diagnostics);
/// One fusion: its modules as a list of [name, pattern] pairs, and what they are mapped to.
void BindFusion(const Node& modules, const Node& kernel, Config* config, Diagnostics* diagnostics);
/// The modules alone, for a fusion without a kernel.
std::vector<FusionPart> BindFusionParts(const Node& modules, Diagnostics* diagnostics);

}  // namespace kernelmap
