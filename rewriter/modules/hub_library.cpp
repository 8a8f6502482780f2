#include "rewriter/modules/hub_library.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <torch/library.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "compiler/archive/file.h"

namespace kernelmap {
namespace {

constexpr const char* kForward = "kernelmap_forward";

// One at a time: loading registers operations.
std::mutex loading;

// By namespace: the SHA-256 of the file, and for each operation what TorchScript may call. Under
// `loading`.
struct Operation {
  std::string name;      // "relu"
  std::string callable;  // "kernelmap_forward::…"
  c10::OperatorHandle handle;
};
struct Loaded {
  std::string sha256;
  std::vector<Operation> operations;
};
std::map<std::string, Loaded>& AllLoaded() {
  static auto* loaded = new std::map<std::string, Loaded>;
  return *loaded;
}

std::vector<c10::OperatorHandle> OperationsOf(const std::string& name) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  std::vector<c10::OperatorHandle> operations;
  for (const c10::OperatorName& op : dispatcher.getAllOpNames()) {
    if (op.getNamespace() != name) continue;
    if (auto handle = dispatcher.findSchema(op)) operations.push_back(*handle);
  }
  return operations;
}

// The namespace that a library's name stands for: `_relu_cpu_70cb40c.abi3.so` -> its first part.
std::string NamespaceOf(const std::string& file) {
  const std::string base = file.substr(file.rfind('/') + 1);
  return base.substr(0, base.find('.'));
}

// Whether a write has no name: `Tensor!` has one of the parser's before, and none after, which
// alias analysis takes for a fault of its own.
bool IsNamelessWrite(const c10::Argument& argument) {
  const c10::AliasInfo* info = argument.alias_info();
  return info && info->isWrite() && info->beforeSets() != info->afterSets();
}

c10::Argument WithName(const c10::Argument& argument, const c10::Symbol& set) {
  std::optional<c10::AliasInfo> info;
  if (argument.alias_info()) info = *argument.alias_info();
  if (IsNamelessWrite(argument)) {
    info = c10::AliasInfo();
    info->setIsWrite(true);
    info->addBeforeSet(set);
    info->addAfterSet(set);
  }
  return c10::Argument(argument.name(), argument.type(), argument.type(), argument.N(),
                       argument.default_value(), argument.kwarg_only(), info);
}

// The schema with names for the writes that have none. What a result shares with them is not
// known: it may be any of it.
c10::FunctionSchema Named(const c10::FunctionSchema& schema, const std::string& name) {
  std::vector<c10::Argument> arguments, returns;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    arguments.push_back(WithName(schema.arguments()[i],
                                 c10::Symbol::fromQualString("alias::km" + std::to_string(i))));
  }
  for (const c10::Argument& result : schema.returns()) {
    returns.push_back(WithName(result, c10::AliasInfo::wildcardSet()));
  }
  c10::FunctionSchema named(std::string(kForward) + "::" + name, schema.overload_name(),
                            std::move(arguments), std::move(returns));
  named.setAliasAnalysis(c10::AliasAnalysisKind::FROM_SCHEMA);
  return named;
}

struct Forwarder : c10::OperatorKernel {
  explicit Forwarder(c10::OperatorHandle target) : target(std::move(target)) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    target.callBoxed(stack);
  }
  c10::OperatorHandle target;
};

// What TorchScript may call for an operation.
std::string Callable(const std::string& library, const c10::OperatorHandle& operation) {
  const c10::FunctionSchema& schema = operation.schema();
  const bool nameless =
      std::any_of(schema.arguments().begin(), schema.arguments().end(), IsNamelessWrite) ||
      std::any_of(schema.returns().begin(), schema.returns().end(), IsNamelessWrite);
  if (!nameless) return schema.name();
  static auto* forwarders =
      new torch::Library(torch::Library::FRAGMENT, kForward, std::nullopt, __FILE__, __LINE__);
  const std::string base = schema.name().substr(schema.name().find("::") + 2);
  const std::string name = library + "__" + base;
  const std::string full =
      schema.overload_name().empty() ? name : name + "." + schema.overload_name();
  forwarders->def(Named(schema, name));
  forwarders->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor<Forwarder>(
                                     std::make_unique<Forwarder>(operation)));
  return std::string(kForward) + "::" + name;
}

std::vector<Operation> Describe(const std::string& name) {
  std::vector<Operation> operations;
  for (const c10::OperatorHandle& handle : OperationsOf(name)) {
    operations.push_back(
        {handle.schema().name().substr(name.size() + 2), Callable(name, handle), handle});
  }
  return operations;
}

c10::DispatchKey KeyOf(const std::string& device) {
  if (device == "cuda" || device == "rocm") return c10::DispatchKey::CUDA;
  if (device == "mps") return c10::DispatchKey::MPS;
  if (device == "xpu") return c10::DispatchKey::XPU;
  if (device == "npu") return c10::DispatchKey::PrivateUse1;
  return c10::DispatchKey::CPU;
}

// Those without code for the device are left out.
HubLibrary For(const std::string& device, const std::string& name, const Loaded& loaded) {
  HubLibrary library{name, {}};
  for (const Operation& operation : loaded.operations) {
    if (operation.handle.hasComputedKernelForDispatchKey(KeyOf(device))) {
      library.ops[operation.name] = operation.callable;
    }
  }
  return library;
}

// The SHA-256 of a library in this process that somebody else loaded, by its file's name.
std::string ForeignLibrary(const std::string& file) {
  struct Search {
    std::string base, path;
  } search{file.substr(file.rfind('/') + 1), ""};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* wanted = static_cast<Search*>(data);
        const std::string path = info->dlpi_name ? info->dlpi_name : "";
        if (path.substr(path.rfind('/') + 1) == wanted->base) wanted->path = path;
        return 0;
      },
      &search);
  if (search.path.empty()) return "";
  const auto digest = Sha256File(search.path);
  return digest ? *digest : "";
}

// Whether an ELF library is for another processor than this code; the loader says of one only that
// it is not there.
bool IsForeign(int descriptor) {
#if defined(__x86_64__)
  constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
  constexpr uint16_t kMachine = EM_AARCH64;
#else
  constexpr uint16_t kMachine = EM_NONE;
#endif
  Elf64_Ehdr header;
  if (pread(descriptor, &header, sizeof header, 0) != sizeof header) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || kMachine == EM_NONE) return false;
  return header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine;
}

void Open(const FoundRepository& repository) {
  std::string error;
  const int descriptor = OpenChecked(repository, repository.library, &error);
  TORCH_CHECK(descriptor >= 0, repository.library, ": ", error);
  if (IsForeign(descriptor)) {
    close(descriptor);
    TORCH_CHECK(false, repository.library, " is built for another processor than this machine's");
  }
  // The loader takes a path that it knows for the same library, and descriptors are used again.
  static int count = 0;
  std::string path = "/proc/self/fd/";
  for (int i = 0; i < count; ++i) path += "./";
  ++count;
  path += std::to_string(descriptor);
  // Lazily: the libraries are Python extensions too, and name functions of Python that only an
  // import calls.
  const void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  const char* why = handle ? nullptr : dlerror();
  std::string message = why ? why : "";
  if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
  close(descriptor);
  TORCH_CHECK(handle, repository.library, " does not load: ", message);
}

}  // namespace

HubLibrary LoadHubLibrary(const FoundRepository& repository, const std::string& device) {
  const std::lock_guard<std::mutex> lock(loading);
  const std::string name = NamespaceOf(repository.library);
  std::string sha256;
  for (const RepositoryFile& file : repository.files) {
    if (file.path == repository.library) sha256 = file.sha256;
  }
  const auto known = AllLoaded().find(name);
  if (known != AllLoaded().end()) {
    TORCH_CHECK(known->second.sha256 == sha256, "another build of ", name,
                " is loaded in this process");
    return For(device, name, known->second);
  }
  if (OperationsOf(name).empty()) {
    Open(repository);
    TORCH_CHECK(!OperationsOf(name).empty(), repository.library,
                " registers no operation in the namespace ", name);
  } else {
    TORCH_CHECK(ForeignLibrary(repository.library) == sha256, "another build of ", name,
                " is loaded in this process");
  }
  const Loaded& loaded = AllLoaded().emplace(name, Loaded{sha256, Describe(name)}).first->second;
  return For(device, name, loaded);
}

}  // namespace kernelmap
