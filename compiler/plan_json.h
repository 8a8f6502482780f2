// The JSON of the values that plans and reports share.
#pragma once

#include <optional>
#include <string>

#include "compiler/json_writer.h"
#include "compiler/plan.h"

namespace kernelmap {

/// "9.0"; empty when there is none.
std::string CapabilityText(const std::optional<Capability>& capability);
/// "cpu, inference, torch 2.13".
std::string TargetText(const Target& target);

void WriteTarget(const Target& target, JsonWriter* json);
void WriteKernel(const std::optional<KernelUse>& kernel, JsonWriter* json);
void WriteReason(const std::optional<Reason>& reason, JsonWriter* json);
void WritePosition(const std::optional<Position>& position, JsonWriter* json);
/// The array of sites.
void WriteSites(const std::vector<Site>& sites, JsonWriter* json);

/// A line a step: "  ok    mode: …".
std::string TraceToText(const std::vector<TraceStep>& trace);

/// A line a site, grouped by action; empty without sites.
std::string SitesToText(const std::vector<Site>& sites);

}  // namespace kernelmap
