// Prints a report with every action and every optional field in it.
#include <cstdio>

#include "compiler/report.h"

int main() {
  using namespace kernelmap;
  Report report;
  report.target.device = "cuda";
  report.target.capability = Capability{9, 0};
  report.target.torch = "2.13";
  report.target.cuda = "13.0";
  report.model_file = "model.pt";
  report.model_sha256 = std::string(64, 'a');
  KernelUse kernel;
  kernel.ref = "org/repo@v1:RMSNorm";
  kernel.name = "RMSNorm";
  kernel.repo = "org/repo";
  kernel.revision = std::string(40, '0');
  kernel.variant = "torch213-cxx11-cu130-x86_64-linux";
  kernel.digest = "sha256:" + std::string(64, 'b');
  kernel.trust = "trusted_publishers";
  for (const Action action : {Action::kReplaced, Action::kFused, Action::kAlready,
                              Action::kExcluded, Action::kDisabled, Action::kFallback}) {
    Site site;
    site.path = "layers.0.norm";
    site.class_name = "LlamaRMSNorm";
    site.name = "RMSNorm";
    site.action = action;
    site.also = {"Norm"};
    if (action == Action::kReplaced) {
      site.kernel = kernel;
      site.proof = "semantic";
      site.reference = "llama";
      site.source = Position{"kernelmap.toml", 3, 11};
      site.model_source = "modeling_llama.py:63";
    } else if (action == Action::kFused) {
      site.index = 0;
      site.members = {"layers.0.norm", "layers.0.mlp"};
    } else {
      site.reason = Reason{"different_code", "the code computes something else", "mul, not add"};
    }
    report.sites.push_back(site);
  }
  std::fputs(ReportToJson(report).c_str(), stdout);
  return 0;
}
