#include "rewriter/modules/kernels.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/frontend/error_report.h>
#include <torch/library.h>

#include <algorithm>
#include <filesystem>

#include "compiler/compile.h"
#include "compiler/contains.h"
#include "compiler/sha256.h"
#include "compiler/source.h"
#include "compiler/store/embedded_kernels.h"
#include "compiler/store/repository.h"
#include "rewriter/modules/adapters.h"
#include "rewriter/modules/hub_library.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxKernelsFile = 16 << 20;

// What a kernel could not be had for; `fix` is what to do about it.
struct Missing {
  std::string why, fix;
};

// What a library or a repository says, as a message may have it: UTF-8 without control characters.
// (Printable of compiler/display.h would link utf8proc to every program that loads models.)
std::string Escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    for (const char c : text.substr(0, valid)) {
      const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
      out += control ? "\\x" + ToHex({&c, 1}) : std::string(1, c);
    }
    if (valid == text.size()) break;
    out += "\\x" + ToHex(text.substr(valid, 1));
    text.remove_prefix(valid + 1);
  }
  return out;
}

// The text of adapters.json; "" where the archive has none, or is none.
std::string ReadKernelsFile(const std::string& path) {
  std::optional<std::string> text;
  try {
    caffe2::serialize::PyTorchStreamReader reader(path);
    const std::string name = std::string("extra/") + kAdaptersFile;
    if (!reader.hasRecord(name)) return "";
    if (reader.getRecordSize(name) <= kMaxKernelsFile) {
      const auto [data, size] = reader.getRecord(name);
      text = std::string(static_cast<const char*>(data.get()), size);
    }
  } catch (const c10::Error&) {
    return "";  // torch::jit::load says it better
  }
  TORCH_CHECK(text, kAdaptersFile, " is too large");
  return *text;
}

void Declare(const EmbeddedKernels& kernels) {
  for (const EmbeddedKernel& kernel : kernels.kernels) {
    for (const Adapter& adapter : kernel.adapters) {
      try {
        DeclareAdapter(adapter);
      } catch (const torch::jit::ErrorReport& error) {
        TORCH_CHECK(false, kAdaptersFile, ": the schema of ", adapter.op, ": ",
                    torchscript::CompilerMessage(error));
      }
    }
  }
}

EmbeddedKernels DeclareOf(const std::string& path) {
  const std::string json = ReadKernelsFile(path);
  if (json.empty()) return {};
  std::string problem;
  const std::optional<EmbeddedKernels> kernels = ReadKernels(json, &problem);
  TORCH_CHECK(kernels, kAdaptersFile, ": ", problem);
  Declare(*kernels);
  return *kernels;
}

Environment ReadEnvironmentOrThrow() {
  std::vector<Diagnostic> diagnostics;
  std::string error;
  const std::optional<Environment> environment = ReadEnvironment(&diagnostics, &error);
  TORCH_CHECK(environment, "the policy of this machine: ",
              error.empty() ? DiagnosticsToText(diagnostics, false) : error);
  return *environment;
}

// This process as a target.
System ThisSystem(const std::string& device) {
  Target target;
  target.device = device;
  target.torch = KM_TORCH_VERSION;
  if (device == "cuda" && at::detail::getCUDAHooks().hasCUDART()) {
    const long version = at::detail::getCUDAHooks().versionCUDART();  // 13000
    target.cuda = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }
  return SystemOf(target);
}

class Loader {
 public:
  Loader(const LoadOptions& options, std::string device)
      : options_(options), device_(std::move(device)), environment_(ReadEnvironmentOrThrow()) {}

  void Load(const EmbeddedKernel& kernel) {
    const bool bound =
        std::all_of(kernel.adapters.begin(), kernel.adapters.end(),
                    [](const Adapter& a) { return StateOf(a.op) == AdapterState::kKernel; });
    std::optional<Missing> missing = NotTrusted(kernel);
    if (!missing && bound && kernel.origin.repo.empty()) {
      std::optional<FoundRepository> found;  // this caller has to name its folder too
      missing = FindLocal(kernel, &found);
    }
    if (missing && bound) {
      // The op is one for the whole process: there is no stock code to go back to.
      Refuse(kernel, {missing->why + ", and is loaded in this process already", missing->fix});
    }
    if (!missing && !bound) missing = Bind(kernel);
    if (missing) UseStock(kernel, *missing);
  }

  std::vector<std::string> warnings() && { return std::move(warnings_); }

 private:
  [[noreturn]] static void Refuse(const EmbeddedKernel& kernel, const Missing& missing) {
    TORCH_CHECK(false, "kernel `", kernel.ref, "`: ", Escaped(missing.why), "; ", missing.fix);
  }

  std::optional<Missing> NotTrusted(const EmbeddedKernel& kernel) const {
    if (kernel.origin.repo.empty()) return std::nullopt;  // local: looked for where the caller says
    if (!environment_.HubEnabled()) {
      return Missing{
          "USE_HUB_KERNELS is `" + *environment_.use_hub_kernels + "`, which turns Hub kernels off",
          "unset it"};
    }
    const std::string why = Distrust(kernel.origin.repo);
    if (why.empty()) return std::nullopt;
    return Missing{why, WhoTrusts(why)};
  }

  std::string Distrust(const std::string& repo) const {
    const std::string publisher = repo.substr(0, repo.find('/'));
    if (!options_.allow_all_kernels && !Contains(options_.trusted_publishers, publisher)) {
      return "publisher `" + publisher + "` is not trusted";
    }
    const auto& policy = environment_.policy;
    if (policy && !policy->allow_all_kernels && !Contains(policy->trusted_publishers, publisher)) {
      return "publisher `" + publisher + "` is not trusted by the policy of this machine";
    }
    return "";
  }

  static std::string WhoTrusts(const std::string& why) {
    if (why.ends_with("policy of this machine")) {
      return "KERNELMAP_POLICY names the policy: whoever keeps it says what may run here";
    }
    return "if its code may run, name it: trusted_publishers, or --trusted-publisher of kernelmap";
  }

  RepositoryRequest Request(const EmbeddedKernel& kernel) const {
    RepositoryRequest request;
    request.cache = options_.cache.empty() ? environment_.kernel_cache : options_.cache;
    request.repo = kernel.origin.repo;
    request.revision = kernel.origin.commit;
    request.label = kernel.ref;
    request.fetch_hint = "";  // Fix() says how
    request.system = ThisSystem(device_);
    request.distrust = [this](const std::string& repo) { return Distrust(repo); };
    return request;
  }

  std::optional<Missing> Bind(const EmbeddedKernel& kernel) const {
    std::optional<FoundRepository> found;
    const auto missing =
        kernel.origin.repo.empty() ? FindLocal(kernel, &found) : FindOnHub(kernel, &found);
    if (missing) return missing;
    try {
      const HubLibrary library = LoadHubLibrary(*found, device_);
      for (const Adapter& adapter : kernel.adapters) {
        BindKernel(adapter,
                   torchscript::CompileKernelSource(adapter.forward, library.name, library.ops));
      }
    } catch (const c10::Error& error) {
      const std::string what = error.what_without_backtrace();
      const bool python = what.find("undefined symbol: Py") != std::string::npos ||
                          what.find("undefined symbol: _Py") != std::string::npos;
      return Missing{what, python ? "unset LD_BIND_NOW: with it the library wants Python at once"
                                  : "rewrite the model for this build"};
    } catch (const std::exception& error) {  // of the compiler
      return Missing{torchscript::CompilerMessage(error), "rewrite the model for this build"};
    }
    return std::nullopt;
  }

  static std::string Fix(const std::string& reason) {
    if (reason == "no_variant") return "it needs a build for this machine";
    const std::string fetch =
        "`kernelmap fetch CONFIG`, with a config that names it by its commit, ";
    if (reason == "not_found" || reason == "incomplete") return fetch + "downloads it";
    return fetch + "downloads anew what is damaged";
  }

  std::optional<Missing> FindOnHub(const EmbeddedKernel& kernel,
                                   std::optional<FoundRepository>* found) const {
    const RepositoryRequest request = Request(kernel);
    RepositoryAnswer answer = FindRepository(request);
    if (!answer.found) {
      const std::string text = answer.reason ? answer.reason->text : "it was not found";
      const std::string code = answer.reason ? answer.reason->code : "not_found";
      return Missing{text, code == "not_trusted" ? WhoTrusts(text) : Fix(code)};
    }
    // Another machine has another build of the commit. Where the one that the model was rewritten
    // for would do, it is that one, with the content it had.
    const bool fits = ChooseVariant({kernel.variant}, request.system).chosen.has_value();
    if (fits && answer.found->variant != kernel.variant) {
      return Missing{
          "its build `" + kernel.variant + "` is not there, but `" + answer.found->variant + "`",
          Fix("tampered")};
    }
    if (fits && answer.found->digest != kernel.origin.digest) {
      return Missing{"its content is not what it was when the model was rewritten",
                     "fetch it anew, or rewrite the model"};
    }
    *found = std::move(answer.found);
    return std::nullopt;
  }

  std::optional<Missing> FindLocal(const EmbeddedKernel& kernel,
                                   std::optional<FoundRepository>* found) const {
    std::string seen;
    for (const std::string& folder : options_.local_kernels) {
      RepositoryRequest request = Request(kernel);
      request.folder = request.label = folder;
      RepositoryAnswer answer = FindRepository(request);
      if (answer.found && answer.found->digest == kernel.origin.digest) {
        *found = std::move(answer.found);
        return std::nullopt;
      }
      seen += seen.empty() ? "" : "; ";
      seen += answer.found ? "the content of `" + folder +
                                 "` is not what it was when the model was rewritten"
                           : answer.reason->text;
    }
    const std::string how = "local_kernels, or --local-kernel of kernelmap";
    if (seen.empty()) {
      return Missing{"no folder of local kernels is given", "name the folder that has it: " + how};
    }
    return Missing{seen,
                   "name the folder with the content it had (" + how + "), or rewrite the model"};
  }

  void UseStock(const EmbeddedKernel& kernel, const Missing& missing) {
    if (options_.on_missing == LoadOptions::OnMissing::kError) Refuse(kernel, missing);
    for (const Adapter& adapter : kernel.adapters) {
      if (adapter.stock.empty()) {
        Refuse(kernel, {missing.why + ", and no stock code is known for it", missing.fix});
      }
    }
    for (const Adapter& adapter : kernel.adapters) {
      try {
        BindStock(adapter);
      } catch (const torch::jit::ErrorReport& error) {
        Refuse(kernel, {"its stock code: " + torchscript::CompilerMessage(error), missing.fix});
      }
    }
    warnings_.push_back("stock code stands for kernel `" + kernel.ref +
                        "`: " + Escaped(missing.why) + "; " + missing.fix);
  }

  const LoadOptions& options_;
  const std::string device_;
  const Environment environment_;
  std::vector<std::string> warnings_;
};

std::vector<std::string> LoadDeclared(const EmbeddedKernels& kernels, const LoadOptions& options) {
  const bool stock = options.on_missing == LoadOptions::OnMissing::kStock;
  for (const std::string& folder : options.local_kernels) {
    std::error_code error;
    TORCH_CHECK(stock || std::filesystem::is_directory(folder, error), "no folder `", folder,
                "`, which is named for local kernels");
  }
  if (kernels.kernels.empty()) return {};
  Loader loader(options, kernels.device);
  for (const EmbeddedKernel& kernel : kernels.kernels) loader.Load(kernel);
  return std::move(loader).warnings();
}

std::vector<std::string> LoadKernelsFromPython(const std::string& path,
                                               const LoadOptions& options) {
  try {
    return LoadKernels(path, options);
  } catch (const c10::Error& error) {
    TORCH_CHECK(false, "cannot load `", path, "`: ", error.what_without_backtrace());
  }
}

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def(
      "load_kernels(str path, str[] trusted_publishers, bool allow_all_kernels, "
      "str[] local_kernels, str cache, bool stock) -> str[]",
      [](std::string path, std::vector<std::string> publishers, bool allow_all_kernels,
         std::vector<std::string> local_kernels, std::string cache, bool stock) {
        LoadOptions options;
        options.trusted_publishers = std::move(publishers);
        options.allow_all_kernels = allow_all_kernels;
        options.local_kernels = std::move(local_kernels);
        options.cache = std::move(cache);
        if (stock) options.on_missing = LoadOptions::OnMissing::kStock;
        return LoadKernelsFromPython(path, options);
      });
}

}  // namespace

std::vector<std::string> LoadKernels(const std::string& path, const LoadOptions& options) {
  return LoadDeclared(DeclareOf(path), options);
}

std::vector<std::string> LoadKernels(const EmbeddedKernels& kernels, const LoadOptions& options) {
  Declare(kernels);
  return LoadDeclared(kernels, options);
}

void DeclareKernels(const std::string& path) { DeclareOf(path); }

}  // namespace kernelmap
