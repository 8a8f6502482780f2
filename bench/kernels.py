"""Times each built-in kernel against the stock code.

usage: kernels.py [--threads N] [--seconds S] [--compile] [--only NAME] [-o RESULTS.md]

Columns are times relative to the kernel's (above 1: the kernel is faster): stock code in eager mode, stock
code in TorchScript (against the kernel in TorchScript), torch.compile with --compile, and where ATen has
one operation for it, that. Exit code 1 when stock code beats a kernel by more than 5 %.
"""
import argparse
import functools
import os
import sys
import warnings

import torch
from torch import Tensor
from timing import machine, medians
from typing import Optional, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
torch.ops.load_library(os.environ.get("KM_RUNTIME", f"{ROOT}/build/lib/libkernelmap_runtime.so"))
warnings.filterwarnings("ignore")


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    h = x.to(torch.float32)
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * h.to(x.dtype)


def km_rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return torch.ops.kernelmap.rms_norm(x, weight, 1e-6)


def aten_rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return torch.rms_norm(x, [x.shape[-1]], weight, 1e-6)


def gemma_norm(x: Tensor, weight: Tensor) -> Tensor:
    h = x.float()
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
    return (h * (1.0 + weight.float())).type_as(x)


def km_gemma_norm(x: Tensor, weight: Tensor) -> Tensor:
    return torch.ops.kernelmap.rms_norm(x, weight, 1e-6, 1.0, False)


def silu_and_mul(gate: Tensor, up: Tensor) -> Tensor:
    return torch.nn.functional.silu(gate) * up


def km_silu_and_mul(gate: Tensor, up: Tensor) -> Tensor:
    return torch.ops.kernelmap.silu_and_mul(gate, up)


def gelu_and_mul(gate: Tensor, up: Tensor) -> Tensor:
    return torch.nn.functional.gelu(gate) * up


def km_gelu_and_mul(gate: Tensor, up: Tensor) -> Tensor:
    return torch.ops.kernelmap.gelu_and_mul(gate, up, "none")


def gelu_tanh_and_mul(gate: Tensor, up: Tensor) -> Tensor:
    return torch.nn.functional.gelu(gate, approximate="tanh") * up


def km_gelu_tanh_and_mul(gate: Tensor, up: Tensor) -> Tensor:
    return torch.ops.kernelmap.gelu_and_mul(gate, up, "tanh")


def new_gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))


def km_new_gelu(x: Tensor) -> Tensor:
    return torch.ops.kernelmap.gelu_tanh(x)


def aten_new_gelu(x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh")


def rotate_half(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def rotary(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    cos = cos.unsqueeze(1)
    sin = sin.unsqueeze(1)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def km_rotary(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Tuple[Tensor, Tensor]:
    return torch.ops.kernelmap.rotary(q, k, cos, sin, 1)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
    scores = torch.matmul(q, k.transpose(2, 3)) * 0.08838834764
    if mask is not None:
        scores = scores + mask
    weights = torch.softmax(scores, -1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(weights, v).transpose(1, 2).contiguous()


def km_attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
    return torch.ops.kernelmap.attention(q, k, v, mask, 0.08838834764).transpose(1, 2).contiguous()


def aten_attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=0.08838834764)
    return out.transpose(1, 2).contiguous()


def randn(dtype, *shape):
    return torch.randn(shape).to(dtype)


def norm_inputs(tokens, hidden, dtype):
    return randn(dtype, tokens, hidden), randn(dtype, hidden)


def gated_inputs(tokens, hidden, dtype):
    return randn(dtype, tokens, 3 * hidden), randn(dtype, tokens, 3 * hidden)


def gelu_inputs(tokens, hidden, dtype):
    return (randn(dtype, tokens, 4 * hidden),)


def heads(dtype, tokens, count):
    return randn(dtype, 1, tokens, count, 128).transpose(1, 2)


def rotary_inputs(tokens, hidden, dtype):
    q, k = heads(dtype, tokens, hidden // 128), heads(dtype, tokens, hidden // 512)
    return q, k, randn(dtype, 1, tokens, 128), randn(dtype, 1, tokens, 128)


def attention_inputs(tokens, hidden, dtype):
    """Few tokens: decoding after 512; many: a causal mask."""
    past = 512 if tokens < 16 else 0
    q = heads(dtype, tokens, hidden // 128)
    k, v = heads(dtype, tokens + past, hidden // 128), heads(dtype, tokens + past, hidden // 128)
    mask = None if tokens == 1 else torch.full((1, 1, tokens, tokens + past), -1e9).triu(1 + past).to(dtype)
    return q, k, v, mask


# name: (kernel, stock, one ATen operation or None, inputs)
CASES = {
    "rms_norm": (km_rms_norm, rms_norm, aten_rms_norm, norm_inputs),
    "rms_norm (gemma)": (km_gemma_norm, gemma_norm, None, norm_inputs),
    "swiglu_mlp: silu_and_mul": (km_silu_and_mul, silu_and_mul, None, gated_inputs),
    "geglu_mlp: gelu_and_mul": (km_gelu_and_mul, gelu_and_mul, None, gated_inputs),
    "geglu_mlp: gelu_and_mul tanh": (km_gelu_tanh_and_mul, gelu_tanh_and_mul, None, gated_inputs),
    "new_gelu": (km_new_gelu, new_gelu, aten_new_gelu, gelu_inputs),
    "rotary": (km_rotary, rotary, None, rotary_inputs),
    "sdpa": (km_attention, attention, aten_attention, attention_inputs),
}
SHAPES = [(1, 1024), (1, 4096), (8, 1024), (8, 4096), (512, 1024), (512, 4096), (2048, 1024), (2048, 4096)]


@functools.lru_cache(maxsize=None)
def compile_once(stock):
    return torch.compile(stock, dynamic=True)  # one compilation a dtype serves all shapes


def compiled(stock, inputs):
    """torch.compile of the stock code, or the reason why there is none."""
    try:
        function = compile_once(stock)
        function(*inputs)
        return function
    except Exception as error:  # no C++ compiler, for one
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def measure(case, tokens, hidden, dtype, options):
    """(seconds of the kernel, {column: ratio}); prints why a column is missing."""
    kernel, stock, fused, make = case
    inputs = make(tokens, hidden, dtype)
    contenders = {
        "kernel": kernel, "eager": stock,
        "kernel scripted": torch.jit.script(kernel), "scripted": torch.jit.script(stock),
    }
    if fused:
        contenders["ATen"] = fused
    if options.compile:
        function = compiled(stock, inputs)
        if isinstance(function, str):
            print(f"torch.compile left out: {function}", file=sys.stderr)
        else:
            contenders["compile"] = function
    calls = [lambda f=f: f(*inputs) for f in contenders.values()]
    times = dict(zip(contenders, medians(calls, options.seconds)))
    ratios = {name: times[name] / times["kernel"] for name in ("eager", "ATen", "compile") if name in times}
    ratios["scripted"] = times["scripted"] / times["kernel scripted"]
    return times["kernel"], ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=0.1, help="a contender and shape")
    parser.add_argument("--compile", action="store_true", help="also torch.compile (slow to start)")
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("-o", "--output", help="also write the table, as Markdown")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)

    columns = ["eager", "scripted"] + (["compile"] if options.compile else []) + ["ATen"]
    lines = [f"{machine()}; median times of stock code over the kernel's", "",
             "| kernel | dtype | tokens x hidden | kernel, us | " + " | ".join(columns) + " |",
             "| --- | --- | --- | ---: |" + " ---: |" * len(columns)]
    print("\n".join(lines), flush=True)
    slower = []
    with torch.no_grad():
        for name, case in CASES.items():
            if options.only not in name:
                continue
            for dtype in (torch.float32, torch.bfloat16):
                for tokens, hidden in SHAPES:
                    if name == "sdpa" and tokens == 2048 and hidden == 4096:
                        continue  # the stock code's scores would take gigabytes
                    seconds, ratios = measure(case, tokens, hidden, dtype, options)
                    if min(ratios["eager"], ratios["scripted"]) < 0.95:  # noise? longer, and that counts
                        longer = argparse.Namespace(**{**vars(options), "seconds": 5 * options.seconds})
                        seconds, ratios = measure(case, tokens, hidden, dtype, longer)
                    cells = [f"{ratios[c]:.2f}" if c in ratios else "" for c in columns]
                    where = f"{name} | {str(dtype)[6:]} | {tokens} x {hidden}"
                    lines.append(f"| {where} | {seconds * 1e6:.1f} | " + " | ".join(cells) + " |")
                    print(lines[-1], flush=True)
                    slower += [f"{where} ({c})" for c in ("eager", "scripted") if ratios[c] < 0.95]
    lines += ["", "Stock code is faster by more than 5 %: " + ("; ".join(slower) if slower else "nowhere")]
    print("\n".join(lines[-2:]))
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
