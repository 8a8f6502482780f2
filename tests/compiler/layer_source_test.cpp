// Layers of kernel repositories, read as text.
#include "compiler/store/layer_source.h"

#include <gtest/gtest.h>

#include "compiler/store/hub_kernel.h"

namespace kernelmap {
namespace {

LayerSource Read(const std::string& text, const std::string& name) {
  auto read = ReadLayerSource(text, name);
  if (auto* problem = std::get_if<LayerProblem>(&read)) {
    ADD_FAILURE() << problem->what << " in line " << problem->line;
    return {};
  }
  return std::get<LayerSource>(read);
}

std::string Problem(const std::string& forward) {
  const auto read =
      ReadLayerSource("class A(nn.Module):\n    def forward(self, x):\n" + forward, "A");
  const auto* problem = std::get_if<LayerProblem>(&read);
  return problem ? problem->what + ", line " + std::to_string(problem->line) : "";
}

constexpr const char* kNorm = R"(import torch
from ._ops import ops

def widen(x: torch.Tensor) -> torch.Tensor:
    "A helper."
    return x.to(torch.float32)

class Norm(torch.nn.Module):
    """A class
def forward(self): not this one
"""
    weight: torch.Tensor
    can_torch_compile = True  # def forward(self, y):

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(
        self,
        hidden: "torch.Tensor",  # a comment, with ) in it
        scale: float | None = None,
        *,
        flip: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Several
        lines."""
        if hidden.dim() == 1 and \
                not flip:
            raise ValueError(f"{hidden} is 'flat'")
        text = "self.not_this"
        out = torch.empty_like(widen(hidden))
        ops.norm(out, hidden,
                 self.weight, self.eps)
        return out, self.weight

    def other(self):
        return [x for x in self]

class Other(Norm):
    pass
)";

TEST(LayerSource, Forward) {
  const LayerSource norm = Read(kNorm, "Norm");
  ASSERT_EQ(norm.signature.parameters.size(), 3u);
  EXPECT_EQ(norm.signature.parameters[0].name, "hidden");
  EXPECT_EQ(norm.signature.parameters[0].type, "Tensor");
  EXPECT_EQ(norm.signature.parameters[1].type, "Optional[float]");
  EXPECT_EQ(norm.signature.parameters[1].otherwise, "None");
  EXPECT_EQ(norm.signature.parameters[2].type, "bool");
  EXPECT_EQ(norm.signature.returns, "Tuple[Tensor, Tensor]");
  EXPECT_EQ(norm.attributes, (std::vector<std::string>{"weight", "eps"}));
  EXPECT_EQ(norm.helpers, "def widen(x: Tensor) -> Tensor:\n    return x.to(torch.float32)\n");
  EXPECT_EQ(norm.body, R"(    if hidden.dim() == 1 and not flip:
        raise ValueError("{hidden} is 'flat'")
    text = "self.not_this"
    out = torch.empty_like(widen(hidden))
    ops.norm(out, hidden, self_weight, self_eps)
    return out, self_weight
)");
}

TEST(LayerSource, WhatMayBeAnotherClassWhenItIsUsed) {
  const auto problem = [](const std::string& before, const std::string& inside,
                          const std::string& after) {
    const auto read = ReadLayerSource(
        before +
            "class A(nn.Module):\n  def forward(self, x):\n    return ops.f(h(torch.abs(x)))\n" +
            inside + after + "def h(x):\n  return x\n",
        "A");
    const auto* found = std::get_if<LayerProblem>(&read);
    return found ? found->what : "";
  };
  const std::string imports = "import torch\nfrom ._ops import ops\n";
  EXPECT_EQ(problem("", "", ""), "");
  EXPECT_EQ(problem(imports, "  scale: float = 1.0\n", "class B(A):\n  pass\nx = A()\n"), "");
  EXPECT_EQ(problem("import torch.nn as nn\nimport torch.nn\n", "", "if A:\n  b = A\n"), "");
  EXPECT_EQ(problem("", "", "def f():\n  A = h = 1\n"), "");
  for (const char* before :
       {"@final\n", "A = B\n", "class A:\n  def forward(self, y):\n    return y\n"}) {
    EXPECT_NE(problem(before, "", ""), "") << before;
  }
  for (const char* inside :
       {"  forward = g\n", "  def forward(self, y):\n    return y\n",
        "  if FAST:\n    def forward(self, y):\n      return y\n", "  x = forward = g\n"}) {
    EXPECT_EQ(problem("", inside, ""), "another `forward`") << inside;
  }
  for (const char* after :
       {"A.forward = g\n", "A = B\n", "a, A = B\n", "if FAST: A = B\n", "x = 1; A = B\n",
        "try:\n  from .fast import A\nexcept ImportError:\n  pass\n", "from .fast import *\n",
        "from .fast import (B, C as A)\n", "for A in classes:\n  pass\n",
        "setattr(A, 'forward', g)\n", "globals()['A'] = B\n", "del A\n",
        "def f():\n  global A\n  A = B\n", "A: type = B\n", "(A := B)\n",
        "with f() as A:\n  pass\n", "A += B\n", "def A():\n  pass\n", "async def A():\n  pass\n"}) {
    EXPECT_NE(problem("", "", after), "") << after;
  }
  for (const char* after :
       {"h = g\n", "from .fast import h\n", "if FAST:\n  def h(x):\n    return -x\n"}) {
    EXPECT_EQ(problem("", "", after), "another `h`") << after;
  }
  EXPECT_EQ(problem("import fast as torch\n", "", ""), "another `torch`");
  EXPECT_EQ(problem("from .other import ops\n", "", ""), "another `ops`");
  EXPECT_EQ(problem("ops = None\n", "", ""), "another `ops`");
  EXPECT_EQ(problem("\xff\n", "", ""), "text that is not Python");
}

TEST(LayerSource, NamesThatWouldCollide) {
  const std::string text =
      "class A(nn.Module):\n  def forward(self, self_weight):\n"
      "    _self_x = self_weight\n    return _self_x * self.weight\n";
  EXPECT_EQ(Read(text, "A").body,
            "    _self_x = self_weight\n    return _self_x * __self_weight\n");
}

TEST(LayerSource, WhatTheParserReadsOtherwise) {
  const auto problem = [](const std::string& line) {
    const auto read = ReadLayerSource(
        "class A(B):\n  def forward(self, x):\n    " + line + "\n    return x\n", "A");
    const auto* found = std::get_if<LayerProblem>(&read);
    return found ? found->what : "";
  };
  for (const char* line :
       {"if 0 < n < 2: x = y", "y = a == b == c", "y = f(1, a < b <= c)", "y = a < b in c",
        "y = 3 > 2 == True", "assert 0 < d <= 128, 'no'", "y = x[a < b < c]"}) {
    EXPECT_EQ(problem(line), "a chained comparison") << line;
  }
  for (const char* line :
       {"if a < b and b < c: x = y", "y = (a < b) == (c < d)", "y = f(a < b, c < d)",
        "y = x if a < b else c < d", "y = a not in b", "y = a is not b", "y = x[a:b]"}) {
    EXPECT_EQ(problem(line), "") << line;
  }
  const auto many = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  EXPECT_EQ(problem("y = " + many("(", 10000) + "x" + many(")", 10000)),
            "a statement of too many parts");
  EXPECT_EQ(problem("y = " + many("(", 100) + "x" + many(")", 100)),
            "brackets too deep inside one another");
  EXPECT_EQ(problem("y = x" + many(" + x", 10000)), "a statement of too many parts");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += std::string(4 + i, ' ') + "if x:\n";
  EXPECT_EQ(problem("pass\n" + deep + std::string(104, ' ') + "y = 1"),
            "blocks too deep inside one another");
}

TEST(LayerSource, WhatTorchScriptNeverTakes) {
  EXPECT_EQ(Problem("        return lambda y: y\n"), "`lambda`, line 3");
  EXPECT_EQ(
      Problem(
          "        y = x\n        try:\n            pass\n        except E:\n            pass\n"),
      "`try`, line 4");
  EXPECT_EQ(Problem("        with torch.no_grad():\n            return x\n"), "`with`, line 3");
  EXPECT_EQ(Problem("        import math\n        return x\n"), "`import`, line 3");
  EXPECT_EQ(Problem("        return Function.apply(x)\n"),
            "the autograd function `Function`, line 3");
  EXPECT_EQ(Problem("        return [y for y in x]\n"), "a comprehension, line 3");
  EXPECT_EQ(Problem("        return f'{x}'\n"), "a formatted string, line 3");
  EXPECT_EQ(Problem("        return helper(self)\n"), "`self` as a value, line 3");
  EXPECT_EQ(Problem("        return self.gate(x)\n"), "a call of `self.gate`, line 3");
  EXPECT_EQ(Problem("        self.count += 1\n"), "an assignment to `self.count`, line 3");
  EXPECT_EQ(Problem("        return ops.f(*x)\n"), "`*x`, line 3");
  EXPECT_EQ(Problem("        return ops.f(x, **y)\n"), "`**y`, line 3");
  EXPECT_EQ(Problem("        return (y := x)\n"), "`:=`, line 3");
  EXPECT_EQ(Problem("        return x * 2 ** 3, -x, x if x == 'lambda' else x\n"), "");
}

TEST(LayerSource, OtherFiles) {
  const auto problem = [](const std::string& text) {
    const auto read = ReadLayerSource(text, "A");
    const auto* found = std::get_if<LayerProblem>(&read);
    return found ? found->what : "";
  };
  EXPECT_EQ(problem("class B:\n  pass\n"), "no class `A`");
  EXPECT_EQ(problem(""), "no class `A`");
  EXPECT_EQ(problem("class A(B):\n  pass\n"), "a class without a `forward` of its own");
  EXPECT_EQ(problem("class A(B):\n  def forward(self, *args):\n    pass\n"), "`*args`");
  EXPECT_EQ(problem("class A(B):\n  def forward(x):\n    pass\n"), "a `forward` without `self`");
  EXPECT_EQ(problem("class A(B):\n  @staticmethod\n  def forward(self):\n    pass\n"),
            "a decorator");
  EXPECT_EQ(problem("class A(B):\n  x = 'not closed\n"), "text that is not Python");
  EXPECT_EQ(problem("class A(B):\n  x = (1\n"), "text that is not Python");
  EXPECT_EQ(problem("class A(B):\n  def forward(self"), "text that is not Python");
  EXPECT_EQ(problem("class A(B):\n  def forward(self, x):\n    return h(x)\n"
                    "def h(q):\n  yield q\n"),
            "`yield`");
}

// Reads every prefix of a text: nothing may crash or hang.
TEST(LayerSource, Prefixes) {
  const std::string text = kNorm;
  for (size_t i = 0; i <= text.size(); ++i) ReadLayerSource(text.substr(0, i), "Norm");
}

const KernelOrigin kOrigin{"some-org/norms", "0123456789abcdef", "sha256-77", "Norm"};

HubKernel Make(const std::string& forward, const std::string& layer) {
  return MakeHubKernel(kOrigin, "class Norm(nn.Module):\n" + forward,
                       BuiltinCatalogue().FindLayer(layer));
}

TEST(HubKernel, StandsForTheFormsOfALayer) {
  const HubKernel made = Make(
      "  def forward(self, h, bias: bool = False, extra=2.5):\n"
      "    return ops.norm(h, self.weight, self.variance_epsilon)\n",
      "RMSNorm");
  ASSERT_TRUE(made.kernel) << made.reason->text;
  const std::vector<Implementation>& all = made.kernel->implementations;
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].references, std::vector<std::string>{"llama"});
  EXPECT_EQ(all[1].references, std::vector<std::string>{"weight_in_float32"});
  const Adapter& adapter = *all[0].adapter;
  EXPECT_TRUE(adapter.op.starts_with("some_org_norms_01234567__Norm_")) << adapter.op;
  EXPECT_NE(adapter.op, all[1].adapter->op);  // the stock code behind it is another
  EXPECT_EQ(adapter.schema, "(Tensor x, Tensor weight, float eps) -> Tensor");
  EXPECT_EQ(adapter.forward,
            "def forward(h: Tensor, self_weight: Tensor, self_variance_epsilon: float) -> Tensor:\n"
            "    h = h.contiguous()\n"
            "    bias: bool = False\n"
            "    extra: float = 2.5\n"
            "    return ops.norm(h, self_weight, self_variance_epsilon)\n");
  EXPECT_EQ(all[0].source,
            "def forward(x: Tensor, weight: Tensor, eps: float) -> Tensor:\n"
            "    return torch.ops.kernelmap_hub." +
                adapter.op + "(x, weight, eps)\n");
  EXPECT_NE(adapter.stock, "");
}

TEST(HubKernel, TwoNamesOfOneParameter) {
  const HubKernel made = Make(
      "  def forward(self, x):\n    return ops.norm(x, self.weight, self.eps + "
      "self.variance_epsilon)\n",
      "RMSNorm");
  ASSERT_TRUE(made.kernel) << made.reason->text;
  EXPECT_EQ(made.kernel->implementations[0].adapter->forward,
            "def forward(x: Tensor, self_weight: Tensor, self_variance_epsilon: float) -> Tensor:\n"
            "    x = x.contiguous()\n"
            "    self_eps = self_variance_epsilon\n"
            "    return ops.norm(x, self_weight, self_eps + self_variance_epsilon)\n");
}

std::string Refused(const std::string& forward, const std::string& layer) {
  const HubKernel made = Make(forward, layer);
  return made.reason ? made.reason->code + ": " + made.reason->text : "made";
}

TEST(HubKernel, WhatDoesNotFit) {
  EXPECT_EQ(Refused("  def forward(self, x):\n    return x + self.offset\n", "RMSNorm"),
            "no_implementation: `Norm` reads `self.offset`, which RMSNorm does not have");
  EXPECT_EQ(Refused("  def forward(self, x, y):\n    return x\n", "RMSNorm"),
            "no_implementation: `Norm` needs `y`");
  EXPECT_EQ(Refused("  def forward(self):\n    return 1\n", "RMSNorm"),
            "no_implementation: `Norm` takes 0 inputs, not 1");
  EXPECT_EQ(Refused("  def forward(self, x, y=f()):\n    return x\n", "RMSNorm"),
            "no_implementation: `Norm` has a default of `y` that is no literal");
  EXPECT_EQ(Refused("  def forward(self, q, k, sin, cos):\n    return q, k\n", "rotary_pos_emb"),
            "no_implementation: `Norm` takes `sin` where rotary_pos_emb has `cos`");
  EXPECT_EQ(Refused("  def forward(self, x, **kwargs):\n    return x\n", "RMSNorm"),
            "python_only: its layers.py has `**kwargs` (line 2)");
  EXPECT_EQ(MakeHubKernel(kOrigin, "", nullptr).reason->code, "no_implementation");
}

TEST(HubKernel, WhatComputesLess) {
  const std::string all = "  def forward(self, x):\n    return ops.f(x)\n";
  EXPECT_EQ(Refused(all, "SwiGLUMLP"),
            "no_implementation: `Norm` does not read `gate_weight`, `up_weight` and `down_weight`, "
            "which SwiGLUMLP computes with");
  EXPECT_EQ(Refused("  def forward(self, x):\n    return ops.f(x, self.weight)\n", "RMSNorm"),
            "no_implementation: `Norm` does not read `eps`, which RMSNorm computes with");
  EXPECT_EQ(Refused(all, "ReLU"), "made");
}

// What a class called `name` is refused for, whose forward takes one tensor.
std::string NamedAs(const std::string& name, const std::string& layer,
                    const BoundKernel* bound = nullptr) {
  KernelOrigin origin = kOrigin;
  origin.name = name;
  const std::string text =
      "class " + name + "(nn.Module):\n  def forward(self, x):\n    return ops.f(x)\n";
  const HubKernel made = MakeHubKernel(origin, text, BuiltinCatalogue().FindLayer(layer), bound);
  return made.reason ? made.reason->code + ": " + made.reason->text : "made";
}

TEST(HubKernel, WhatIsAnotherLayer) {
  EXPECT_EQ(NamedAs("SiluAndMul", "ReLU"),
            "no_implementation: `SiluAndMul` is a kernel for SiluAndMul, not for ReLU");
  EXPECT_EQ(NamedAs("Silu", "ReLU"),
            "no_implementation: `Silu` is a kernel for SiLU, not for ReLU");
  EXPECT_EQ(NamedAs("GELUActivation", "NewGELU"),
            "no_implementation: `GELUActivation` is a kernel for GeLU, not for NewGELU");
  EXPECT_EQ(NamedAs("Silu", "SiLU"), "made");
  EXPECT_EQ(NamedAs("LigerSwish", "SiLU"), "made");
  EXPECT_EQ(NamedAs("SiluAndMul", "Unheard"),
            "made");  // a name that no layer has: the config's word
  BoundKernel bound;
  bound.kernel.implementations.emplace_back().layer = "ReLU";
  EXPECT_EQ(NamedAs("Positive", "SiLU", &bound),
            "no_implementation: `Positive` is a kernel for ReLU, not for SiLU");
}

TEST(HubKernel, AFunction) {
  const HubKernel made =
      Make("  def forward(self, q, k, cos, sin, unsqueeze_dim: int = 1):\n    return q, k\n",
           "rotary_pos_emb");
  ASSERT_TRUE(made.kernel) << made.reason->text;
  ASSERT_EQ(made.kernel->implementations.size(), 1u);
  EXPECT_EQ(made.kernel->implementations[0].references, std::vector<std::string>{"full"});
  EXPECT_EQ(made.kernel->implementations[0].adapter->schema,
            "(Tensor q, Tensor k, Tensor cos, Tensor sin) -> (Tensor, Tensor)");
}

}  // namespace
}  // namespace kernelmap
