#include "rewriter/modules/kernelize_tree.h"

#include <c10/util/Type.h>
#include <torch/csrc/jit/frontend/error_report.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>

#include <map>
#include <optional>

#include "compiler/contains.h"
#include "compiler/fusion_sites.h"
#include "rewriter/expr/dtype.h"
#include "rewriter/kernel_fit.h"
#include "rewriter/modules/kernel_program.h"
#include "rewriter/modules/kernels.h"
#include "rewriter/modules/layer.h"
#include "rewriter/used_kernels.h"

namespace kernelmap {
namespace {

// What stands in a Sequential where an activation of libtorch stood.
struct KernelActivation : torch::nn::Module, KernelLayer {
  KernelActivation(const std::string& layer, const std::string& form)
      : torch::nn::Module("KernelActivation"), KernelLayer(layer, form) {}
  at::Tensor forward(const at::Tensor& x) { return kernel(x); }
};

struct Form {
  std::string layer, form;
};

// The layers of libtorch that the catalogue knows.
std::optional<Form> FormOf(const torch::nn::Module& module) {
  if (const auto* gelu = dynamic_cast<const torch::nn::GELUImpl*>(&module)) {
    return gelu->options.approximate() == "tanh" ? Form{"GeluTanh", "tanh"} : Form{"GeLU", "exact"};
  }
  if (dynamic_cast<const torch::nn::SiLUImpl*>(&module)) return Form{"SiLU", "silu"};
  const auto* relu = dynamic_cast<const torch::nn::ReLUImpl*>(&module);
  if (relu && !relu->options.inplace()) return Form{"ReLU", "relu"};
  return std::nullopt;
}

// "LlamaRMSNorm" for "example::LlamaRMSNormImpl".
std::string ClassNameOf(const torch::nn::Module& module) {
  if (dynamic_cast<const KernelActivation*>(&module)) return "KernelActivation";
  std::string name = c10::demangle(typeid(module).name());
  if (const auto bracket = name.find('<'); bracket != std::string::npos) name.resize(bracket);
  if (const auto colon = name.rfind(':'); colon != std::string::npos) name.erase(0, colon + 1);
  constexpr std::string_view kImpl = "Impl";
  if (name.size() > kImpl.size() && name.ends_with(kImpl)) name.resize(name.size() - kImpl.size());
  return name;
}

// A change that was decided on and can still be left.
struct Change {
  KernelLayer* layer = nullptr;                 // gets the kernel, or
  torch::nn::SequentialImpl* parent = nullptr;  // whose child is replaced:
  std::size_t index = 0;
  std::string child, ref;
  Form form;
  const Implementation* implementation = nullptr;
};

class TreeDecider {
 public:
  explicit TreeDecider(const Plan& plan) : plan_(plan) {}

  void Run(torch::nn::Module& root) {
    Visit(root, "", nullptr, 0);
    std::map<std::string, std::vector<Site>> fusions = FusionSites(plan_, modules_);
    for (const ModuleInfo& module : modules_) {
      for (Site& site : sites_[module.path]) sites.push_back(std::move(site));
      for (Site& site : fusions[module.path]) {
        if (site.action == Action::kCandidate) Refuse(site, "no_graph");
        sites.push_back(std::move(site));
      }
      sites_.erase(module.path);
      fusions.erase(module.path);
    }
  }

  std::vector<Site> sites;
  std::vector<Change> changes;

 private:
  static void Refuse(Site& site, const std::string& code, const std::string& difference = "") {
    site.action = Action::kFallback;
    site.reason = ReasonOf(code, difference);
    site.proof.clear();
  }

  void Visit(torch::nn::Module& module, const std::string& path, torch::nn::SequentialImpl* parent,
             std::size_t index) {
    modules_.push_back({path, ClassNameOf(module)});
    Decide(module, modules_.back(), parent, index);
    // Another class that is a Sequential too may call its children in its own way.
    auto* sequential = typeid(module) == typeid(torch::nn::SequentialImpl)
                           ? dynamic_cast<torch::nn::SequentialImpl*>(&module)
                           : nullptr;
    std::size_t i = 0;
    for (const auto& child : module.named_children()) {
      Visit(*child.value(), path.empty() ? child.key() : path + "." + child.key(), sequential, i++);
    }
  }

  void Decide(torch::nn::Module& module, const ModuleInfo& info, torch::nn::SequentialImpl* parent,
              std::size_t index) {
    const std::vector<Answer> answers = AnswersFor(plan_, info.class_name);
    auto* layer = dynamic_cast<KernelLayer*>(&module);
    const std::optional<Form> form =
        layer ? Form{layer->kernel_layer(), layer->kernel_form()} : FormOf(module);
    const PlanEntry* entry = form ? plan_.Find(form->layer) : nullptr;
    const bool known = entry != nullptr;
    for (const Answer& a : answers) {
      if (!entry && (!a.hinted || a.entry->from_config)) entry = a.entry;
    }
    if (!entry) return;
    Site site;
    site.path = info.path;
    site.class_name = info.class_name;
    site.name = entry->name;
    site.kernel = entry->kernel;
    site.source = entry->source;
    for (const Answer& a : answers) {
      if (a.entry != entry && !a.hinted) site.also.push_back(a.entry->name);
    }
    if (const Implementation* code = Choose(site, *entry, form, known, module)) {
      Change change{layer, parent, index, "", entry->kernel->ref, *form, code};
      if (!layer && !parent) {
        Refuse(site, "not_replaceable");
      } else if (layer && layer->has_kernel()) {
        TORCH_CHECK(layer->kernel_ref() == change.ref, "`", site.path, "` has the kernel `",
                    layer->kernel_ref(), "` already; undo that first");
        site.action = Action::kAlready;
      } else {
        if (!layer) change.child = info.path.substr(info.path.rfind('.') + 1);
        site.action = Action::kReplaced;
        site.proof = "name";
        site.reference = form->form;
        changes.push_back(std::move(change));
      }
    }
    sites_[info.path].push_back(std::move(site));
  }

  // The code for a module; null, and the site says why, where it stays as it is.
  const Implementation* Choose(Site& site, const PlanEntry& entry, const std::optional<Form>& form,
                               bool known, const torch::nn::Module& module) {
    if (entry.decision == Decision::kDisabled || entry.decision == Decision::kFallback) {
      site.action = entry.decision == Decision::kDisabled ? Action::kDisabled : Action::kFallback;
      site.reason = entry.reason;
      return nullptr;
    }
    if (IsExcluded(entry, site.path, plan_.model_root)) {
      site.action = Action::kExcluded;
      site.reason = ReasonOf("excluded");
      return nullptr;
    }
    if (!form) return Refuse(site, "no_opt_in"), nullptr;
    const std::string text = "the form is `" + form->form + "` of " + form->layer;
    const Kernel* kernel = KernelOf(entry, BuiltinCatalogue());
    const Implementation* code =
        kernel && known ? FindImplementation(*kernel, form->layer, form->form) : nullptr;
    if (!code) return Refuse(site, "other_form", text), nullptr;
    for (const at::Tensor& parameter : module.parameters()) {
      const std::string dtype = expr::DTypeName(static_cast<expr::DType>(parameter.scalar_type()));
      if (!kernel->dtypes.empty() && !Contains(kernel->dtypes, dtype)) {
        return Refuse(site, "dtype", "a parameter is " + dtype), nullptr;
      }
    }
    return code;
  }

  const Plan& plan_;
  std::vector<ModuleInfo> modules_;
  std::map<std::string, std::vector<Site>> sites_;
};

std::shared_ptr<const KernelProgram> ProgramOf(const Change& change) {
  return KernelProgram::Compile(change.ref, change.implementation->source);
}

// Puts `made` where the parent has a child; what was there.
std::function<void()> Replace(const Change& change, const std::shared_ptr<KernelActivation>& made) {
  torch::nn::SequentialImpl* parent = change.parent;
  torch::nn::AnyModule& place = *(parent->begin() + static_cast<std::ptrdiff_t>(change.index));
  const torch::nn::AnyModule stock = place;
  const std::shared_ptr<torch::nn::Module> stock_child = stock.ptr();
  made->train(stock_child->is_training());
  parent->replace_module(change.child, made);
  place = torch::nn::AnyModule(made);
  return [parent, stock, stock_child, index = change.index, child = change.child] {
    parent->replace_module(child, stock_child);
    *(parent->begin() + static_cast<std::ptrdiff_t>(index)) = stock;
  };
}

}  // namespace

void KernelizedTree::undo() {
  for (auto it = back_.rbegin(); it != back_.rend(); ++it) (*it)();
  back_.clear();
}

KernelizedTree kernelize(torch::nn::Module& root, const Plan& plan,
                         const KernelizeOptions& options) {
  KernelizedTree result;
  try {
    TreeDecider decider(plan);
    decider.Run(root);
    result.report_.target = plan.target;
    result.report_.model_file = options.name;
    result.report_.sites = std::move(decider.sites);
    RefuseFallbacks(plan, result.report_);
    SiteDecisions decisions;
    for (const Change& change : decider.changes) {
      decisions.edits.push_back(
          {{}, change.implementation, nullptr, change.form.layer, change.form.form});
    }
    result.warnings_ =
        LoadKernels(UsedKernels(plan, decisions), options.kernels.value_or(TrustOf(plan)));
    std::vector<std::shared_ptr<const KernelProgram>> programs;
    std::map<const Implementation*, std::shared_ptr<const KernelProgram>> known;
    for (const Change& change : decider.changes) {
      auto& program = known[change.implementation];
      if (!program) program = ProgramOf(change);
      programs.push_back(program);
    }
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const Change& change = decider.changes[i];
      if (change.layer) {
        change.layer->set_kernel(programs[i]);
        result.back_.push_back([layer = change.layer] { layer->set_kernel(nullptr); });
        continue;
      }
      const auto made = std::make_shared<KernelActivation>(change.form.layer, change.form.form);
      made->set_kernel(programs[i]);
      result.back_.push_back(Replace(change, made));
    }
  } catch (const c10::Error& error) {
    result.undo();
    TORCH_CHECK(false, "cannot kernelize `", options.name, "`: ", error.what_without_backtrace());
  } catch (const torch::jit::ErrorReport& error) {
    result.undo();
    TORCH_CHECK(false, "cannot kernelize `", options.name, "`: ", error.what());
  }
  return result;
}

}  // namespace kernelmap
