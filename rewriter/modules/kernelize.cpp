#include "rewriter/modules/kernelize.h"

#include <torch/csrc/jit/frontend/error_report.h>

#include <mutex>
#include <set>

#include "rewriter/archive/embedded_plan.h"
#include "rewriter/modules/kernels.h"
#include "rewriter/rewrite.h"
#include "rewriter/torchscript/clone.h"
#include "rewriter/used_kernels.h"

namespace kernelmap {
namespace {

using Object = c10::ivalue::Object;

// Modules that were rewritten, as long as they live, and the plans they were rewritten by.
struct Known {
  c10::weak_intrusive_ptr<Object> module;
  std::string plan;
};

// Guards the list, and the compilation units that new classes go into.
std::mutex working;

std::vector<Known>& KnownModules() {
  static auto* known = new std::vector<Known>;
  std::erase_if(*known, [](const Known& k) { return k.module.expired(); });
  return *known;
}

const Known* Find(const torch::jit::Module& module) {
  for (const Known& known : KnownModules()) {
    if (known.module.lock().get() == module._ivalue().get()) return &known;
  }
  return nullptr;
}

Report MakeReport(const Plan& plan, const KernelizeOptions& options, std::vector<Site> sites) {
  Report report;
  report.target = plan.target;
  report.model_file = options.name;
  report.sites = std::move(sites);
  return report;
}

}  // namespace

std::vector<std::string> Kernelized::made_parameters() const {
  std::set<const c10::TensorImpl*> stock;
  for (const at::Tensor& parameter : stock_.parameters())
    stock.insert(parameter.unsafeGetTensorImpl());
  std::vector<std::string> made;
  for (const auto& parameter : rewritten_.named_parameters()) {
    if (!stock.contains(parameter.value.unsafeGetTensorImpl())) made.push_back(parameter.name);
  }
  return made;
}

void Kernelized::undo(torch::jit::Module& module) const {
  const bool known =
      module._ivalue() == rewritten_._ivalue() || module._ivalue() == stock_._ivalue();
  TORCH_CHECK(known, "kernelmap: undo of another module than the one that was rewritten");
  module = stock_;
}

Kernelized kernelize(torch::jit::Module& module, const Plan& plan,
                     const KernelizeOptions& options) {
  const std::lock_guard<std::mutex> lock(working);
  const std::string json = PlanToJson(plan);
  const SiteOptions sites;
  Kernelized result;
  result.stock_ = result.rewritten_ = module;
  try {
    if (const Known* known = Find(module)) {
      TORCH_CHECK(SamePlan(known->plan, json),
                  "already rewritten by another plan; undo that first");
      torch::jit::Module same = module;
      SiteDecisions decisions = RewriteModule(same, plan, sites, /*decide_only=*/true);
      result.report_ = MakeReport(plan, options, std::move(decisions.sites));
      result.already_applied_ = true;
      return result;
    }
    torch::jit::Module rewritten = torchscript::CloneModule(module);
    SiteDecisions decisions = RewriteModule(rewritten, plan, sites);
    const EmbeddedKernels used = UsedKernels(plan, decisions);
    result.report_ = MakeReport(plan, options, std::move(decisions.sites));
    RefuseFallbacks(plan, result.report_);
    result.warnings_ = LoadKernels(used, options.kernels.value_or(TrustOf(plan)));
    result.rewritten_ = rewritten;
    KnownModules().push_back({c10::weak_intrusive_ptr<Object>(rewritten._ivalue()), json});
  } catch (const c10::Error& error) {
    TORCH_CHECK(false, "cannot kernelize `", options.name, "`: ", error.what_without_backtrace());
  } catch (const torch::jit::ErrorReport& error) {
    TORCH_CHECK(false, "cannot kernelize `", options.name, "`: ", error.what());
  }
  module = result.rewritten_;
  return result;
}

}  // namespace kernelmap
