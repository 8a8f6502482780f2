"""The module tree that `kernelmap inspect` reads, against what torch.jit.load gives, on every archive in tests/models.

    python tests/archive/test_module_tree.py KERNELMAP

Exits 77 (ctest: skipped) where torch or jsonschema is missing.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests/models"
KERNELMAP = sys.argv.pop(1) if len(sys.argv) > 1 else str(ROOT / "build/bin/kernelmap")


def inspect(path, *flags):
    return subprocess.run([KERNELMAP, "inspect", str(path), *flags], capture_output=True, text=True)


def inspect_json(path):
    done = inspect(path, "--format", "json")
    if done.returncode or done.stderr:
        raise AssertionError(f"{path}: exit {done.returncode}, {done.stderr}")
    return json.loads(done.stdout)


def tensors(named):
    return [{"name": n, "shape": list(t.shape), "dtype": str(t.dtype).removeprefix("torch.")}
            for n, t in named]


def expected_modules(path):
    result = []
    for name, module in torch.jit.load(str(path)).named_modules():
        result.append({
            "path": name,
            "class": module.original_name,
            "parameters": tensors(module.named_parameters(recurse=False, remove_duplicate=False)),
            "buffers": tensors(module.named_buffers(recurse=False, remove_duplicate=False)),
        })
    return result


class ModuleTree(unittest.TestCase):
    maxDiff = None

    def check(self, path):
        result = inspect_json(path)
        jsonschema.validate(result, json.loads((ROOT / "schemas/inspect.schema.json").read_text()))
        opaque = {m["path"] for m in result["modules"] if m["opaque"]}
        found = [{k: m[k] for k in ("path", "class", "parameters", "buffers")}
                 for m in result["modules"]]
        wanted = expected_modules(path)
        for module in wanted:
            if module["path"] in opaque:  # only running its __setstate__ would tell
                module["parameters"] = module["buffers"] = []
        self.assertEqual(found, wanted)
        return result

    def test_every_model(self):
        paths = sorted(MODELS.glob("**/*.pt"))
        self.assertGreater(len(paths), 40)
        for path in paths:
            with self.subTest(path.relative_to(MODELS)):
                result = self.check(path)
                self.assertEqual(result["model"]["file"], path.name)
                self.assertEqual(result["model"]["extra_files"], ["input.json"])

    def test_set_state_is_found(self):
        for path in sorted(MODELS.glob("**/*.pt")):
            with self.subTest(path.relative_to(MODELS)):
                classes = inspect_json(path)["model"]["set_state_classes"]
                self.assertEqual(classes, ["__torch__.Remembering"]
                                 if path.name == "set_state.scripted.pt" else [])

    def test_names(self):
        modules = {m["path"]: m for m in inspect_json(MODELS / "llama.pt")["modules"]}
        norm = modules["model.model.layers.0.input_layernorm"]
        self.assertEqual(norm["class"], "LlamaRMSNorm")
        self.assertIn("RMSNorm", norm["names"])
        self.assertEqual(modules["model.lm_head"]["names"], [])

    def test_text(self):
        done = inspect(MODELS / "llama.pt")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        norm = [line for line in done.stdout.splitlines() if " model.model.norm " in line]
        self.assertEqual(len(norm), 1)
        self.assertIn("LlamaRMSNorm", norm[0])
        self.assertIn("weight float32[32]", norm[0])

    def test_dtypes_and_shapes(self):
        class Many(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for name in ("float64", "float16", "bfloat16", "int64", "int32", "int16", "int8",
                             "uint8", "bool", "complex64", "complex128", "float8_e4m3fn", "uint16"):
                    tensor = torch.zeros(2, 3, 4).to(getattr(torch, name))
                    self.register_buffer(f"b_{name}", tensor.transpose(0, 2))
                self.register_buffer("empty", torch.zeros(0, 5))
                self.register_buffer("view", torch.arange(10)[2:5])

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x + self.view

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "many.pt"
            torch.jit.script(Many()).save(str(path))
            self.check(path)

    def test_shared_and_nested(self):
        class Leaf(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x

        class Nested(torch.nn.Module):
            def __init__(self):
                super().__init__()
                leaf = Leaf()
                self.b = torch.nn.Sequential(leaf, torch.nn.ModuleList([leaf, Leaf()])[1])
                self.a = leaf
                self.names = torch.nn.ModuleDict({"z-1": Leaf(), "a b": torch.nn.Linear(2, 2)})

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                for module in self.names.values():
                    x = module(x)
                return self.a(self.b(x))

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "nested.pt"
            torch.jit.script(Nested()).save(str(path))
            self.check(path)

    def test_quantized(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.quant = torch.ao.quantization.QuantStub()
                self.conv = torch.nn.Conv2d(1, 2, 3)
                self.linear = torch.nn.Linear(2, 2)
                self.dequant = torch.ao.quantization.DeQuantStub()

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x = self.conv(self.quant(x)).mean([2, 3])
                return self.dequant(self.linear(x))

        model = Model().eval()
        model.qconfig = torch.ao.quantization.default_qconfig
        torch.ao.quantization.prepare(model, inplace=True)
        model(torch.rand(1, 1, 5, 5))
        torch.ao.quantization.convert(model, inplace=True)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "quantized.pt"
            torch.jit.script(model).save(str(path))
            result = self.check(path)
        self.assertEqual([m["path"] for m in result["modules"] if m["opaque"]], ["conv"])
        self.assertEqual(result["model"]["set_state_classes"],
                         ["__torch__.torch.ao.nn.quantized.modules.conv.Conv2d"])

    def test_what_it_is_instead(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "other"
            saved = (("torch.save` file (format version 3)", {}),
                     ("torch.save` file of before", {"_use_new_zipfile_serialization": False}))
            for expected, options in saved:
                torch.save({"weight": torch.ones(3)}, path, **options)
                done = inspect(path)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn("error[KM0803]: not a TorchScript archive", done.stderr)
                self.assertIn(expected, done.stderr)
            program = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
            torch.export.save(program, str(path) + ".pt2")
            done = inspect(str(path) + ".pt2")
            self.assertEqual(done.returncode, 1)
            self.assertIn("torch.export archive", done.stderr)

    def test_paths(self):
        for path, expected in (("no/such/file.pt", "No such file"), (str(MODELS), "a directory")):
            done = inspect(path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("error[KM0801]", done.stderr)
            self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    unittest.main()
