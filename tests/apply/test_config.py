"""What a config changes at the sites of a model."""

import base64
import hashlib
import json
import platform
import unittest

import torch
from torch import nn

import km

NORM = 'RMSNorm = "builtin:rms_norm"\n'
ONLY_NORMS = "inherit_mapping = false\n[kernel_mapping]\n" + NORM


class OwnRMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.to(torch.float32)
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * (wide * scale).to(x.dtype)


class Scale(OwnRMSNorm):
    """A norm whose name says nothing."""


class FloatInput(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm = norm(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x) * 2.0


class Config(km.Case):
    def save(self, module, example=None):
        """Scripted, or traced with an example."""
        path = self.folder / "model.pt"
        module = torch.jit.trace(module, (example,)) if example is not None else torch.jit.script(module)
        torch.jit.save(module, str(path))
        return path

    def fallbacks(self, report):
        return {s["path"]: s["reason"]["code"] for s in report["sites"] if s["action"] == "fallback"}

    def replaced(self, report):
        return [s["path"] for s in report["sites"] if s["action"] == "replaced"]

    def kernel_folder(self, layer):
        """A kernel that is found and suits this machine; its library is never loaded."""
        system = f"{platform.machine()}-linux"
        build = self.folder / "kernel" / "build" / f"torch-stable-abi26-cpu-{system}"
        build.mkdir(parents=True)
        files = {"__init__.py": "from . import layers\n", "_norm_1.abi3.so": "not a library\n",
                 "layers.py": f"class {layer}(nn.Module):\n    has_backward: bool = False\n"}
        digests = {name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                   for name, text in files.items()}
        files["metadata.json"] = json.dumps({
            "name": "norm", "id": "_norm_1", "version": 1, "license": "MIT", "python-depends": [],
            "backend": {"type": "cpu"}, "digest": {"algorithm": "sha256", "files": digests}})
        for name, text in files.items():
            (build / name).write_text(text)
        return build.parent.parent

    def test_a_kernel_of_a_folder_is_not_taken_for_a_built_in_one_of_its_name(self):
        folder = self.kernel_folder("rms_norm")
        report = self.apply(km.model("llama"), config=self.config(
            f'use_local_kernel = true\n[kernel_mapping]\nRMSNorm = "{folder}:rms_norm"\n'))
        self.assertEqual(self.replaced(report), [])
        self.assertEqual(set(self.fallbacks(report).values()), {"python_only"})
        self.assertEqual(len(report["sites"]), 5)

    def test_no_other_output_overwrites_what_is_read(self):
        model, config = self.save(FloatInput(OwnRMSNorm)), self.config(ONLY_NORMS)
        link = self.folder / "link.pt"
        link.symlink_to(model)
        before = model.read_bytes()
        for arguments in (["-o", self.folder / "out.pt", "--report", model],
                          ["-o", self.folder / "out.pt", "--report", link], ["-o", config]):
            done = km.run("apply", config, model, *arguments)
            self.assertEqual(done.code, 2, done)
            self.assertIn("would be overwritten", done.stderr)
            self.assertEqual(model.read_bytes(), before)

    def test_verify_makes_inputs_of_the_dtype_that_an_archive_says(self):
        stock = self.folder / "stock.pt"
        for about, code, says in [
                ({"shape": [2, 3, 16], "dtype": "float32"}, 0, "on input.json float32[2, 3, 16]"),
                ({"shape": [2, 3, 16], "dtype": "bfloat16"}, 0, "on input.json bfloat16[2, 3, 16]"),
                ({"shape": [2, 3, 16], "dtype": "int32", "vocab": 9}, 0, "on input.json int32[2, 3, 16]"),
                ({"shape": [2, 3, 16], "dtype": "int32"}, 1, "its input.json is not"),
                ({"shape": [2, 3, 16], "dtype": "float"}, 1, "its input.json is not"),
                ({"shape": [2, 3, 16], "dtype": 6}, 1, "its input.json is not")]:
            with self.subTest(about=about):
                torch.jit.script(FloatInput(OwnRMSNorm)).save(str(stock), _extra_files={"input.json": json.dumps(about)})
                self.apply(stock, config=self.config(ONLY_NORMS))
                done = km.run("verify", stock, self.out)
                self.assertEqual(done.code, code, done)
                self.assertIn(says, done.stdout + done.stderr)

    def test_gemma_is_not_llama(self):
        for name in ("gemma", "gemma.bf16"):
            report = self.apply(km.model(name), config=self.config(ONLY_NORMS))
            self.assertEqual(len(report["sites"]), 5)
            self.assertEqual(set(self.fallbacks(report).values()), {"different_code"})
            for site in report["sites"]:
                self.assertEqual((site["name"], site["class"]), ("RMSNorm", "GemmaRMSNorm"))
                self.assertIn("add(1, ", site["reason"]["difference"])
                self.assertEqual(site["source"], {"file": "config.toml", "line": 3, "column": 11})
            self.assert_same_model(km.model(name), self.out, [km.token_ids((2, 8))], 0)

    def test_nothing_inherited(self):
        report = self.apply(km.model("llama"), config=self.config(ONLY_NORMS))
        self.assertEqual(km.actions(report, "replaced"), {"RMSNorm": 5})
        self.assertEqual(len(report["sites"]), 5)
        self.assert_same_model(km.model("llama"), self.out, km.inputs_for("llama"))

    def test_only_and_except(self):
        config = '''[model]
root = "model.model"
[kernel_mapping]
RMSNorm = { kernel = "builtin:rms_norm", only = ["layers.*.input_layernorm", "norm"] }
SwiGLUMLP = { kernel = "builtin:swiglu_mlp", except = ["layers.0.*"] }
'''
        report = self.apply(km.model("llama"), config=self.config(config))
        excluded = [s["path"] for s in report["sites"] if s["action"] == "excluded"]
        self.assertEqual(excluded, ["model.model.layers.0.mlp",
                                    "model.model.layers.0.post_attention_layernorm",
                                    "model.model.layers.1.post_attention_layernorm"])
        self.assertEqual(km.actions(report, "replaced"),
                         {"RMSNorm": 3, "SwiGLUMLP": 1, "rotary_pos_emb": 2, "attention": 2})
        self.assert_same_model(km.model("llama"), self.out, km.inputs_for("llama"))
        # Left out is not a fallback.
        self.apply(km.model("llama"), "--strict", config=self.config(config))
        self.assertTrue(self.out.exists())

    def test_only_in_shared_code(self):
        """Whatever becomes of instances that share their code, the model computes the same."""
        for name in ("shared_class.scripted", "shared_class.traced", "my_rms_norm.scripted"):
            config = '[kernel_mapping]\nRMSNorm = { kernel = "builtin:rms_norm", only = ["norm"] }\n'
            report = self.apply(km.model(name), config=self.config(config))
            norms = [s for s in report["sites"] if s["name"] == "RMSNorm"]
            self.assertEqual([s["action"] for s in norms[:4]], ["excluded"] * 4)
            if norms[4]["action"] == "fallback":
                self.assertEqual(norms[4]["reason"]["code"], "shared_code")
            else:
                self.assertEqual(norms[4]["action"], "replaced")
            self.assert_same_model(km.model(name), self.out, km.inputs_for(name))

    def test_disabled(self):
        config = '[kernel_mapping]\nRMSNorm = ""\nattention = ""\n'
        report = self.apply(km.model("llama"), "--strict", config=self.config(config))
        self.assertEqual(km.actions(report, "disabled"), {"RMSNorm": 5, "attention": 2})
        self.assertEqual(km.actions(report, "replaced"), {"SwiGLUMLP": 2, "rotary_pos_emb": 2})
        for site in report["sites"]:
            if site["action"] == "disabled":
                self.assertEqual(site["reason"]["code"], "disabled")

    def test_a_class_of_your_own(self):
        model = self.save(FloatInput(Scale), torch.ones(2, 16))
        inputs = '[model]\ninputs = ["float32"]\n'
        layer = '[[model.layer]]\nname = "RMSNorm"\nclass = "Scale"\n'
        # Code that unifies is a site, whatever its class; a class that is listed, whatever its code.
        for text in (inputs, inputs + layer):
            report = self.apply(model, config=self.config(text))
            self.assertEqual(self.replaced(report), ["norm"])
            self.assertEqual(km.site_at(report, "norm")["class"], "Scale")
        layer = '[[model.layer]]\nname = "RMSNorm"\nclass = "TinyMLP"\n'
        report = self.apply(km.model("own_classes.traced"), config=self.config(ONLY_NORMS + layer))
        self.assertEqual(self.fallbacks(report), {"layers.0.mlp": "different_code",
                                                  "layers.1.mlp": "different_code"})

    def test_declared_inputs(self):
        """Without a dtype nothing is proved; a declared one is asserted when the model runs."""
        for traced in (False, True):
            for dtype in (torch.bfloat16, torch.float32):
                with self.subTest(traced=traced, dtype=dtype):
                    self.check_declared_inputs(traced, dtype)

    def check_declared_inputs(self, traced, dtype):
        x = torch.randn(3, 5, 16).to(dtype)
        model = self.save(FloatInput(OwnRMSNorm).to(dtype), x if traced else None)
        name = str(dtype).removeprefix("torch.")
        config = f'[model]\ninputs = ["{name}"]\n'
        report = self.apply(model)
        self.assertIn(self.fallbacks(report)["norm"], ("dtype", "different_code"))
        report = self.apply(model, config=self.config(config))
        self.assertEqual(self.replaced(report), ["norm"])
        rewritten, stock = km.load(self.out), km.load(model)
        error, size = km.distance(rewritten(x), stock(x))
        self.assertLessEqual(error, (1e-5 if dtype == torch.float32 else 2**-7) * size)
        with self.assertRaisesRegex(torch.jit.Error, f"input 0 must be {name}"):
            rewritten(x.to(torch.float16))

    def test_input_of_images(self):
        config = self.config('[model]\ninputs = ["float32"]\n')
        report = self.apply(km.model("vit"), config=config)
        self.assertEqual(km.actions(report, "replaced"), {"attention": 2})
        self.assert_same_model(km.model("vit"), self.out, km.inputs_for("vit"))
        with self.assertRaisesRegex(torch.jit.Error, "input 0 must be float32"):
            km.load(self.out)(km.images(1).double())

    def test_fallback_is_an_error(self):
        model = km.model("norm_clamp.traced")
        config = self.config('on_fallback = "error"\n')
        for flags, path in ((["--strict"], None), ([], config)):
            report = self.apply(model, *flags, config=path, code=1)
            self.assertEqual(report["summary"]["fallback"], 1)  # the report is written
            self.assertFalse(self.out.exists())
            self.assertEqual([p.name for p in self.folder.iterdir() if p.suffix == ".pt"], [])
            self.assert_one_error(self.done, 1)
        self.out.write_bytes(b"before")
        self.apply(model, "--strict", code=1)
        self.assertEqual(self.out.read_bytes(), b"before")
        self.apply(km.model("llama"), "--strict", config=config)  # no fallback, no error

    def test_other_device(self):
        """Where a kernel has no build all sites stay, each with a reason, and that is no error."""
        for name, number in (("llama", 11), ("bert.sdpa", 2)):
            report = self.apply(km.model(name), "--device", "cuda")
            self.assertEqual(len(self.fallbacks(report)), len({s["path"] for s in report["sites"]}))
            self.assertEqual(len(report["sites"]), number)
            self.assertLessEqual(set(self.fallbacks(report).values()),
                                 {"no_variant", "no_kernel_for_device"})
            self.assertEqual(report["target"]["device"], "cuda")
            self.assert_same_model(km.model(name), self.out, [km.token_ids((2, 8))], 0)

    def test_a_hub_kernel_that_is_not_there(self):
        config = '[kernel_mapping]\nRMSNorm = "kernels-community/no-such-kernel@v1:RMSNorm"\n'
        report = self.apply(km.model("llama"), config=self.config(config))
        self.assertEqual(km.actions(report, "fallback"), {"RMSNorm": 5})
        self.assertEqual(set(self.fallbacks(report).values()), {"not_found"})

    def test_use_hub_kernels(self):
        """The variable turns off Hub refs, never built-in ones."""
        config = self.config('[kernel_mapping]\nRMSNorm = "kernels-community/x@v1:RMSNorm"\n')
        done = km.run("apply", config, km.model("llama"), "-o", self.folder / "o.pt", "--format",
                      "json", env={"USE_HUB_KERNELS": "0"})
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn('"action": "disabled"', done.stdout)
        self.assertIn('"action": "replaced"', done.stdout)


if __name__ == "__main__":
    unittest.main()
