// The checks of a whole config, one a function. CheckConfig runs them all.
#pragma once

#include "compiler/config.h"

namespace kernelmap {

/// Calls `visit(candidate)` for every kernel that one name or fusion is mapped to.
template <typename Visit>
void ForEachCandidateOf(const Mapping& mapping, Visit visit) {
  for (const DeviceEntry& entry : mapping.entries) {
    for (const ModeValue& mode : entry.modes) {
      for (const Candidate& candidate : mode.value.candidates) visit(candidate);
    }
  }
}

/// Calls `visit(candidate)` for every kernel that the config names, attention's and fusions' too.
template <typename Visit>
void ForEachCandidate(const Config& config, Visit visit) {
  for (const Mapping& mapping : config.mappings) ForEachCandidateOf(mapping, visit);
  if (config.attn_implementation) ForEachCandidateOf(*config.attn_implementation, visit);
  for (const Fusion& fusion : config.fusions) ForEachCandidateOf(fusion.mapping, visit);
}

/// Calls `visit(mapping)` for every name and fusion.
template <typename Visit>
void ForEachMapping(const Config& config, Visit visit) {
  for (const Mapping& of : config.mappings) visit(of);
  for (const Fusion& fusion : config.fusions) visit(fusion.mapping);
}

/// Fusions whose modules cannot be together, or that are there twice.
void CheckFusions(const Config& config, Diagnostics* diagnostics);
/// Entries, modes and candidates that are never chosen.
void CheckShadowed(const Config& config, Diagnostics* diagnostics);
/// Publishers that the config itself does not trust.
void CheckTrust(const Config& config, Diagnostics* diagnostics);

}  // namespace kernelmap
