#include "compiler/select.h"

#include <map>
#include <utility>

namespace kernelmap {
namespace {

// Where in the list of entries an interval stands.
using Places = std::map<std::pair<int, int>, size_t>;

void Add(const Mapping& mapping, const std::string& device, bool from_config, Places* places,
         std::vector<DeviceChoice>* entries) {
  for (const DeviceEntry& entry : mapping.entries) {
    if (entry.selector && entry.selector->device != device) continue;
    const DeviceChoice choice{entry.selector ? entry.selector->interval : Interval{}, &entry,
                              from_config};
    const auto [same, is_first] =
        places->emplace(std::pair(choice.interval.low, choice.interval.high), entries->size());
    if (is_first) {
      entries->push_back(choice);
    } else {
      (*entries)[same->second] = choice;  // the later replaces the earlier, modes and all
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
  Places places;
  if (!own || !own->Whole()) {
    for (const Mapping* mapping : inherited) Add(*mapping, device, false, &places, &entries);
  }
  if (own) Add(*own, device, true, &places, &entries);
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
