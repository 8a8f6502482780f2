"""A stack of attention layers, each with another form of rotary embedding and of attention, as transformers' models and
people's own write them.
"""

import math
from typing import Final, Tuple

import torch
from torch import Tensor, nn

HIDDEN, HEADS, WIDTH = 16, 2, 8
CAP = 3.0


def rotate_half(x: Tensor) -> Tensor:
    middle = x.shape[-1] // 2
    return torch.cat([-x[..., middle:], x[..., :middle]], dim=-1)


def rotate_neighbours(x: Tensor) -> Tensor:
    return torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)


def widened(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    q_out = (q.float() * cos) + (rotate_half(q.float()) * sin)
    k_out = (k.float() * cos) + (rotate_half(k.float()) * sin)
    return q_out.to(q.dtype), k_out.to(k.dtype)


def float32_tables(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    cos, sin = cos.float().unsqueeze(1), sin.float().unsqueeze(1)
    q_out = (q * cos) + (rotate_half(q) * sin)
    k_out = (k * cos) + (rotate_half(k) * sin)
    return q_out.to(q.dtype), k_out.to(k.dtype)


def neighbours(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return (q * cos) + (rotate_neighbours(q) * sin), (k * cos) + (rotate_neighbours(k) * sin)


def neighbours_widened(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    dtype = q.dtype
    q, k = q.float(), k.float()
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    q_out = (q * cos) + (rotate_neighbours(q) * sin)
    k_out = (k * cos) + (rotate_neighbours(k) * sin)
    return q_out.to(dtype), k_out.to(dtype)


def first_half(table: Tensor) -> Tensor:
    table = table.unsqueeze(1)
    return table[..., :table.shape[-1] // 2].repeat_interleave(2, dim=-1)


def half_tables(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    cos, sin = first_half(cos), first_half(sin)
    return (q * cos) + (rotate_neighbours(q) * sin), (k * cos) + (rotate_neighbours(k) * sin)


def half_tables_widened(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    cos, sin = first_half(cos), first_half(sin)
    q_out = (q.float() * cos) + (rotate_neighbours(q).float() * sin)
    k_out = (k.float() * cos) + (rotate_neighbours(k).float() * sin)
    return q_out.to(q.dtype), k_out.to(q.dtype)


def half_tables_partial(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    cos, sin = first_half(cos), first_half(sin)
    n = cos.shape[-1]
    q_rot, q_pass, k_rot, k_pass = q[..., :n], q[..., n:], k[..., :n], k[..., n:]
    q_out = (q_rot * cos) + (rotate_neighbours(q_rot) * sin)
    k_out = (k_rot * cos) + (rotate_neighbours(k_rot) * sin)
    return torch.cat([q_out, q_pass], dim=-1), torch.cat([k_out, k_pass], dim=-1)


def every_two(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    sin = torch.repeat_interleave(sin[:, :, None, :], 2, 3)
    cos = torch.repeat_interleave(cos[:, :, None, :], 2, 3)
    return (x * cos) + (rotate_neighbours(x) * sin)


def pair_tables(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    return every_two(q, cos, sin), every_two(k, cos, sin)


def pair_tables_partial(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, n: int) -> Tuple[Tensor, Tensor]:
    k_rot, q_rot = every_two(k[:, :, :, :n], cos, sin), every_two(q[:, :, :, :n], cos, sin)
    return torch.cat([q_rot, q[:, :, :, n:]], dim=-1), torch.cat([k_rot, k[:, :, :, n:]], dim=-1)


def unbound(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    q_r, q_i = q.float().reshape(q.shape[:-1] + (-1, 2)).unbind(-1)
    k_r, k_i = k.float().reshape(k.shape[:-1] + (-1, 2)).unbind(-1)
    cos = cos.view(1, q_r.shape[1], 1, q_r.shape[3])
    sin = sin.view(1, q_r.shape[1], 1, q_r.shape[3])
    q_out = torch.stack([q_r * cos - q_i * sin, q_r * sin + q_i * cos], dim=-1).flatten(3)
    k_out = torch.stack([k_r * cos - k_i * sin, k_r * sin + k_i * cos], dim=-1).flatten(3)
    return q_out.type_as(q), k_out.type_as(k)


def repeat_kv(x: Tensor, n: int) -> Tensor:
    batch, heads, length, width = x.shape
    return x[:, :, None, :, :].expand(batch, heads, n, length, width).reshape(batch, heads * n, length, width)


class Layer(nn.Module):
    width: Final[int] = WIDTH
    cap: Final[float] = CAP

    def __init__(self, kv_heads: int = HEADS):
        super().__init__()
        self.q = nn.Linear(HIDDEN, HEADS * WIDTH)
        self.k = nn.Linear(HIDDEN, kv_heads * WIDTH)
        self.v = nn.Linear(HIDDEN, kv_heads * WIDTH)
        self.o = nn.Linear(HEADS * WIDTH, HIDDEN)
        self.groups = HEADS // kv_heads


def heads(x: Tensor) -> Tensor:
    return x.view(x.shape[0], x.shape[1], -1, 8)


def heads_first(x: Tensor) -> Tensor:
    return heads(x).transpose(1, 2)


def joined(x: Tensor) -> Tensor:
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


class CappedGroups(Layer):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        q, k, v = heads_first(self.q(x)), heads_first(self.k(x)), heads_first(self.v(x))
        q, k = widened(q, k, cos, sin)
        k, v = repeat_kv(k, self.groups), repeat_kv(v, self.groups)
        weights = torch.matmul(q, k.transpose(2, 3)) * 0.5
        weights = torch.tanh(weights / self.cap) * self.cap + mask
        weights = torch.softmax(weights, -1, dtype=torch.float32).to(q.dtype)
        return self.o(joined(torch.matmul(weights, v)))


class Capped(Layer):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        q, k, v = heads_first(self.q(x)), heads_first(self.k(x)), heads_first(self.v(x))
        q, k = float32_tables(q, k, cos, sin)
        weights = torch.tanh(torch.matmul(q, k.transpose(2, 3)) * 0.5 / self.cap) * self.cap
        weights = torch.softmax(weights, -1, dtype=torch.float32).to(q.dtype)
        return self.o(joined(torch.matmul(weights, v)))


class Biased(Layer):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        q, k, v = heads_first(self.q(x)), heads_first(self.k(x)), heads_first(self.v(x))
        q, k = neighbours(q, k, cos, sin)
        weights = torch.matmul(q, k.transpose(2, 3)) + bias + mask
        return self.o(joined(torch.matmul(torch.softmax(weights, -1), v)))


class BiasedInPlace(Layer):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        q, k, v = heads_first(self.q(x)), heads_first(self.k(x)), heads_first(self.v(x))
        q, k = neighbours_widened(q, k, cos, sin)
        weights = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.width)
        weights += bias
        weights = weights + mask
        return self.o(joined(torch.matmul(torch.softmax(weights, -1), v)))


class CappedMasked(Layer):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        q, k, v = heads_first(self.q(x)), heads_first(self.k(x)), heads_first(self.v(x))
        q, k = half_tables(q, k, cos, sin)
        weights = torch.tanh(torch.matmul(q, k.transpose(2, 3)) * 0.5 / 4.0) * 4.0 + mask
        weights = torch.softmax(weights, -1, dtype=torch.float32).to(q.dtype)
        return self.o(joined(torch.matmul(weights, v)))


class CappedGroupsUnmasked(Layer):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        q, k, v = heads_first(self.q(x)), heads_first(self.k(x)), heads_first(self.v(x))
        q, k = half_tables_widened(q, k, cos, sin)
        k, v = repeat_kv(k, self.groups), repeat_kv(v, self.groups)
        weights = torch.tanh(torch.matmul(q, k.transpose(2, 3)) * 0.5 / self.cap) * self.cap
        weights = torch.softmax(weights, -1, dtype=torch.float32).to(q.dtype)
        return self.o(joined(torch.matmul(weights, v)))


class BiasedFloat32(Layer):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        q, k, v = heads_first(self.q(x)), heads_first(self.k(x)), heads_first(self.v(x))
        q, k = half_tables_partial(q, k, cos[..., :4], sin[..., :4])
        weights = torch.matmul(q, k.transpose(2, 3)) * 0.3 + bias + mask
        return self.o(joined(torch.matmul(weights.float().softmax(-1).to(q.dtype), v)))


class DividedBiasedFloat32(Layer):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        q, k, v = heads(self.q(x)), heads(self.k(x)), heads(self.v(x))
        q, k = pair_tables(q, k, cos[..., :4], sin[..., :4])
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        weights = torch.matmul(q, k.transpose(2, 3)) / 3.0 + bias + mask
        return self.o(joined(torch.matmul(weights.float().softmax(-1).to(q.dtype), v)))


class Float32Scores(Layer):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        q, k, v = heads(self.q(x)), heads(self.k(x)), heads(self.v(x))
        q, k = pair_tables_partial(q, k, cos[..., :2], sin[..., :2], 4)
        q, k, v = q.permute(0, 2, 1, 3), k.permute(0, 2, 1, 3), v.permute(0, 2, 1, 3)
        weights = torch.matmul(q.to(torch.float32), k.to(torch.float32).transpose(-1, -2)) / 4.0 + mask
        return self.o(joined(torch.matmul(torch.softmax(weights, -1).to(v.dtype), v)))


class Unbound(Layer):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, bias: Tensor) -> Tensor:
        q, k, v = heads(self.q(x)), heads(self.k(x)), heads(self.v(x))
        q, k = unbound(q, k, cos[0, :, :4], sin[0, :, :4])
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        weights = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.width) + mask
        return self.o(joined(torch.matmul(torch.softmax(weights, -1), v)))


class Forms(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads, self.width = HEADS, WIDTH
        self.embed = nn.Embedding(100, HIDDEN)
        self.bias = nn.Embedding(64, HEADS)
        self.layers = nn.ModuleList([CappedGroups(1), Capped(), Biased(), BiasedInPlace(), CappedMasked(),
                                     CappedGroupsUnmasked(1), BiasedFloat32(), DividedBiasedFloat32(), Float32Scores(),
                                     Unbound()])
        angles = torch.arange(64.0)[:, None] * torch.rand(WIDTH)  # of a pair each feature has its own
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        length = ids.size(1)
        places = torch.arange(length, device=ids.device)
        cos = self.cos[:length].unsqueeze(0).expand(ids.size(0), length, self.width)
        sin = self.sin[:length].unsqueeze(0).expand(ids.size(0), length, self.width)
        distance = (places[:, None] - places[None, :]).abs()
        bias = self.bias(distance).permute(2, 0, 1).unsqueeze(0).expand(ids.size(0), self.heads, length, length)
        hidden = (places[None, :] > places[:, None])[None, None]
        mask = torch.zeros_like(hidden, dtype=x.dtype).masked_fill(hidden, -1e4)
        for layer in self.layers:
            x = x + layer(x, cos, sin, mask, bias)
        return x
