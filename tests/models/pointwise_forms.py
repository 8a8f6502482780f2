"""A stack of layer norms and activations, each in another form in which transformers' models and people's own write them."""

import math
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

HIDDEN = 16


class Affine(nn.Module):
    width: Final[int] = HIDDEN

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))
        self.bias = nn.Parameter(torch.zeros(HIDDEN))
        self.variance_epsilon = 1e-3


class Weighted(nn.Module):
    width: Final[int] = HIDDEN

    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(HIDDEN))
        self.eps = 1e-3


class WrittenLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        u = x.mean(-1, keepdim=True)
        s = (x - u).pow(2).mean(-1, keepdim=True)
        x = (x - u) / torch.sqrt(s + self.variance_epsilon)
        return self.weight * x + self.bias


class RootLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        u = x.mean(-1, keepdim=True)
        s = torch.square(x - u).mean(-1, keepdim=True)
        return (x - u) * torch.rsqrt(s + self.variance_epsilon) * self.weight + self.bias


class RootWeightLayerNorm(Weighted):
    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return self.gamma * (centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + self.eps))


class DividedWeightLayerNorm(Weighted):
    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return self.gamma * (centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + self.eps))


class VarianceLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.weight * ((x - mean) / torch.sqrt(var + self.variance_epsilon)) + self.bias


class RootVarianceLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        mean = torch.mean(x, dim=-1, keepdim=True)
        var = torch.var(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) * (var + self.variance_epsilon).rsqrt() * self.weight + self.bias


class VarianceWeightLayerNorm(Weighted):
    def forward(self, x: Tensor) -> Tensor:
        var = torch.var(x, dim=-1, unbiased=False, keepdim=True)
        return (x - torch.mean(x, dim=-1, keepdim=True)) / (var + self.eps).sqrt() * self.gamma


class RootVarianceWeightLayerNorm(Weighted):
    def forward(self, x: Tensor) -> Tensor:
        var = torch.var(x, dim=-1, unbiased=False, keepdim=True)
        return (x - torch.mean(x, dim=-1, keepdim=True)) * (var + self.eps).rsqrt() * self.gamma


class Bare(nn.Module):
    def __init__(self):
        super().__init__()
        self.eps = 1e-3


class BareLayerNorm(Bare):
    def forward(self, x: Tensor) -> Tensor:
        u = x.mean(-1, keepdim=True)
        return (x - u) / torch.sqrt((x - u).pow(2).mean(-1, keepdim=True) + self.eps)


class BareRootLayerNorm(Bare):
    def forward(self, x: Tensor) -> Tensor:
        u = x.mean(-1, keepdim=True)
        return (x - u) * torch.rsqrt((x - u).pow(2).mean(-1, keepdim=True) + self.eps)


class BareVarianceLayerNorm(Bare):
    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + self.eps)


class BareRootVarianceLayerNorm(Bare):
    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True, unbiased=False) + self.eps)


class DebertaLayerNorm(Affine):
    def forward(self, hidden_states: Tensor) -> Tensor:
        input_type = hidden_states.dtype
        hidden_states = hidden_states.float()
        mean = hidden_states.mean(-1, keepdim=True)
        variance = (hidden_states - mean).pow(2).mean(-1, keepdim=True)
        hidden_states = (hidden_states - mean) / torch.sqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_type) + self.bias


class WideRootLayerNorm(Affine):
    def forward(self, hidden_states: Tensor) -> Tensor:
        x = hidden_states.float()
        mean = x.mean(-1, keepdim=True)
        x = (x - mean) * torch.rsqrt((x - mean).pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * x.to(hidden_states.dtype) + self.bias


class CohereLayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))
        self.variance_epsilon = 1e-3

    def forward(self, hidden_states: Tensor) -> Tensor:
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        mean = hidden_states.mean(-1, keepdim=True)
        variance = (hidden_states - mean).pow(2).mean(-1, keepdim=True)
        hidden_states = (hidden_states - mean) * torch.rsqrt(variance + self.variance_epsilon)
        return (self.weight.to(torch.float32) * hidden_states).to(input_dtype)


class WideLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        centred = wide - wide.mean(-1, keepdim=True)
        wide = centred * torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return (self.weight.float() * wide + self.bias.float()).type_as(x)


class OlmoLayerNorm(nn.Module):
    width: Final[int] = HIDDEN

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x.to(torch.float32), [self.width], None, None, 1e-5).to(x.dtype)


class LaterLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, [self.width], None, None, 1e-5) * self.weight + self.bias


class LaterWeightLayerNorm(Weighted):
    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, [self.width], None, None, self.eps) * self.gamma


class OffsetLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, [self.width], self.weight + 1.0, self.bias, self.variance_epsilon)


class ChannelsLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, [self.width], self.weight, self.bias, self.variance_epsilon)
        return x.permute(0, 3, 1, 2)


class WrittenChannelsLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        x = (x - u) / torch.sqrt(s + self.variance_epsilon)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


# What only looks like a layer norm: the variance of a sample, and eps outside the root.
class SampleLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        return self.weight * ((x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + self.variance_epsilon)) + self.bias


class DeviationLayerNorm(Affine):
    def forward(self, x: Tensor) -> Tensor:
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.weight * (x - mean) / (std + self.variance_epsilon) + self.bias


class GELUActivation(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


class TimesGELU(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x * (1.0 + torch.erf(x * math.sqrt(0.5)))


class CdfGELU(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        cdf = 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))
        return x * cdf


class TimesCdfGELU(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * (0.5 * (1.0 + torch.erf(x * math.sqrt(0.5))))


class ShortGELU(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 0.5 * (1.0 + torch.erf(x / 1.41421))


class WideShortGELU(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        dtype = x.dtype
        x = x.float()
        return (x * 0.5 * (1.0 + torch.erf(x / 1.41421))).to(dtype)


class BiasGELU(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(HIDDEN))

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x + self.bias)


class WrittenBiasGELU(BiasGELU):
    def forward(self, x: Tensor) -> Tensor:
        x = self.bias + x
        return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


class ShortBiasGELU(BiasGELU):
    def forward(self, x: Tensor) -> Tensor:
        x = self.bias + x
        return x * 0.5 * (1.0 + torch.erf(x / 1.41421))


class FastBiasGELU(BiasGELU):
    def forward(self, x: Tensor) -> Tensor:
        x = self.bias + x
        return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


class BloomGelu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


class FastGELUActivation(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))


class QuickGELUActivation(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(1.702 * x)


class ProductGELU(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


NORMS = [WrittenLayerNorm, RootLayerNorm, RootWeightLayerNorm, DividedWeightLayerNorm, VarianceLayerNorm,
         RootVarianceLayerNorm, VarianceWeightLayerNorm, RootVarianceWeightLayerNorm, BareLayerNorm, BareRootLayerNorm,
         BareVarianceLayerNorm, BareRootVarianceLayerNorm, DebertaLayerNorm, WideRootLayerNorm, CohereLayerNorm,
         WideLayerNorm, OlmoLayerNorm, LaterLayerNorm, LaterWeightLayerNorm, OffsetLayerNorm, SampleLayerNorm,
         DeviationLayerNorm]
ACTIVATIONS = [GELUActivation, TimesGELU, CdfGELU, TimesCdfGELU, ShortGELU, WideShortGELU, BiasGELU, WrittenBiasGELU,
               ShortBiasGELU, FastBiasGELU, BloomGelu, FastGELUActivation, QuickGELUActivation, ProductGELU, nn.GELU]


class PointwiseForms(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = HIDDEN
        self.embed = nn.Embedding(100, HIDDEN)
        self.norms = nn.ModuleList([norm() for norm in NORMS])
        self.norms.append(nn.LayerNorm(HIDDEN))
        self.norms.append(nn.LayerNorm(HIDDEN, bias=False))
        self.norms.append(nn.LayerNorm(HIDDEN, elementwise_affine=False))
        self.channels = nn.ModuleList([ChannelsLayerNorm(), WrittenChannelsLayerNorm()])
        self.activations = nn.ModuleList([activation() for activation in ACTIVATIONS])

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for norm in self.norms:
            x = x + norm(x)
        x = x.view(ids.size(0), 1, ids.size(1), self.width).permute(0, 3, 1, 2)
        for norm in self.channels:
            x = x + norm(x)
        x = x.permute(0, 2, 3, 1).reshape(ids.size(0), ids.size(1), self.width)
        for activation in self.activations:
            x = x + activation(x)
        return x
