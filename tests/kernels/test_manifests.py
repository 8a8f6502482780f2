"""Each built-in kernel against every reference that its manifest names, within its tolerance.

Both are TorchScript source; here they run as plain Python, names of ATen included.
"""
import pathlib
import tomllib
import unittest
from typing import Tuple

import torch
from kernel_case import KernelCase

KERNELS = pathlib.Path(__file__).parents[2] / "kernels"


class Aten:
    """`torch` as TorchScript source sees it: every ATen op is a function of it."""

    def __getattr__(self, name):
        return getattr(torch, name) if hasattr(torch, name) else getattr(torch.ops.aten, name)


def compiled(source):
    names = {"torch": Aten(), "Tensor": torch.Tensor, "Tuple": Tuple}
    exec(source, names)
    return names["forward"]


def mlp(*widths):
    x = torch.randn(2, 7, 64)
    return [x] + [torch.randn(*w) / 8 for w in widths]


def rotary(reference):
    q, k = torch.randn(2, 9, 4, 32), torch.randn(2, 9, 2, 32)
    if "unbound" in reference:
        return [q, k, torch.randn(9, 16), torch.randn(9, 16)]
    if "heads_last" not in reference and "pair_tables" not in reference:
        q, k = q.transpose(1, 2), k.transpose(1, 2)
    rotated = 16 if "partial" in reference else 32
    width = rotated // 2 if "pair_tables" in reference else rotated
    values = [rotated] if reference == "interleaved_pair_tables_partial" else []
    return [q, k, torch.randn(2, 9, width), torch.randn(2, 9, width), *values]


def attention(heads, kv_heads, reference):
    q = torch.randn(2, 11, heads, 32).transpose(1, 2)
    k, v = (torch.randn(2, 11, kv_heads, 32).transpose(1, 2) for _ in range(2))
    causal = torch.full((11, 11), -1e4).triu(1).expand(2, 1, 11, 11)
    repeat = [heads // kv_heads] if kv_heads < heads else []
    mask = [causal < 0] if "masked" in reference else [causal] if "mask" in reference else []
    bias = [torch.randn(1, heads, 11, 11)] if "bias" in reference else []
    cap = [0.7] if "softcap" in reference else []
    return [q, k, v, *bias, *mask, *repeat, 32**0.5 if "div" in reference else 32**-0.5, *cap]


def layer_norm(reference):
    if reference.startswith("channels_first"):
        return [torch.randn(2, 64, 5, 3) + 0.5, torch.randn(64), torch.randn(64), 1e-6]
    width = [64] if reference in ("plain", "plain_float32") else []
    given = [torch.randn(64)] * (not reference.endswith("plain") and not width)
    given += [torch.randn(64)] * reference.endswith("affine")
    return [torch.randn(3, 5, 64) + 0.5, *width, *given, 1e-6]


def inputs(layer, reference):
    """Arguments of the reference, tensors in float32."""
    if layer in ("RMSNorm", "GemmaRMSNorm"):
        return [torch.randn(3, 5, 64), torch.randn(64), 1e-6]
    if layer == "add_rms_norm":
        return [torch.randn(3, 5, 64), torch.randn(3, 5, 64), torch.randn(64), 1e-6]
    if layer == "Linear":
        return [torch.randn(2, 7, 64), torch.randn(96, 64) / 8, torch.randn(96)][:3 if reference == "bias" else 2]
    if layer == "LayerNorm":
        return layer_norm(reference)
    if layer in ("NewGELU", "GeluTanh", "FastGELU", "QuickGELU", "GeLU"):
        return [torch.randn(3, 5, 64) * 2] + ([torch.randn(64)] if reference.startswith("bias") else [])
    if layer == "rotary_pos_emb":
        return rotary(reference)
    if layer == "attention":
        return attention(4, 2 if "gqa" in reference else 4, reference)
    if reference == "fused_gate_up":
        return mlp((192, 64), (64, 96))
    if reference.endswith("bias"):
        return mlp((96, 64), (96,), (96, 64), (96,), (64, 96), (64,))
    return mlp((96, 64), (96, 64), (64, 96))


def calculate(layout, parameters):
    """A layout of the manifests' own, which are of two forms: a parameter, or concat of some."""
    if not layout.startswith("concat("):
        return parameters[layout]
    *parts, dim = layout.removeprefix("concat(").removesuffix(")").split(", ")
    return torch.cat([parameters[part] for part in parts], int(dim.removeprefix("dim=")))


def names_of(source):
    return [a.split(":")[0].strip() for a in source.split("(", 1)[1].split(")", 1)[0].split(",")]


def fused_cases():
    """(kernel, name, the members' stock code on x, the kernel's code on x), per dtype."""
    layers = all_layers()
    for path in sorted((KERNELS / "builtin").glob("*/manifest.toml")):
        kernel = tomllib.loads(path.read_text())
        for implementation in kernel["implements"]:
            if "members" in implementation:
                for dtype in kernel["dtypes"]:
                    yield kernel, implementation, dtype, layers


def all_layers():
    layers = {}
    for path in sorted((KERNELS / "layers").glob("*.toml")):
        layer = tomllib.loads(path.read_text())
        layers[layer["name"]] = {r["name"]: r["source"] for r in layer["reference"]}
    return layers


def cases():
    layers = all_layers()
    for path in sorted((KERNELS / "builtin").glob("*/manifest.toml")):
        kernel = tomllib.loads(path.read_text())
        for implementation in kernel["implements"]:
            for reference in implementation.get("references", []):
                stock = layers[implementation["layer"]][reference]
                yield kernel, implementation, reference, stock


class Manifests(KernelCase):
    def test_every_reference_within_tolerance(self):
        seen = 0
        for kernel, implementation, reference, stock in cases():
            for dtype in kernel["dtypes"]:
                with self.subTest(kernel=kernel["name"], reference=reference, dtype=dtype):
                    cast = [
                        a.to(getattr(torch, dtype)) if isinstance(a, torch.Tensor) and a.is_floating_point() else a
                        for a in inputs(implementation["layer"], reference)
                    ]
                    ours, theirs = compiled(implementation["source"])(*cast), compiled(stock)(*cast)
                    if not isinstance(ours, tuple):
                        ours, theirs = (ours,), (theirs,)
                    self.assertEqual(len(ours), len(theirs))
                    for a, b in zip(ours, theirs):
                        self.assert_close(a, b, kernel["tolerance"][dtype])
                        if implementation.get("contiguous_output", True) and b.is_contiguous():
                            self.assertTrue(a.is_contiguous())
                    seen += 1
        self.assertGreater(seen, 0)

    def test_fused_kernels_within_tolerance(self):
        seen = 0
        for kernel, implementation, dtype, layers in fused_cases():
            with self.subTest(kernel=kernel["name"], members=implementation["members"], dtype=dtype):
                x = torch.randn(2, 7, 64).to(getattr(torch, dtype))
                given, result, results = {"x": x}, x, []
                for member in implementation["members"]:
                    [form] = member["references"]
                    stock = layers[member["layer"]][form]
                    values = inputs(member["layer"], form)[1:]
                    values = [v.to(x.dtype) if isinstance(v, torch.Tensor) else v for v in values]
                    for name, value in zip(names_of(stock)[1:], values, strict=True):
                        given[f"{member['name']}.{name}"] = given[name] = value
                    source = x if implementation.get("same_input") else result
                    result = compiled(stock)(source, *values)
                    results.append(result)
                for name, parameter in implementation.get("sizes", {}).items():
                    given[name] = given[parameter].shape[0]
                for name, layout in implementation["layout"].items():
                    given[name] = calculate(layout, dict(given))
                arguments = [given[name] for name in names_of(implementation["source"])]
                ours = compiled(implementation["source"])(*arguments)
                theirs = results if implementation.get("same_input") else [result]
                ours = ours if isinstance(ours, tuple) else (ours,)
                for a, b in zip(ours, theirs, strict=True):
                    self.assert_close(a, b, kernel["tolerance"][dtype])
                seen += 1
        self.assertGreater(seen, 0)

    def test_names_are_folders(self):
        for path in (KERNELS / "builtin").iterdir():
            self.assertEqual(tomllib.loads((path / "manifest.toml").read_text())["name"], path.name)


if __name__ == "__main__":
    unittest.main()
