#include "rewriter/verify_sites.h"

#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "rewriter/verify_compare.h"
#include "rewriter/verify_probe.h"

namespace kernelmap::verify {
namespace {

using Outputs = std::vector<std::deque<Tensors>>;  // of each site, call by call

// Copies: the model may change in place what a module gave.
Tensors Copies(const Tensors& tensors) {
  Tensors copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

// What the modules at `paths` give in one run.
Outputs Watch(const Source& archive, const Inputs& inputs, const std::vector<std::string>& paths) {
  Outputs outputs(paths.size());
  torch::jit::Module model = Load(archive);
  InsertProbes(model, paths);
  const ProbeScope scope(model, paths, [&](size_t i, const c10::IValue& output) {
    outputs[i].push_back(Copies(FlattenTensors(output)));
  });
  Run(archive, model, inputs);
  return outputs;
}

// A second run of it, compared call by call; what was compared is let go.
template <typename Each>
void WatchAgain(const Source& archive, const Inputs& inputs, const std::vector<std::string>& paths,
                Outputs expected, const Each& each) {
  torch::jit::Module model = Load(archive);
  InsertProbes(model, paths);
  const ProbeScope scope(model, paths, [&](size_t i, const c10::IValue& output) {
    if (expected[i].empty()) return;
    each(i, FlattenTensors(output), expected[i].front());
    expected[i].pop_front();
  });
  Run(archive, model, inputs);
}

}  // namespace

std::vector<SiteDifference> ReadSites(const std::string& report) {
  std::vector<SiteDifference> sites;
  const auto json = nlohmann::json::parse(report, nullptr, false);
  if (!json.is_object() || !json.contains("sites") || !json["sites"].is_array()) return sites;
  for (const auto& site : json["sites"]) {
    if (!site.is_object()) continue;
    const auto text = [&](const char* key) {
      const auto it = site.find(key);
      return it != site.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    if (text("action") != "replaced" && text("action") != "fused") continue;
    sites.push_back({text("path"), text("name"), std::nullopt});
  }
  return sites;
}

void CompareSites(const Source& stock, const Source& out, const Inputs& inputs,
                  std::vector<SiteDifference>* sites) {
  if (sites->empty()) return;
  std::vector<std::string> paths;
  for (const SiteDifference& site : *sites) paths.push_back(site.path);
  Outputs first_run(paths.size());
  WatchAgain(out, inputs, paths, Watch(stock, inputs, paths),
             [&](size_t i, const Tensors& found, const Tensors& expected) {
               first_run[i].push_back(Copies(found));
               auto& difference = (*sites)[i].output;
               if (!difference) difference = Difference{};
               AddDifference(found, expected, &*difference);
             });
  WatchAgain(out, inputs, paths, std::move(first_run),
             [&](size_t i, const Tensors& found, const Tensors& expected) {
               Difference difference;
               AddDifference(found, expected, &difference);
               (*sites)[i].deterministic =
                   (*sites)[i].deterministic.value_or(true) && difference.bit_exact;
             });
}

std::optional<size_t> WorstSite(const std::vector<SiteDifference>& sites) {
  std::optional<size_t> worst;
  for (size_t i = 0; i < sites.size(); ++i) {
    const std::optional<Difference>& output = sites[i].output;
    if (!output || output->bit_exact) continue;
    if (!worst || output->max_rel > sites[*worst].output->max_rel) worst = i;
  }
  return worst;
}

}  // namespace kernelmap::verify
