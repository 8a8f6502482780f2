#include "compiler/store/variant.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "compiler/store/variant_name.h"

namespace kernelmap {
namespace {

using Framework = VariantName::Framework;

// Metal kernels are built for this version of macOS or later.
const Version& LeastMacos() {
  static const Version version = *Version::Parse("26.0");
  return version;
}

// Absent values as Python shows them, whose words we keep.
std::string Show(const std::optional<Version>& version) {
  return version ? version->Text() : "None";
}
std::string Show(const std::optional<bool>& value) {
  return value ? (*value ? "True" : "False") : "None";
}

// A system with its versions read.
struct Read {
  const System& system;
  VariantBackend backend;
  std::optional<Version> torch, tvm_ffi, macos;
};

std::optional<Version> ReadVersion(const std::optional<std::string>& text) {
  return text ? Version::Parse(*text) : std::nullopt;
}

std::string WrongFramework(const VariantName& name, const Read& on) {
  const std::string version = name.version.Text();
  switch (name.framework) {
    case Framework::kTorch:
      if (!on.torch || name.version != *on.torch) {
        return "Torch version (" + version + ") does not match environment Torch version (" +
               Show(on.torch) + ")";
      }
      if (name.cxx11_abi && name.cxx11_abi != on.system.cxx11_abi) {
        return "Torch CXX11 ABI (" + Show(name.cxx11_abi) +
               ") does not match environment Torch CXX11 ABI (" + Show(on.system.cxx11_abi) + ")";
      }
      return "";
    case Framework::kTorchStableAbi:
      if (on.torch && name.version <= *on.torch) return "";
      return "Torch stable ABI version (" + version +
             ") is too new for environment Torch version (" + Show(on.torch) + ")";
    case Framework::kTvmFfi:
      if (on.tvm_ffi && name.version == *on.tvm_ffi) return "";
      return "tvm-ffi version (" + version + ") does not match environment tvm-ffi version (" +
             Show(on.tvm_ffi) + ")";
    case Framework::kTorchNoarch:
      break;
  }
  return "";
}

// CUDA takes an older minor of the same major, anything else only its own version.
std::string WrongBackend(const VariantName& name, const Read& on) {
  const VariantBackend &wanted = name.backend, &have = on.backend;
  if (wanted.name == have.name && wanted.version && !have.version) {
    return "backend (" + wanted.Text() + ") needs a version of " + have.name +
           ", and the target names none";
  }
  if (wanted.name == "cuda" && have.name == "cuda") {
    if (MajorOf(*wanted.version) == MajorOf(*have.version) &&
        MinorOf(*wanted.version) <= MinorOf(*have.version)) {
      return "";
    }
    return "CUDA version (" + Show(wanted.version) +
           ") is not compatible with system CUDA version (" + Show(have.version) + ")";
  }
  if (wanted.Text() != have.Text()) {
    return "backend (" + wanted.Text() + ") does not match selected backend (" + have.Text() + ")";
  }
  if (wanted.name == "metal" && (!on.macos || *on.macos < LeastMacos())) {
    return "Metal kernels require macOS " + LeastMacos().Text() +
           " or later, system macOS version is " + Show(on.macos);
  }
  return "";
}

// Why a variant does not suit; empty when it does.
std::string Misfit(const VariantName& name, const Read& on) {
  if (name.framework == Framework::kTorchNoarch) {
    const std::string have = on.backend.name == "cann" ? "npu" : on.backend.name;
    if (name.noarch == have || name.noarch == "universal") return "";
    return "backend (" + name.noarch + ") does not match system backend (" + have +
           ") and is not universal";
  }
  if (name.arch != on.system.arch) {
    return "CPU (" + name.arch + ") does not match system CPU (" + on.system.arch + ")";
  }
  if (name.os != on.system.os) {
    return "OS (" + name.os + ") does not match system OS (" + on.system.os + ")";
  }
  const std::string wrong = WrongFramework(name, on);
  return wrong.empty() ? WrongBackend(name, on) : wrong;
}

int64_t ToInteger(const Digits& digits) {
  int64_t value = INT64_MAX;
  std::from_chars(digits.text.data(), digits.text.data() + digits.text.size(), value);
  return value;
}

// Lower is better. tvm-ffi and the variants without an architecture share a rank, as in Python.
std::array<int64_t, 4> Rank(const VariantName& name) {
  const int64_t newest = name.backend.version ? -ToInteger(MinorOf(*name.backend.version)) : 0;
  switch (name.framework) {
    case Framework::kTorchStableAbi:
      return {0, -ToInteger(MajorOf(name.version)), -ToInteger(MinorOf(name.version)), newest};
    case Framework::kTorch:
      return {1, 0, name.cxx11_abi ? 1 : 0, newest};
    case Framework::kTvmFfi:
      return {2, 0, 0, newest};
    case Framework::kTorchNoarch:
      break;
  }
  return {2, 0, 0, name.noarch == "universal" ? 1 : 0};
}

}  // namespace

VariantChoice ChooseVariant(const std::vector<std::string>& names, const System& system) {
  const Read on{system, ReadBackend(system.backend), ReadVersion(system.torch),
                ReadVersion(system.tvm_ffi), ReadVersion(system.macos)};
  VariantChoice choice;
  std::vector<std::pair<std::array<int64_t, 4>, std::string>> accepted;
  for (const std::string& directory : names) {
    const std::optional<VariantName> name = VariantName::Parse(directory);
    if (!name) {
      choice.unparsable.push_back(directory);
      continue;
    }
    const std::string text = name->Text();
    if (text != directory) choice.renamed[directory] = text;
    if (system.free_threaded && name->framework != Framework::kTorchNoarch) continue;
    if (std::string why = Misfit(*name, on); !why.empty()) {
      choice.rejected[text] = std::move(why);
    } else {
      accepted.emplace_back(Rank(*name), text);
    }
  }
  std::sort(accepted.begin(), accepted.end());
  for (const auto& [rank, name] : accepted) {
    choice.accepted.push_back(name);
    if (rank == accepted.front().first && name != accepted.front().second) {
      choice.tied.push_back(name);
    }
  }
  if (!accepted.empty()) choice.chosen = accepted.front().second;
  return choice;
}

std::string BackendOf(const TorchBuild& build) {
  const auto with_version = [](const std::string& name, std::string_view version) {
    const std::optional<Version> parsed = Version::Parse(version);
    return name + (parsed ? " " + MajorOf(*parsed).text + "." + MinorOf(*parsed).text : "");
  };
  if (build.tpu) return "tpu";
  if (build.neuron) return "neuron";
  if (build.cuda) return with_version("cuda", *build.cuda);
  if (build.hip) {
    return with_version("rocm", std::string_view(*build.hip).substr(0, build.hip->find('-')));
  }
  if (build.mps) return "metal";
  if (build.xpu) {
    // "20250201" and "2025.2" are both 2025.2.
    const std::string& xpu = *build.xpu;
    return with_version("xpu", xpu.substr(0, 4) + "." + (xpu.size() > 5 ? xpu.substr(5, 1) : ""));
  }
  return "cpu";
}

std::string BackendTag(std::string_view backend) { return ReadBackend(backend).Text(); }

std::string SystemText(const System& system) {
  return "torch " + system.torch.value_or("none") + ", " + system.backend + ", " + system.arch +
         "-" + system.os;
}

System SystemOf(const Target& target) {
  System system;
  if (!target.torch.empty()) system.torch = target.torch;
  utsname machine{};
  if (uname(&machine) == 0) {
    system.arch = machine.machine;
    system.os = machine.sysname;
    for (char& c : system.os) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
  }
  if (target.device == "mps") system.os = "darwin";  // wherever the plan is made
  if (system.os == "darwin" && (system.arch == "arm64" || target.device == "mps")) {
    system.arch = "aarch64";
  }
  if (system.os == "linux") system.cxx11_abi = true;
  system.backend = target.device;
  if (target.device == "mps") system.backend = "metal";
  if (target.device == "npu") system.backend = "cann";
  if (target.cuda) system.backend += " " + *target.cuda;
  return system;
}

}  // namespace kernelmap
