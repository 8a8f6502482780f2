"""Modules whose names announce a layer and whose code is none of its references: the same in other words, and others."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WIDTH = 16


class RMSNorm(nn.Module):
    """In other words: a sum and a quotient."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(WIDTH) + 0.5)
        self.variance_epsilon = 1e-5

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        scale = torch.sqrt((wide * wide).sum(-1, keepdim=True) / wide.size(-1) + self.variance_epsilon)
        return self.weight * (wide / scale).to(x.dtype)


class ScaleRMSNorm(nn.Module):
    """Parameter and number have names of their own."""

    def __init__(self):
        super().__init__()
        self.g = nn.Parameter(torch.rand(WIDTH) + 0.5)
        self.tiny = 1e-5

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        scale = torch.sqrt((wide * wide).sum(-1, keepdim=True) / wide.size(-1) + self.tiny)
        return self.g * (wide / scale).to(x.dtype)


class OnePlusRMSNorm(RMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        scale = torch.sqrt((wide * wide).sum(-1, keepdim=True) / wide.size(-1) + self.variance_epsilon)
        return (self.weight + 1.0) * (wide / scale).to(x.dtype)


class NoisyRMSNorm(RMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight + torch.rand_like(x)


class OddEpsRMSNorm(RMSNorm):
    """Looks like the norm wherever the input is not small."""

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        scale = torch.sqrt((wide * wide).sum(-1, keepdim=True) / wide.size(-1)) + self.variance_epsilon
        return self.weight * (wide / scale).to(x.dtype)


class ClampRMSNorm(RMSNorm):
    """Looks like the norm wherever the input is not large."""

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32).clamp(-20.0, 20.0)
        scale = torch.sqrt((wide * wide).sum(-1, keepdim=True) / wide.size(-1) + self.variance_epsilon)
        return self.weight * (wide / scale).to(x.dtype)


class CenteredRMSNorm(RMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, [x.size(-1)], self.weight, None, self.variance_epsilon)


class WideRMSNorm(RMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        return x.to(torch.float64) * self.weight


class HalfRMSNorm(RMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        return (x * self.weight)[..., :8]


class InfiniteRMSNorm(RMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight / (x - x)


class WritingRMSNorm(RMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        x.mul_(2.0)
        return x * self.weight


class KeepingRMSNorm(RMSNorm):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.seen.add_(1.0)
        return x * self.weight


class StoppedRMSNorm(RMSNorm):
    """Right, but for its gradient."""

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        scale = torch.sqrt((wide * wide).sum(-1, keepdim=True) / wide.size(-1) + self.variance_epsilon)
        return self.weight * (wide / scale.detach()).to(x.dtype)


class FrozenRMSNorm(RMSNorm):
    """Right as long as the weight is what it is."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        scale = torch.sqrt((wide * wide).sum(-1, keepdim=True) / wide.size(-1) + self.variance_epsilon)
        return (self.weight * self.weight) * (wide / scale).to(x.dtype)


class DroppingRMSNorm(RMSNorm):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        scale = torch.sqrt((wide * wide).sum(-1, keepdim=True) / wide.size(-1) + self.variance_epsilon)
        return self.dropout(self.weight * (wide / scale).to(x.dtype))


class PairRMSNorm(RMSNorm):
    """A further result, as tracing adds it."""

    def forward(self, x: Tensor) -> "tuple[Tensor, Tensor]":
        wide = x.to(torch.float32)
        scale = torch.sqrt((wide * wide).sum(-1, keepdim=True) / wide.size(-1) + self.variance_epsilon)
        return self.weight * (wide / scale).to(x.dtype), scale


class GatedMLP(nn.Module):
    """silu in other words, and names that do not say which is which."""

    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(WIDTH, 24, bias=False)
        self.w2 = nn.Linear(24, WIDTH, bias=False)
        self.w3 = nn.Linear(WIDTH, 24, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = self.w1(x)
        return self.w2(gate * torch.sigmoid(gate) * self.w3(x))


class TanhMLP(GatedMLP):
    def forward(self, x: Tensor) -> Tensor:
        return self.w2(torch.tanh(self.w1(x)) * self.w3(x))


class Model(nn.Module):
    """Token ids in, so that all dtypes are known."""

    def __init__(self, *modules):
        super().__init__()
        self.embed = nn.Embedding(100, WIDTH)
        self.layers = nn.ModuleList(modules)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = x + layer(x)
        return x


class ResultModel(Model):
    """What the module gives is not added to anything."""

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        y = torch.zeros([1])
        for layer in self.layers:
            y = y + layer(x).sum()
        return y


class PairModel(Model):
    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            a, b = layer(x)
            x = a + b
        return x
