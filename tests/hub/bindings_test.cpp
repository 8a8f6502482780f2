// The code in kernels/bindings/, compiled against the schemas that the bindings state.
#include <gtest/gtest.h>
#include <torch/library.h>

#include "compiler/binding.h"
#include "compiler/store/hub_kernel.h"
#include "rewriter/modules/adapters.h"

namespace kernelmap {
namespace {

// `Tensor! x` as forwarders have it, with a name.
std::string Named(std::string schema) {
  for (size_t at = schema.find("Tensor!"), i = 0; at != std::string::npos;
       at = schema.find("Tensor!"), ++i) {
    schema.replace(at, 7, "Tensor(w" + std::to_string(i) + "!)");
  }
  return schema;
}

TEST(Bindings, CodeFitsTheSchemas) {
  int compiled = 0;
  for (size_t i = 0; i < EmbeddedBindings().size(); ++i) {
    const Binding& binding = EmbeddedBindings()[i];
    const std::string name = "km_binding_test_" + std::to_string(i);
    torch::Library library(torch::Library::DEF, name, std::nullopt, __FILE__, __LINE__);
    torchscript::KernelOps ops;
    for (const std::string& schema : binding.ops) {
      library.def(Named(schema).c_str());
      const std::string op = schema.substr(0, schema.find('('));
      ops[op] = name + "::" + op;
    }
    for (const BoundKernel& bound : binding.kernels) {
      for (const Implementation& written : bound.kernel.implementations) {
        SCOPED_TRACE(binding.repo + ":" + bound.kernel.name + " " + written.references.at(0));
        EXPECT_EQ(torchscript::KernelSourceProblem(written.source), "");
        const Layer* layer = BuiltinCatalogue().FindLayer(written.layer);
        const HubKernel made = MakeHubKernel(
            {binding.repo, "0123456789", "sha256-0", bound.kernel.name}, "", layer, &bound);
        ASSERT_TRUE(made.kernel);
        for (const Implementation& one : made.kernel->implementations) {
          DeclareAdapter(*one.adapter);
          EXPECT_NO_THROW(BindKernel(
              *one.adapter, torchscript::CompileKernelSource(one.adapter->forward, name, ops)));
          EXPECT_EQ(StateOf(one.adapter->op), AdapterState::kKernel);
          ++compiled;
        }
      }
    }
  }
  EXPECT_GT(compiled, 10);
}

}  // namespace
}  // namespace kernelmap
