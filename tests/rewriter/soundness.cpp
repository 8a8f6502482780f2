// The matcher's own test program.
//
//   soundness self MODEL OUT        puts the reference's own code at every proved site
//   soundness count MODEL           the sites, one a line
//
// "Self mode" needs no kernel: whatever it changes, the result must be bit-identical.
#include <cstdio>
#include <fstream>
#include <string>

#include "compiler/catalogue.h"
#include "rewriter/apply.h"

namespace kernelmap {
namespace {

// Every layer of the catalogue, whatever the default mapping holds.
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

int Self(const std::string& model, const std::string& out) {
  ApplyOptions options;
  options.sites.self_mode = true;
  const ApplyResult result = Apply(PlanForAll(), model, options, out.empty());
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

}  // namespace
}  // namespace kernelmap

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "self" && argc == 4) return kernelmap::Self(argv[2], argv[3]);
  if (mode == "count" && argc == 3) return kernelmap::Self(argv[2], "");
  std::fprintf(stderr, "usage: soundness self MODEL OUT | count MODEL\n");
  return 2;
}
