// The matcher's own test program. "Self mode" puts the reference's own code at every proved site,
// so whatever it changes, the results must be bit-identical: no kernel's tolerance hides a mistake.
//
//   soundness count MODEL                          the sites, one a line
//   soundness self MODEL OUT [--fusions] [LAYER.toml…]
//       rewrites in self mode, with --fusions also those of plan_for_fusions.h; with layer files,
//       by their references in place of the catalogue's
//   soundness mutants [--seed N] [--count N] [--fusions] [--sabotage] [-v] MODEL…
//       changes the models by one operation at random and compares each rewritten mutant with the
//       mutant, bit for bit; exit 1 when one is wrong. --sabotage turns the check off: then wrong
//       ones must get through, and exit 1 says that none did.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/catalogue.h"
#include "rewriter/apply.h"
#include "tests/rewriter/mutants.h"
#include "tests/rewriter/plan_for_all.h"
#include "tests/rewriter/plan_for_fusions.h"

namespace kernelmap {

Plan PlanForAll() {
  Plan plan;
  for (const Layer& layer : BuiltinCatalogue().layers) {
    PlanEntry entry;
    entry.name = layer.name;
    entry.decision = Decision::kKernel;
    plan.entries.push_back(entry);
  }
  return plan;
}

namespace {

std::string ReadText(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

int Self(const std::string& model, const std::string& out, std::vector<std::string> layers) {
  ApplyOptions options;
  Plan plan = PlanForAll();
  if (std::erase(layers, "--fusions") > 0) AddFusions(plan);
  Catalogue rephrased;
  for (const std::string& path : layers) {
    rephrased.layers.push_back(ReadLayerFile(path, ReadText(path)));
  }
  // What cannot be phrased otherwise, or is not, stays as it is.
  for (const Layer& layer : BuiltinCatalogue().layers) {
    const auto same = std::find_if(rephrased.layers.begin(), rephrased.layers.end(),
                                   [&](const Layer& l) { return l.name == layer.name; });
    if (same == rephrased.layers.end()) {
      rephrased.layers.push_back(layer);
      continue;
    }
    for (const Reference& reference : layer.references) {
      const bool has = std::any_of(same->references.begin(), same->references.end(),
                                   [&](const Reference& r) { return r.name == reference.name; });
      if (!has) same->references.push_back(reference);
    }
  }
  if (!layers.empty()) options.catalogue = &rephrased;
  options.sites.self_mode = true;
  const ApplyResult result = Apply(plan, model, options, out.empty());
  if (result.error) {
    std::fprintf(stderr, "%s: %s\n", result.error->file.c_str(), result.error->message.c_str());
    return 1;
  }
  for (const Site& site : result.applied->report.sites) {
    std::printf("%s\t%s\t%s\t%s\t%s\t%s\n", std::string(ActionName(site.action)).c_str(),
                site.name.c_str(), site.reference.c_str(), site.path.c_str(),
                site.model_source.c_str(),
                site.reason ? (site.reason->code + ": " + site.reason->difference).c_str() : "");
  }
  if (!out.empty()) std::ofstream(out, std::ios::binary) << result.applied->archive;
  return 0;
}

int Mutants(int argc, char** argv) {
  MutantRun run;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seed" && i + 1 < argc) {
      run.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--count" && i + 1 < argc) {
      run.count = std::atoi(argv[++i]);
    } else if (word == "--fusions") {
      run.fusions = true;
    } else if (word == "--sabotage") {
      run.check = false;
    } else if (word == "-v") {
      run.verbose = true;
    } else {
      run.models.push_back(word);
    }
  }
  if (run.models.empty()) return 2;
  const MutantResult r = RunMutants(run);
  std::printf(
      "seed %llu: %d mutants, %d change the output, %d raise, %d sites accepted, %d mutants with "
      "an "
      "accepted site in the changed module, %d wrong\n",
      static_cast<unsigned long long>(run.seed), r.ran, r.changed, r.raised, r.sites, r.touched,
      r.wrong);
  return run.check == (r.wrong == 0) ? 0 : 1;
}

}  // namespace
}  // namespace kernelmap

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "self" && argc >= 4) {
    return kernelmap::Self(argv[2], argv[3], {argv + 4, argv + argc});
  }
  if (mode == "count" && argc == 3) return kernelmap::Self(argv[2], "", {});
  if (mode == "mutants") return kernelmap::Mutants(argc, argv);
  std::fprintf(stderr, "usage: soundness count|self|mutants …, as the head of its source says\n");
  return 2;
}
