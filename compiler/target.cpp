// The target: flags first, then the config, then this machine, whose torch KERNELMAP_TORCH may say.
#include <cstdlib>
#include <utility>

#include "compiler/compile.h"
#include "compiler/machine.h"
#include "compiler/torch_build.h"
#include "compiler/version.h"

#if !defined(KM_TORCH_VERSION) || !defined(KM_TORCH_BUILD)
#error "KM_TORCH_VERSION and KM_TORCH_BUILD (cpu, cuda, rocm) say which torch this is built with"
#endif

namespace kernelmap {
namespace {

// A flag's text as a source of its own, so that mistakes in it are shown like any other.
class Flag {
 public:
  Flag(std::string_view name, const std::string& text, std::vector<Diagnostic>* diagnostics)
      : source_(std::make_shared<Source>(std::string(name), text)),
        diagnostics_(source_),
        out_(diagnostics) {}
  ~Flag() { out_->insert(out_->end(), diagnostics_.list().begin(), diagnostics_.list().end()); }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

  SubText text() const { return SubText::OfSource(*source_); }
  Diagnostics* diagnostics() { return &diagnostics_; }
  bool failed() const { return diagnostics_.errors() > 0; }

 private:
  std::shared_ptr<const Source> source_;
  Diagnostics diagnostics_;
  std::vector<Diagnostic>* out_;
};

// This machine's device is one that the torch which kernelmap is built with can use.
std::string MachineDevice(std::optional<Capability>* capability) {
  const std::string torch = KM_TORCH_BUILD;
  if (torch == "cpu") return torch;
  *capability = MachineCapability(torch);
  return *capability ? torch : "cpu";
}

bool ReadDevice(const TargetFlags& flags, const Config* config, Target* target,
                std::vector<Diagnostic>* out) {
  const bool automatic = flags.device && *flags.device == "auto";
  if (automatic || (!flags.device && !(config && config->target.device.value))) {
    target->device = MachineDevice(&target->capability);
    return true;
  }
  if (flags.device) {
    Flag flag("--device", *flags.device, out);
    const std::optional<std::string> device = ParseDevice(flag.text(), flag.diagnostics());
    if (device) target->device = *device;
    return device.has_value();
  }
  target->device = *config->target.device.value;
  return true;
}

bool ReadMode(const TargetFlags& flags, const Config* config, Target* target,
              std::vector<Diagnostic>* out) {
  if (!flags.mode) {
    if (config && config->target.mode.value) target->mode = *config->target.mode.value;
    return true;
  }
  Flag flag("--mode", *flags.mode, out);
  const std::optional<Mode> mode = ParseMode(flag.text(), flag.diagnostics());
  if (mode && !mode->inference && !mode->training) {
    flag.diagnostics()->Report<Diag::TargetMode>(flag.text().whole, mode->Text());
  }
  if (flag.failed()) return false;
  target->mode = mode->Text();
  return true;
}

bool ReadCapability(const TargetFlags& flags, const Config* config, Target* target,
                    std::vector<Diagnostic>* out) {
  if (flags.capability) {
    Flag flag("--capability", *flags.capability, out);
    if (!HasCapability(target->device)) {
      flag.diagnostics()->Report<Diag::NoCapabilities>(flag.text().whole, target->device);
      return false;
    }
    if (*flags.capability == "auto") {
      target->capability = MachineCapability(target->device);
      if (!target->capability) {
        flag.diagnostics()->Report<Diag::NoDeviceHere>(flag.text().whole, target->device);
      }
      return target->capability.has_value();
    }
    target->capability = ParseCapability(flag.text(), target->device, flag.diagnostics());
    return target->capability.has_value();
  }
  // The config's is for the config's device.
  if (config && config->target.capability.value && HasCapability(target->device) &&
      config->target.device.value.value_or(target->device) == target->device) {
    target->capability = config->target.capability.value;
  }
  return true;
}

// torch's version, and what its build part says: "2.13.0+rocm6.4" is a ROCm build, whose device
// torch itself calls cuda.
bool ReadTorch(const TargetFlags& flags, const Config* config, Target* target,
               std::vector<Diagnostic>* out) {
  const char* here = std::getenv("KERNELMAP_TORCH");
  std::string text = here && *here ? here : KM_TORCH_VERSION;
  if (config && config->target.torch.value) text = *config->target.torch.value;
  if (flags.torch) text = *flags.torch;
  const std::optional<TorchVersion> version = ParseTorchVersion(text);
  if (!version) {
    Flag flag(flags.torch ? "--torch" : "KERNELMAP_TORCH", text, out);
    flag.diagnostics()->Report<Diag::BadTargetVersion>(flag.text().whole, text, "torch");
    return false;
  }
  target->torch = version->release;
  if (version->build.starts_with("rocm") && target->device == "cuda") target->device = "rocm";
  if (version->build.starts_with("cu") && version->build.size() >= 5) {
    const std::string digits = version->build.substr(2);
    const std::string cuda = digits.substr(0, digits.size() - 1) + "." + digits.back();
    if (IsTwoNumbers(cuda) && target->device == "cuda") target->cuda = cuda;
  }
  return true;
}

bool ReadBackend(std::string_view device, std::string_view name,
                 const std::optional<std::string>& flag_text,
                 const Setting<std::optional<std::string>>* setting, Target* target,
                 std::vector<Diagnostic>* out) {
  if (flag_text) {
    Flag flag(name, *flag_text, out);
    if (target->device != device) {
      flag.diagnostics()->Report<Diag::OtherDevice>(flag.text().whole, device, target->device);
    } else if (!IsTwoNumbers(*flag_text)) {
      flag.diagnostics()->Report<Diag::BadTargetVersion>(flag.text().whole, *flag_text, device);
    }
    if (flag.failed()) return false;
  }
  if (target->device != device) return true;
  if (setting && setting->value) target->cuda = *setting->value;
  if (flag_text) target->cuda = flag_text;
  return true;
}

}  // namespace

std::string_view BuiltTorchVersion() { return KM_TORCH_VERSION; }
std::string_view BuiltTorchDevice() { return KM_TORCH_BUILD; }

std::optional<Target> ResolveTarget(const TargetFlags& flags, const Config* config,
                                    std::vector<Diagnostic>* diagnostics) {
  Target target;
  const TargetSettings* settings = config ? &config->target : nullptr;
  bool fine = ReadDevice(flags, config, &target, diagnostics);
  fine = ReadTorch(flags, config, &target, diagnostics) && fine;
  fine = ReadMode(flags, config, &target, diagnostics) && fine;
  // What depends on the device is not worth reading for a wrong one.
  fine = fine && ReadCapability(flags, config, &target, diagnostics);
  fine = fine && ReadBackend("cuda", "--cuda", flags.cuda, settings ? &settings->cuda : nullptr,
                             &target, diagnostics);
  fine = fine && ReadBackend("rocm", "--rocm", flags.rocm, settings ? &settings->rocm : nullptr,
                             &target, diagnostics);
  fine = fine && ReadBackend("xpu", "--xpu", flags.xpu, settings ? &settings->xpu : nullptr,
                             &target, diagnostics);
  if (!fine) return std::nullopt;
  return target;
}

}  // namespace kernelmap
