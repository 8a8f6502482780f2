"""Write small hand-written models to handmade/: a Llama-like stack, scripted and traced, in forms that real models take
and in forms that only look like them.

    python tests/models/handmade.py [--out DIR] [NAME ...]

README.md says what each archive is for. Names, classes and attributes follow transformers' Llama.
"""

import argparse
import math
import os
import pathlib
import sys
from typing import Dict, Final, List, Optional, Tuple

import torch
from torch import Tensor, nn

import make
import written

HIDDEN, HEADS, INTER = 16, 2, 32


# The norm as transformers' Llama has it, and forms that differ from it in one place each.
class TinyRMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))
        self.variance_epsilon = 1e-3  # large, so that eps in another place shows in the output

    def forward(self, hidden_states: Tensor) -> Tensor:
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class MyRMSNorm(TinyRMSNorm):
    pass


class OtherAxisRMSNorm(TinyRMSNorm):
    def forward(self, hidden_states: Tensor) -> Tensor:
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class ClampedRMSNorm(TinyRMSNorm):
    def forward(self, hidden_states: Tensor) -> Tensor:
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True).clamp(max=0.5)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class EpsOutsideRMSNorm(TinyRMSNorm):
    def forward(self, hidden_states: Tensor) -> Tensor:
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states / (torch.sqrt(variance) + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class UncastRMSNorm(TinyRMSNorm):
    def forward(self, hidden_states: Tensor) -> Tensor:
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states


# One class a norm: TorchScript shares a type between instances of one Python class.
class FirstInputRMSNorm(TinyRMSNorm):
    pass


class FirstPostRMSNorm(TinyRMSNorm):
    pass


class SecondInputRMSNorm(TinyRMSNorm):
    pass


class SecondPostRMSNorm(TinyRMSNorm):
    pass


class FinalRMSNorm(TinyRMSNorm):
    pass


OWN_CLASSES = [FirstInputRMSNorm, FirstPostRMSNorm, SecondInputRMSNorm, SecondPostRMSNorm,
               FinalRMSNorm]


class TinyMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(HIDDEN, INTER, bias=False)
        self.up_proj = nn.Linear(HIDDEN, INTER, bias=False)
        self.down_proj = nn.Linear(INTER, HIDDEN, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(torch.nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class TinyAttention(nn.Module):
    heads: Final[int] = HEADS
    head_dim: Final[int] = HIDDEN // HEADS

    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.k_proj = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.v_proj = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.o_proj = nn.Linear(HIDDEN, HIDDEN, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        shape = [x.size(0), x.size(1), self.heads, self.head_dim]
        q = self.q_proj(x).view(shape).transpose(1, 2)
        k = self.k_proj(x).view(shape).transpose(1, 2)
        v = self.v_proj(x).view(shape).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(2, 3)) * (1.0 / math.sqrt(self.head_dim))
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        out = torch.matmul(weights, v).transpose(1, 2).contiguous()
        return self.o_proj(out.reshape(x.size(0), x.size(1), self.heads * self.head_dim))


class Block(nn.Module):
    def __init__(self, input_norm, post_norm):
        super().__init__()
        self.input_layernorm = input_norm()
        self.self_attn = TinyAttention()
        self.post_attention_layernorm = post_norm()
        self.mlp = TinyMLP()

    def forward(self, hidden_states: Tensor) -> Tensor:
        hidden_states = hidden_states + self.self_attn(self.input_layernorm(hidden_states))
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


class InPlaceBlock(Block):
    """What the second norm reads is changed in place after it has read it, before its result is used."""

    def forward(self, hidden_states: Tensor) -> Tensor:
        hidden_states = hidden_states + self.self_attn(self.input_layernorm(hidden_states))
        normed = self.post_attention_layernorm(hidden_states)
        hidden_states.add_(1.0)
        return hidden_states + self.mlp(normed)


class UncalledBlock(Block):
    """Holds a norm that forward never calls."""

    def __init__(self, input_norm, post_norm):
        super().__init__(input_norm, post_norm)
        self.unused_layernorm = input_norm()


class Stack(nn.Module):
    def __init__(self, norms, block=Block):
        super().__init__()
        self.embed_tokens = nn.Embedding(make.VOCAB, HIDDEN)
        self.layers = nn.ModuleList([block(norms[0], norms[1]), block(norms[2], norms[3])])
        self.norm = norms[4]()

    def forward(self, input_ids: Tensor) -> Tensor:
        hidden_states = self.embed_tokens(input_ids)
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return self.norm(hidden_states)


# Archives that are hard to read, not hard to match.
class Remembering(nn.Module):
    """Defines __setstate__: loading its archive runs the archive's code."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.loads = 0

    @torch.jit.export
    def __getstate__(self) -> Tuple[int, bool]:
        return self.loads, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[int, bool]) -> None:
        self.weight = torch.ones(3)
        self.loads = state[0] + 1
        self.training = state[1]

    def forward(self, x: Tensor) -> Tensor:
        return x.to(self.weight.dtype).sum() * self.weight


class SetState(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Remembering()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


class OddAttributes(nn.Module):
    """Buffers, an absent bias, ties, containers and an instance under two names."""

    index: List[int]
    scales: Dict[str, float]
    nothing: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(make.VOCAB, 4)
        self.head = nn.Linear(4, make.VOCAB, bias=False)
        self.head.weight = self.embed.weight
        self.by_name = nn.ModuleDict({"one": nn.Linear(4, 4, bias=False), "two": nn.Identity()})
        self.again = self.by_name["one"]
        self.bn = nn.BatchNorm1d(4)
        self.register_buffer("table", torch.arange(6, dtype=torch.int64).reshape(2, 3))
        self.register_buffer("mask", torch.tensor([True, False]), persistent=False)
        self.scalar = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
        self.index = [1, 2, 70000, 5_000_000_000]
        self.scales = {"a": 0.5}
        self.nothing = None
        self.no_tensors: List[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        h = self.again(self.by_name["two"](self.by_name["one"](self.embed(x))))
        h = self.bn(h.transpose(1, 2)).transpose(1, 2)
        return self.head(h) * self.scales["a"] + self.index[0] + self.table.sum() * self.scalar


def all_of(norm):
    return [norm] * 5


def post_only(norm):
    """The form in question in one place, TinyRMSNorm in the others."""
    return [TinyRMSNorm, norm, TinyRMSNorm, TinyRMSNorm, TinyRMSNorm]


import forms  # here: the lines of the classes above are in their archives
import pointwise_forms

MODELS = {
    "own_classes": lambda: Stack(OWN_CLASSES),
    "shared_class": lambda: Stack(all_of(TinyRMSNorm)),
    "my_rms_norm": lambda: Stack(all_of(MyRMSNorm)),
    "norm_axis": lambda: Stack(post_only(OtherAxisRMSNorm)),
    "norm_clamp": lambda: Stack(post_only(ClampedRMSNorm)),
    "norm_eps_outside": lambda: Stack(post_only(EpsOutsideRMSNorm)),
    "norm_uncast": lambda: Stack(post_only(UncastRMSNorm)),
    "inplace_input": lambda: Stack(all_of(TinyRMSNorm), InPlaceBlock),
    "never_called": lambda: Stack(all_of(TinyRMSNorm), UncalledBlock),
    "set_state": SetState,
    "odd_attributes": OddAttributes,
    "written_gpt": written.WrittenGPT,
    "written_llama": written.WrittenLlama,
    "written_encoder": written.WrittenEncoder,
    "written_t5": written.WrittenT5,
    "written_mixer": written.WrittenMixer,
    "forms": forms.Forms,
    "pointwise_forms": pointwise_forms.PointwiseForms,
}
BF16 = ["shared_class", "norm_uncast", "written_llama", "written_t5", "forms", "pointwise_forms"]
SCRIPTED_ONLY = ["set_state", "odd_attributes"]
ARCHIVES = ([(m, torch.float32, form) for m in MODELS for form in ("scripted", "traced")
             if form == "scripted" or m not in SCRIPTED_ONLY] +
            [(m, torch.bfloat16, form) for m in BF16 for form in ("scripted", "traced")])


def archive_name(model, dtype, form):
    return f"{model}{'.bf16' if dtype == torch.bfloat16 else ''}.{form}"


def make_one(path, name, dtype, form):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = MODELS[name]().eval().to(dtype) if name not in SCRIPTED_ONLY else MODELS[name]().eval()
    make.randomise_vectors(model)
    x = torch.randint(1, make.VOCAB, (2, 8))
    with torch.no_grad():
        module = (torch.jit.script(model) if form == "scripted" else
                  torch.jit.trace(model, (x,), check_trace=False))
        if not torch.equal(module(x), model(x)):
            raise RuntimeError(f"{name}: the {form} form does not compute what the model computes")
    make.save(module, x, path)


def main():
    make.fix_hash_seed()
    os.chdir(make.HERE)  # where inspect, on TorchScript's behalf, finds this file under its relative name
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=make.HERE / "handmade")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    known = {archive_name(*a): a for a in ARCHIVES}
    unknown = [n for n in args.names if n not in known]
    if unknown:
        parser.error(f"no such archive: {', '.join(unknown)}; there are: {', '.join(known)}")
    make.relative_source_files()
    jobs = [(n, make_one, (args.out / f"{n}.pt", *known[n])) for n in args.names or known]
    sys.exit(1 if make.make_all(jobs) else 0)


if __name__ == "__main__":
    main()
