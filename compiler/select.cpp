#include "compiler/select.h"

#include <algorithm>

namespace kernelmap {
namespace {

void Add(const Mapping& mapping, const std::string& device, bool from_config,
         std::vector<DeviceChoice>* entries) {
  for (const DeviceEntry& entry : mapping.entries) {
    if (entry.selector && entry.selector->device != device) continue;
    const DeviceChoice choice{entry.selector ? entry.selector->interval : Interval{}, &entry,
                              from_config};
    const auto same =
        std::find_if(entries->begin(), entries->end(),
                     [&](const DeviceChoice& other) { return other.interval == choice.interval; });
    if (same != entries->end()) {
      *same = choice;  // the later replaces the earlier, modes and all
    } else {
      entries->push_back(choice);
    }
  }
}

constexpr Mode kInference{.inference = true};
constexpr Mode kInferenceCompiled{.inference = true, .torch_compile = true};
constexpr Mode kTraining{.training = true};
constexpr Mode kTrainingCompiled{.training = true, .torch_compile = true};
constexpr Mode kFallback{.fallback = true};

std::vector<Mode> Preference(const std::string& target_mode) {
  if (target_mode == "inference") {
    return {kInference, kInferenceCompiled, kTraining, kTrainingCompiled, kFallback};
  }
  if (target_mode == "inference|torch_compile") {
    return {kInferenceCompiled, kTrainingCompiled, kFallback};
  }
  if (target_mode == "training") return {kTraining, kTrainingCompiled, kFallback};
  return {kTrainingCompiled, kFallback};
}

}  // namespace

std::vector<DeviceChoice> EntriesForDevice(const Mapping* own,
                                           const std::vector<const Mapping*>& inherited,
                                           const std::string& device) {
  std::vector<DeviceChoice> entries;
  if (!own || !own->Whole()) {
    for (const Mapping* mapping : inherited) Add(*mapping, device, false, &entries);
  }
  if (own) Add(*own, device, true, &entries);
  return entries;
}

const DeviceChoice* SmallestInterval(const std::vector<DeviceChoice>& entries,
                                     std::optional<Capability> capability) {
  const DeviceChoice* best = nullptr;
  const auto width = [](const DeviceChoice& c) { return long{c.interval.high} - c.interval.low; };
  for (const DeviceChoice& choice : entries) {
    const bool holds = capability
                           ? choice.interval.Holds(10 * capability->major + capability->minor)
                           : !choice.interval.Bounded();
    if (!holds) continue;
    if (!best || width(choice) < width(*best) ||
        (width(choice) == width(*best) && choice.interval.low > best->interval.low)) {
      best = &choice;
    }
  }
  return best;
}

const ModeValue* FirstFittingMode(const DeviceEntry& entry, const std::string& target_mode) {
  for (const Mode& mode : Preference(target_mode)) {
    for (const ModeValue& value : entry.modes) {
      if (value.mode.value_or(kFallback) == mode) return &value;
    }
  }
  return nullptr;
}

}  // namespace kernelmap
