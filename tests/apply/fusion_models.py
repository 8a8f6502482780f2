"""Two blocks with a norm, an MLP and three projections, whole and with one thing that forbids a fusion.

Scripted, all blocks share their classes; traced, each module has its own.
"""

import torch
from torch import Tensor, nn

WIDTH = 16


class TinyRMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(WIDTH) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * wide.to(x.dtype)


class TinyMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, 32)
        self.up_proj = nn.Linear(WIDTH, 32)
        self.down_proj = nn.Linear(32, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(torch.nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class ReluMLP(TinyMLP):
    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(torch.relu(self.gate_proj(x)) * self.up_proj(x))


class Shift(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1.0


class Block(nn.Module):
    """The whole one."""

    def __init__(self):
        super().__init__()
        self.norm = TinyRMSNorm()
        self.mlp = TinyMLP()
        self.q = nn.Linear(WIDTH, 24)
        self.k = nn.Linear(WIDTH, 16)
        self.v = nn.Linear(WIDTH, 16)

    def forward(self, x: Tensor) -> Tensor:
        x = x + torch.tanh(self.q(x))[..., :16] * torch.tanh(self.k(x)) + self.v(x)
        return x + self.mlp(self.norm(x))


class NormUsedTwice(Block):
    def forward(self, x: Tensor) -> Tensor:
        normed = self.norm(x)
        return normed + self.mlp(normed)


class SomethingBetween(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.mlp(self.norm(x) * 2.0)


class CalledTwice(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mlp(self.norm(x))
        return x + self.mlp(self.norm(x))


class ChangedInPlace(Block):
    def forward(self, x: Tensor) -> Tensor:
        normed = self.norm(x)
        normed.add_(1.0)
        return x + self.mlp(normed)


class OtherInput(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.tanh(self.q(x))[..., :16] * torch.tanh(self.k(x + 1.0)) + self.v(x)


class OtherOrder(Block):
    def forward(self, x: Tensor) -> Tensor:
        k = self.k(x)
        return x + torch.tanh(self.q(x))[..., :16] * torch.tanh(k) + self.v(x)


class OneWithoutBias(Block):
    def __init__(self):
        super().__init__()
        self.k = nn.Linear(WIDTH, 16, bias=False)


class OtherCode(Block):
    def __init__(self):
        super().__init__()
        self.mlp = ReluMLP()


class OtherClass(Block):
    def __init__(self):
        super().__init__()
        self.norm = Shift()


class Missing(Block):
    def __init__(self):
        super().__init__()
        self.perceptron = self.mlp
        del self.mlp

    def forward(self, x: Tensor) -> Tensor:
        return x + self.perceptron(self.norm(x))


class Exported(Block):
    """Another method calls a member; scripted, it is in the archive."""

    @torch.jit.export
    def features(self, x: Tensor) -> Tensor:
        return self.norm(x)


class Model(nn.Module):
    def __init__(self, first=Block, second=Block):
        super().__init__()
        self.embed = nn.Embedding(100, WIDTH)
        self.layers = nn.ModuleList([first(), second()])
        self.head = nn.Linear(WIDTH, 32)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def save(path, scripted, first=Block, second=Block, change=None):
    """`change` is given the model before it is scripted or traced."""
    torch.manual_seed(0)
    model = Model(first, second).eval()
    if change:
        change(model)
    ids = torch.arange(12).reshape(2, 6)
    module = torch.jit.script(model) if scripted else torch.jit.trace(model, (ids,), check_trace=False)
    module.save(str(path))
    return path
