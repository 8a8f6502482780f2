"""init writes configs that check takes, and that plan what they say."""

import json
import pathlib
import tempfile
import tomllib
import unittest

from program import ROOT, ToolTest

MODELS = sorted((ROOT / "tests/models").glob("*.pt"))
PAIRS = {
    "default_mapping": "transformers",
    "trusted_publishers": ["kernels-community", "org \"quoted\""],
    "attn_implementation": "kernels-community/flash-attn2@>=2.0,<3.0",
    "target": {"device": "cuda", "capability": "9.0", "torch": "2.13"},
    "model": {"root": "model", "inputs": ["int64"], "layer": [{"name": "RMSNorm", "class": "My\\Norm"}]},
    "kernel_mapping": [
        ["RMSNorm", "builtin:rms_norm"],
        ["SiLU", ""],
        ["GeLU", ["kernels-community/activation:Gelu", {"version": 1, "only": ["layers.*.mlp"]}]],
        ["a.b c", {"cuda>=8.0,<9.0": {"inference": "kernels-community/x@v2:A"},
                   "rocm": {"any": ["kernels-community/x@v2:A", {"kernel": "kernels-community/y:B", "revision": "main"}]},
                   "cuda": ["kernels-community/long-enough-to-need-a-table:Name", {"trust_remote_code": True}]}],
        [[["RMSNorm", "layers.*.norm"], ["MLP", "layers.*.mlp"]], {"cuda": "kernels-community/fused:Fused"}],
        [[["RMSNorm", "layers.*.norm"], ["Linear", "layers.*.proj"]],
         {"cuda>=8.0,<9.0": {"inference": "kernels-community/fused-one:A", "training": "kernels-community/fused-two:B"},
          "rocm": "kernels-community/fused-three:C"}],
    ],
}


class Init(ToolTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.config = self.folder / "kernelmap.toml"

    def entries(self, *args):
        plan = json.loads(self.run_it("plan", "--format", "json", *args))
        return plan["entries"], plan.get("sites")

    def without_places(self, what):
        """No files and lines, and neither where a mapping is from."""
        return [{key: value for key, value in one.items() if key not in ("source", "trace")} for one in what]

    def test_of_models(self):
        self.assertGreater(len(MODELS), 10)
        for model in MODELS:
            with self.subTest(model=model.name):
                text = self.run_it("init", "--model", model)
                self.config.write_bytes(text)
                self.run_it("check", "--strict", "--model", model, self.config)
                own, stock = self.entries("--model", model, self.config), self.entries("--model", model)
                self.assertEqual(self.without_places(own[1]), self.without_places(stock[1]))
                names = {entry["name"]: entry["kernel"]["ref"] for entry in own[0] if entry["kernel"]}
                mapped = tomllib.loads(text.decode())["kernel_mapping"]
                for name, ref in mapped.items():
                    self.assertEqual(names[name], ref)
                # A name has a line where a module answers to it.
                answered = {name for site in stock[1] for name in [site["name"], *site["also"]]}
                self.assertLessEqual(answered, set(mapped))
                self.assertEqual(self.run_it("fmt", "--check", self.config), b"")

    def test_of_a_wrapped_model(self):
        text = self.run_it("init", "--model", ROOT / "tests/models/llama.pt").decode()
        self.assertEqual(tomllib.loads(text)["model"], {"root": "model"})
        self.assertIn("# LlamaRMSNorm: 5 modules, such as model.model.layers.0.input_layernorm\n", text)
        self.assertIn("# RMSNorm.cuda.inference = { any = [", text)

    def test_commented_lines_are_right(self):
        text = self.run_it("init", "--model", ROOT / "tests/models/llama.pt").decode().split("\n")
        lines = [line[2:] for line in text if line.startswith("# RMSNorm.")]
        self.assertGreater(len(lines), 5)
        others = [line for line in text if not line.startswith("RMSNorm =")]
        self.config.write_text("\n".join(others + lines) + "\n")
        self.run_it("check", "--strict", self.config)

    def test_target(self):
        text = self.run_it("init", "--device", "cuda", "--capability", "sm_90", "--mode", "training", "--torch", "2.13.1")
        self.assertEqual(tomllib.loads(text.decode())["target"],
                         {"device": "cuda", "capability": "9.0", "mode": "training", "torch": "2.13"})
        self.config.write_bytes(text)
        self.run_it("check", "--strict", self.config)
        self.run_it("init", "--device", "gpu", code=2)

    def test_from(self):
        source = self.folder / "config.json"
        source.write_text(json.dumps(PAIRS))
        text = self.run_it("init", "--from", source)
        self.config.write_bytes(text)
        self.run_it("diff", "--exit-code", source, self.config)
        for target in ([], ["--device", "cpu"], ["--device", "rocm", "--capability", "9.4"],
                       ["--device", "cuda", "--capability", "8.6", "--mode", "training"]):
            old, new = self.entries(source, *target), self.entries(self.config, *target)
            self.assertEqual(self.without_places(old[0]), self.without_places(new[0]))
        self.assertEqual(self.run_it("fmt", "--check", self.config), b"")

    def test_from_examples(self):
        for source in sorted((ROOT / "examples").rglob("*.json")) + sorted((ROOT / "examples").rglob("*.toml")):
            with self.subTest(source=source.name):
                self.config.write_bytes(self.run_it("init", "--from", source))
                self.run_it("diff", "--exit-code", source, self.config)
                self.run_it("check", self.config)

    def test_from_mistakes(self):
        source = self.folder / "config.json"
        source.write_text('{"kernel_mapping": [["RMSNorm", "builtin:nothing"]]}')
        self.assertEqual(self.run_it("init", "--from", source, code=1), b"")
        self.assertIn("KM0309", self.errors)
        self.run_it("init", "--from", self.folder / "gone.json", code=2)
        self.run_it("init", "--model", source, code=1)

    def test_nothing_is_overwritten(self):
        self.config.write_text("mine\n")
        self.run_it("init", "-o", self.config, code=2)
        self.assertIn("--force", self.errors)
        self.assertEqual(self.config.read_text(), "mine\n")
        self.run_it("init", "-o", self.config, "--force")
        self.assertIn("[kernel_mapping]", self.config.read_text())


if __name__ == "__main__":
    unittest.main()
