"""Models as people write them for torch.jit.script, without a library of layers.

What is in them and not in transformers' traces: helpers that compute sizes from lists, branches on dtypes and None,
Dropout modules, numbers that the code computes.
"""

import math
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

VOCAB = 100


# GPT as tutorials write it: one Linear for q, k and v, a buffer with the causal mask, a computed scale.
class GPTAttention(nn.Module):

    def __init__(self, n, h, block):
        super().__init__()
        self.c_attn = nn.Linear(n, 3 * n)
        self.c_proj = nn.Linear(n, n)
        self.attn_dropout = nn.Dropout(0.1)
        self.resid_dropout = nn.Dropout(0.1)
        self.n_head = h
        self.n_embd = n
        self.register_buffer('bias', torch.tril(torch.ones(block, block)).view(1, 1, block, block))


    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float('-inf'))
        att = F.softmax(att, dim=-1)
        att = self.attn_dropout(att)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class NewGELU(nn.Module):

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class GPTMLP(nn.Module):

    def __init__(self, n):
        super().__init__()
        self.c_fc = nn.Linear(n, 4 * n)
        self.gelu = NewGELU()
        self.c_proj = nn.Linear(4 * n, n)
        self.dropout = nn.Dropout(0.1)


    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class GPTBlock(nn.Module):

    def __init__(self, n, h, block):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n)
        self.attn = GPTAttention(n, h, block)
        self.ln_2 = nn.LayerNorm(n)
        self.mlp = GPTMLP(n)


    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class WrittenGPT(nn.Module):

    def __init__(self, n=16, h=2, layers=2, vocab=VOCAB, block=64):
        super().__init__()
        self.wte = nn.Embedding(vocab, n)
        self.wpe = nn.Embedding(block, n)
        self.h = nn.ModuleList([GPTBlock(n, h, block) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(n)
        self.lm_head = nn.Linear(n, vocab, bias=False)


    def forward(self, ids: Tensor) -> Tensor:
        pos = torch.arange(0, ids.size(1), dtype=torch.long, device=ids.device)
        x = self.wte(ids) + self.wpe(pos)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


# Llama as its first releases and small copies of it are: pairs of features are rotated, scores are divided.
class RMSNorm(nn.Module):

    def __init__(self, n: int, eps: float=1e-05):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(n))


    def _norm(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


    def forward(self, x: Tensor) -> Tensor:
        output = self._norm(x.float()).type_as(x)
        return output * self.weight


def apply_rotary_emb(xq: Tensor, xk: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    xq_r, xq_i = xq.float().reshape(xq.shape[:-1] + (-1, 2)).unbind(-1)
    xk_r, xk_i = xk.float().reshape(xk.shape[:-1] + (-1, 2)).unbind(-1)
    c = cos.view(1, cos.size(0), 1, cos.size(1))
    s = sin.view(1, sin.size(0), 1, sin.size(1))
    q = torch.stack([xq_r * c - xq_i * s, xq_r * s + xq_i * c], dim=-1).flatten(3)
    k = torch.stack([xk_r * c - xk_i * s, xk_r * s + xk_i * c], dim=-1).flatten(3)
    return (q.type_as(xq), k.type_as(xk))


def repeat_kv(x: Tensor, n_rep: int) -> Tensor:
    bs, slen, n_kv, hd = x.shape
    if n_rep == 1:
        return x
    return x[:, :, :, None, :].expand(bs, slen, n_kv, n_rep, hd).reshape(bs, slen, n_kv * n_rep, hd)


class LlamaAttention(nn.Module):

    def __init__(self, n, h, kv, block):
        super().__init__()
        self.n_heads = h
        self.n_kv = kv
        self.n_rep = h // kv
        self.hd = n // h
        self.wq = nn.Linear(n, n, bias=False)
        self.wk = nn.Linear(n, kv * self.hd, bias=False)
        self.wv = nn.Linear(n, kv * self.hd, bias=False)
        self.wo = nn.Linear(n, n, bias=False)
        self.register_buffer('mask', torch.triu(torch.full((1, 1, block, block), float('-inf')), diagonal=1))


    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        b, t, _ = x.shape
        xq, xk, xv = (self.wq(x), self.wk(x), self.wv(x))
        xq = xq.view(b, t, self.n_heads, self.hd)
        xk = xk.view(b, t, self.n_kv, self.hd)
        xv = xv.view(b, t, self.n_kv, self.hd)
        xq, xk = apply_rotary_emb(xq, xk, cos, sin)
        xk = repeat_kv(xk, self.n_rep)
        xv = repeat_kv(xv, self.n_rep)
        xq = xq.transpose(1, 2)
        xk = xk.transpose(1, 2)
        xv = xv.transpose(1, 2)
        scores = torch.matmul(xq, xk.transpose(2, 3)) / math.sqrt(self.hd)
        scores = scores + self.mask[:, :, :t, :t]
        scores = F.softmax(scores.float(), dim=-1).type_as(xq)
        output = torch.matmul(scores, xv)
        return self.wo(output.transpose(1, 2).contiguous().view(b, t, -1))


class FeedForward(nn.Module):

    def __init__(self, n, m):
        super().__init__()
        self.w1 = nn.Linear(n, m, bias=False)
        self.w2 = nn.Linear(m, n, bias=False)
        self.w3 = nn.Linear(n, m, bias=False)


    def forward(self, x: Tensor) -> Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class LlamaBlock(nn.Module):

    def __init__(self, n, h, kv, block):
        super().__init__()
        self.attention = LlamaAttention(n, h, kv, block)
        self.feed_forward = FeedForward(n, 2 * n)
        self.attention_norm = RMSNorm(n)
        self.ffn_norm = RMSNorm(n)


    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        h = x + self.attention(self.attention_norm(x), cos, sin)
        return h + self.feed_forward(self.ffn_norm(h))


class WrittenLlama(nn.Module):

    def __init__(self, n=16, h=2, kv=1, layers=2, vocab=VOCAB, block=64):
        super().__init__()
        self.tok = nn.Embedding(vocab, n)
        self.layers = nn.ModuleList([LlamaBlock(n, h, kv, block) for _ in range(layers)])
        self.norm = RMSNorm(n)
        self.output = nn.Linear(n, vocab, bias=False)
        f = 1.0 / 10000.0 ** (torch.arange(0, n // h, 2).float() / (n // h))
        a = torch.outer(torch.arange(block).float(), f)
        self.register_buffer('cos', a.cos())
        self.register_buffer('sin', a.sin())


    def forward(self, ids: Tensor) -> Tensor:
        x = self.tok(ids)
        t = ids.shape[1]
        for layer in self.layers:
            x = layer(x, self.cos[:t], self.sin[:t])
        return self.output(self.norm(x))


# An encoder: queries are scaled, the mask is an optional argument that is added.
class EncoderAttention(nn.Module):

    def __init__(self, n, h):
        super().__init__()
        self.h = h
        self.d = n // h
        self.scaling = self.d ** (-0.5)
        self.q_proj = nn.Linear(n, n)
        self.k_proj = nn.Linear(n, n)
        self.v_proj = nn.Linear(n, n)
        self.out_proj = nn.Linear(n, n)


    def shape(self, x: Tensor, b: int) -> Tensor:
        return x.view(b, -1, self.h, self.d).transpose(1, 2)


    def forward(self, x: Tensor, mask: Optional[Tensor]=None) -> Tensor:
        b, t, n = x.size()
        q = self.shape(self.q_proj(x) * self.scaling, b)
        k = self.shape(self.k_proj(x), b)
        v = self.shape(self.v_proj(x), b)
        scores = torch.matmul(q, k.transpose(-1, -2))
        if mask is not None:
            scores = scores + mask
        p = torch.softmax(scores, dim=-1)
        p = F.dropout(p, p=0.1, training=self.training)
        return self.out_proj(torch.matmul(p, v).transpose(1, 2).reshape(b, t, n))


class EncoderLayer(nn.Module):

    def __init__(self, n, h):
        super().__init__()
        self.attn = EncoderAttention(n, h)
        self.norm1 = nn.LayerNorm(n)
        self.norm2 = nn.LayerNorm(n)
        self.fc1 = nn.Linear(n, 4 * n)
        self.fc2 = nn.Linear(4 * n, n)
        self.act = nn.GELU()


    def forward(self, x: Tensor, mask: Optional[Tensor]=None) -> Tensor:
        x = self.norm1(x + self.attn(x, mask))
        return self.norm2(x + self.fc2(self.act(self.fc1(x))))


class WrittenEncoder(nn.Module):

    def __init__(self, n=16, h=2, layers=2, vocab=VOCAB):
        super().__init__()
        self.emb = nn.Embedding(vocab, n)
        self.layers = nn.ModuleList([EncoderLayer(n, h) for _ in range(layers)])


    def forward(self, ids: Tensor) -> Tensor:
        x = self.emb(ids)
        b, t = ids.shape
        mask = torch.zeros(b, 1, 1, t, dtype=x.dtype).masked_fill((ids == 0).view(b, 1, 1, t), -1e9)
        for l in self.layers:
            x = l(x, mask)
        return x


# T5's norm, which asks for the weight's dtype, attention with a bias and no scale, gate and up in one Linear.
class PackedMLP(nn.Module):

    def __init__(self, n, m):
        super().__init__()
        self.gate_up_proj = nn.Linear(n, 2 * m, bias=False)
        self.down_proj = nn.Linear(m, n, bias=False)
        self.act = nn.SiLU()


    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        return self.down_proj(up * self.act(gate))


class T5LayerNorm(nn.Module):

    def __init__(self, n, eps=1e-06):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(n))
        self.variance_epsilon = eps


    def forward(self, x: Tensor) -> Tensor:
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.variance_epsilon)
        if self.weight.dtype == torch.float16 or self.weight.dtype == torch.bfloat16:
            x = x.to(self.weight.dtype)
        return self.weight * x


class T5Block(nn.Module):

    def __init__(self, n, h):
        super().__init__()
        self.h = h
        self.d = n // h
        self.q = nn.Linear(n, n, bias=False)
        self.k = nn.Linear(n, n, bias=False)
        self.v = nn.Linear(n, n, bias=False)
        self.o = nn.Linear(n, n, bias=False)
        self.norm = T5LayerNorm(n)
        self.mlp = PackedMLP(n, 2 * n)
        self.norm2 = T5LayerNorm(n)


    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        b, t, n = x.shape
        y = self.norm(x)
        q = self.q(y).view(b, t, self.h, self.d).transpose(1, 2)
        k = self.k(y).view(b, t, self.h, self.d).transpose(1, 2)
        v = self.v(y).view(b, t, self.h, self.d).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(3, 2))
        scores = scores + bias
        w = F.softmax(scores.float(), dim=-1).type_as(scores)
        x = x + self.o(torch.matmul(w, v).transpose(1, 2).contiguous().view(b, t, n))
        return x + self.mlp(self.norm2(x))


class WrittenT5(nn.Module):

    def __init__(self, n=16, h=2, layers=2, vocab=VOCAB):
        super().__init__()
        self.emb = nn.Embedding(vocab, n)
        self.rel = nn.Embedding(64, h)
        self.blocks = nn.ModuleList([T5Block(n, h) for _ in range(layers)])


    def forward(self, ids: Tensor) -> Tensor:
        x = self.emb(ids)
        t = ids.shape[1]
        pos = torch.arange(t)
        bias = self.rel((pos[None, :] - pos[:, None]).abs()).permute(2, 0, 1).unsqueeze(0)
        for blk in self.blocks:
            x = blk(x, bias)
        return x


# A state space model in small: the convolution as transformers has it, a gate, and a norm.
class CausalMixer(nn.Module):
    def __init__(self, width, inner, kernel, activation):
        super().__init__()
        self.inner = inner
        self.activation = activation
        self.in_proj = nn.Linear(width, 2 * inner, bias=False)
        self.conv1d = nn.Conv1d(inner, inner, kernel, groups=inner, padding=kernel - 1, bias=activation)
        self.out_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        states, gate = self.in_proj(x).transpose(1, 2).chunk(2, dim=1)
        weight = self.conv1d.weight.squeeze(1)
        out = F.conv1d(states, weight.unsqueeze(1), self.conv1d.bias, padding=weight.shape[-1] - 1, groups=self.inner)
        out = out[:, :, :states.shape[-1]]
        if self.activation:
            out = F.silu(out)
        return self.out_proj((out * F.silu(gate)).transpose(1, 2))


class WrittenMixer(nn.Module):
    def __init__(self, width=16, inner=24):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.norm = RMSNorm(width)
        self.first = CausalMixer(width, inner, 4, True)
        self.second = CausalMixer(width, inner, 2, False)
        self.head = nn.Linear(width, VOCAB, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        x = x + self.first(self.norm(x))
        return self.head(x + self.second(x))
