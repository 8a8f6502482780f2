"""Kernels of repositories and folders whose parameters a layout makes: of one layer, and of several modules."""

import json
import pathlib
import tempfile
import unittest

import kernelmap
import km
import sample
import torch
from torch import Tensor, nn

BINDING = pathlib.Path(__file__).with_name("layouts.toml").read_text()
LAYER = '[kernel_mapping]\nSwiGLUMLP = "%s:GatedMLP"\n'
NORM = '[kernel_mapping]\nGemmaRMSNorm = "%s:OnePlusNorm"\n'
FUSION = ('[[fusion]]\nmodules = [["RMSNorm", "layers.*.norm"], ["MLP", "layers.*.mlp"]]\n'
          'kernel = "%s:NormGatedMLP"\n')
SAME_INPUT = ('[[fusion]]\nmodules = [["Linear", "layers.*.q"], ["Linear", "layers.*.k"]]\n'
              'kernel = "%s:TwoProjections"\n')
WIDTH = 16


class TinyRMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(WIDTH) + 0.5)
        self.variance_epsilon = 1e-5

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * wide.to(x.dtype)


class TinyMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, 32, bias=False)
        self.up_proj = nn.Linear(WIDTH, 32, bias=False)
        self.down_proj = nn.Linear(32, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(torch.nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = TinyRMSNorm()
        self.mlp = TinyMLP()
        self.q = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k = nn.Linear(WIDTH, 8, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + torch.tanh(self.q(x)) * self.k(x).sum(-1, keepdim=True)
        return x + self.mlp(self.norm(x))


class Model(nn.Module):
    def __init__(self, block=Block):
        super().__init__()
        self.embed = nn.Embedding(16, WIDTH)
        self.layers = nn.ModuleList([block(), block()])

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return x


class LooksInside(Block):
    """Another reads a weight of the MLP."""

    def forward(self, x: Tensor) -> Tensor:
        return x * self.mlp.gate_proj.weight.sum() + self.mlp(self.norm(x))


class CallsChild(Block):
    def forward(self, x: Tensor) -> Tensor:
        return x + self.mlp(x) + self.mlp.up_proj(x).sum()


class CallsTwice(Block):
    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mlp(self.norm(x))
        return x + self.mlp(x)


class LayoutTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.home = self.root / "home"
        sample.add_commit(self.home, "1" * 40, sample.ONE, binding=BINDING)
        self.local = sample.make_folder(self.root / "local", sample.ONE, binding=BINDING)
        torch.manual_seed(0)
        torch.set_grad_enabled(True)
        self.addCleanup(torch.set_grad_enabled, False)

    def apply(self, model, config, local=False, scripted=True, training=False, binding=None):
        self.stock, self.out = self.root / "stock.pt", self.root / "out.pt"
        self.config = self.root / "config.toml"
        sample.save(model.train(training), self.stock, scripted)
        head = "use_local_kernel = true\n" if local else 'inherit_mapping = false\ntrusted_publishers = ["some-org"]\n'
        mode = '[target]\nmode = "training"\n' if training else ""
        self.config.write_text(head + mode + config % (self.local if local else "some-org/sample"))
        self.local_kernels = [self.local] if local else []
        report = self.root / "report.json"
        self.done = km.run("apply", self.config, self.stock, "-o", self.out, "--report", report,
                           env={"HF_HOME": str(self.home)})
        self.assertEqual(self.done.code, 0, self.done)
        return json.loads(report.read_text())["sites"]

    def load(self, path=None):
        return kernelmap.load(path or self.out, trusted_publishers=["some-org"], cache=self.home / "hub",
                              local_kernels=self.local_kernels)

    def check(self, model, names, gone):
        """Outputs, parameters, saving, and a second apply."""
        made = self.load()
        torch.testing.assert_close(made(sample.IDS), model(sample.IDS))
        state = dict(made.named_parameters())
        for name, tensor in names.items():
            torch.testing.assert_close(state[name], tensor, rtol=0, atol=0)
            self.assertTrue(state[name].is_leaf and state[name].requires_grad)
        for name in gone:
            self.assertNotIn(name, state)
            self.assertNotIn(name.rsplit(".", 1)[0], dict(made.named_modules()))
        again = km.run("apply", self.config, self.out, "-o", self.root / "again.pt", env={"HF_HOME": str(self.home)})
        self.assertEqual(again.code, 0, again)
        self.assertEqual((self.root / "again.pt").read_bytes(), self.out.read_bytes())
        self.assertNotIn("fallback (", again.stdout)
        self.assertIn("already (2)", again.stdout)
        return made

    @staticmethod
    def parameters_of(model):
        names = {}
        for i, layer in enumerate(model.layers):
            mlp = layer.mlp
            names[f"layers.{i}.mlp.gate_up_proj"] = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])
            names[f"layers.{i}.mlp.down"] = mlp.down_proj.weight
        return names

    GONE = [f"layers.{i}.mlp.{n}_proj.weight" for i in (0, 1) for n in ("gate", "up", "down")]

    def test_a_layer(self):
        model = Model()
        for scripted in (True, False):
            for local in (True, False):
                with self.subTest(scripted=scripted, local=local):
                    sites = self.apply(model, LAYER, local, scripted)
                    self.assertEqual([(s["path"], s["action"], s["proof"]) for s in sites],
                                     [(f"layers.{i}.mlp", "replaced", "semantic") for i in (0, 1)])
                    self.check(model, self.parameters_of(model), self.GONE)

    def test_training(self):
        model = Model()
        for config, gone in ((LAYER, self.GONE), (FUSION, [])):
            sites = self.apply(model, config, training=True)
            self.assertEqual({s["action"] for s in sites} - {"replaced", "fused"}, set(), sites)
            made = self.load()
            for m in (made, model):
                m.zero_grad()
                (m(sample.IDS) ** 2).sum().backward()
            grads = {n: p.grad for n, p in made.named_parameters()}
            self.assertNotIn(None, grads.values())
            for i, layer in enumerate(model.layers):
                expected = torch.cat([layer.mlp.gate_proj.weight.grad, layer.mlp.up_proj.weight.grad])
                name = f"layers.{i}.mlp.gate_up_proj" if config is LAYER else f"layers.{i}.norm.gate_up"
                torch.testing.assert_close(grads[name], expected, rtol=1e-4, atol=1e-5)
            copy = self.root / "copy.pt"
            torch.jit.save(made, str(copy), _extra_files={"kernelmap/adapters.json": self.adapters()})
            torch.testing.assert_close(self.load(copy)(sample.IDS), model(sample.IDS))

    def adapters(self):
        files = {"kernelmap/adapters.json": ""}
        torch.jit.load(str(self.out), _extra_files=files)
        return files["kernelmap/adapters.json"]

    def test_a_parameter_of_its_own(self):
        """One new, of one old; the norm's epsilon stays a number of the module."""
        class TinyGemmaRMSNorm(TinyRMSNorm):
            def forward(self, x: Tensor) -> Tensor:
                wide = x.to(torch.float32)
                wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
                return (wide * (1.0 + self.weight.to(torch.float32))).to(x.dtype)
        model = Model()
        for layer in model.layers:
            layer.norm = TinyGemmaRMSNorm()
        sites = self.apply(model, NORM, local=True)
        self.assertEqual({s["action"] for s in sites}, {"replaced"}, sites)
        self.check(model, {f"layers.{i}.norm.scale": layer.norm.weight + 1 for i, layer in enumerate(model.layers)}, [])
        self.assertNotIn("layers.0.norm.weight", dict(self.load().named_parameters()))

    def test_what_forbids_it(self):
        tied = Model()
        tied.layers[0].mlp.gate_proj.weight = tied.layers[1].mlp.up_proj.weight
        for model, text in [(tied, r"`layers\.0\.mlp\.gate_proj\.weight` is `layers\.1\.mlp\.up_proj\.weight` too"),
                            (Model(LooksInside), r"`layers\.0\.mlp\.gate_proj\.weight` is read outside of the module"),
                            (Model(CallsChild), r"`layers\.0\.mlp\.up_proj\.weight` is read outside of the module")]:
            sites = self.apply(model, LAYER)
            self.assertEqual([s["action"] for s in sites], ["fallback"] * 2, sites)
            self.assertEqual(sites[0]["reason"]["code"], "other_use")
            self.assertRegex(sites[0]["reason"]["difference"], text)
            torch.testing.assert_close(self.load()(sample.IDS), model(sample.IDS))

    def test_called_twice(self):
        model = Model(CallsTwice)
        sites = self.apply(model, LAYER)
        self.assertEqual({s["action"] for s in sites}, {"replaced"}, sites)
        self.check(model, self.parameters_of(model), self.GONE)

    def test_a_fusion(self):
        model = Model()
        names = {}
        for i, layer in enumerate(model.layers):
            names[f"layers.{i}.norm.gate_up"] = torch.cat([layer.mlp.gate_proj.weight, layer.mlp.up_proj.weight])
            names[f"layers.{i}.norm.weight"] = layer.norm.weight
        for scripted in (True, False):
            for local in (True, False):
                with self.subTest(scripted=scripted, local=local):
                    sites = self.apply(model, FUSION, local, scripted)
                    fused = [s for s in sites if s["action"] == "fused"]
                    self.assertEqual([(s["path"], s["name"], s["proof"]) for s in fused],
                                     [(f"layers.{i}", "RMSNorm+MLP", "semantic") for i in (0, 1)], sites)
                    self.check(model, names, self.GONE)

    def test_a_fusion_of_one_input(self):
        model = Model()
        names = {f"layers.{i}.q.both": torch.cat([layer.q.weight, layer.k.weight]) for i, layer in enumerate(model.layers)}
        for scripted in (True, False):
            sites = self.apply(model, SAME_INPUT, local=True, scripted=scripted)
            self.assertEqual({s["action"] for s in sites}, {"fused"}, sites)
            self.check(model, names, [])
            self.assertNotIn("layers.0.k.weight", dict(self.load().named_parameters()))

    def test_missing_kernels(self):
        model = Model()
        self.apply(model, LAYER)  # the binding has stock code
        torch.save(model(sample.IDS).detach(), self.root / "expected.pt")
        load = (f"import kernelmap, sample, torch; made = kernelmap.load({str(self.out)!r}, on_missing='stock', "
                "trusted_publishers=['some-org'], cache='/nonexistent')")
        done = sample.python(f"{load}; torch.testing.assert_close(made(sample.IDS).detach(), "
                             f"torch.load({str(self.root / 'expected.pt')!r}))")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.apply(model, FUSION)  # and here it has none
        done = sample.python(load)
        self.assertIn("no stock code is known for it", done.stderr)

    def test_broken_bindings(self):
        for old, new, text in [
                ("concat(gate_proj.weight, up_proj.weight, dim=0)", "concat(gate_proj.weight, dim=)", "kernelmap.toml:"),
                ('down = "down_weight"', 'up = "down_weight"', "neither made by its layout nor a parameter"),
                ("down = \"down_weight\" }\nsource", "down = \"other.weight\" }\nsource", "`other.weight` is no parameter"),
        ]:
            with self.subTest(new=new):
                self.assertIn(old, BINDING)
                self.local = sample.make_folder(tempfile.mkdtemp(dir=self.root), sample.ONE,
                                                binding=BINDING.replace(old, new, 1))
                sites = self.apply(Model(), LAYER, local=True)
                self.assertEqual({s["action"] for s in sites}, {"fallback"}, sites)
                reason = sites[0]["reason"]
                self.assertIn(text, reason["text"] + " " + (reason.get("difference") or ""))


if __name__ == "__main__":
    unittest.main()
