"""guard = "name": a kernel in the place of modules because of their names, whatever they compute."""

import json
import pathlib
import tempfile
import unittest

import kernelmap
import km
import sample
import torch
from torch import nn


class OddRMSNorm(nn.Module):
    """Not what any RMSNorm computes."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(16) + 0.5)
        self.variance_epsilon = 1e-3

    def forward(self, x):
        return x * self.weight + self.variance_epsilon


class PairRMSNorm(OddRMSNorm):
    def forward(self, x):
        return x * self.weight, x


class ScaledRMSNorm(OddRMSNorm):
    def forward(self, x, scale: float = 2.0):
        return x * self.weight * scale


class BareRMSNorm(nn.Module):
    def forward(self, x):
        return x * 2


class Unheard(nn.Module):
    def forward(self, x):
        return x[..., :8]


class Model(nn.Module):
    def __init__(self, *norms):
        super().__init__()
        self.norms = nn.ModuleList(norms)

    def forward(self, ids):
        x = torch.nn.functional.one_hot(ids, 16).to(torch.float32)
        for norm in self.norms:
            x = norm(x)
        return x


class PairModel(Model):
    def forward(self, ids):
        x = torch.nn.functional.one_hot(ids, 16).to(torch.float32)
        for norm in self.norms:
            x = norm(x)[0]
        return x


def rms_norm(x, norm):
    return norm.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)


class NameGuardTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.home = self.root / "home"
        sample.add_commit(self.home, "1" * 40, sample.ONE)
        torch.manual_seed(0)

    def apply(self, model, value, name="RMSNorm", scripted=True):
        stock, out, config = self.root / "stock.pt", self.root / "out.pt", self.root / "config.toml"
        sample.save(model.eval(), stock, scripted)
        config.write_text('inherit_mapping = false\ntrusted_publishers = ["some-org"]\n'
                          f"[kernel_mapping]\n{name} = {value}\n")
        report = self.root / "report.json"
        done = km.run("apply", config, stock, "-o", out, "--report", report, env={"HF_HOME": str(self.home)})
        self.assertEqual(done.code, 0, done)
        return out, json.loads(report.read_text())["sites"], config

    def load(self, path):
        return kernelmap.load(path, trusted_publishers=["some-org"], cache=self.home / "hub")

    KERNEL = '{ kernel = "some-org/sample:%s", guard = "name" }'

    def test_other_code_is_replaced(self):
        model = Model(OddRMSNorm(), OddRMSNorm())
        out, sites, config = self.apply(model, self.KERNEL % "RMSNorm")
        self.assertEqual([(s["path"], s["action"], s["proof"], s["reason"]) for s in sites],
                         [(f"norms.{i}", "replaced", "name", None) for i in range(2)])
        x = torch.nn.functional.one_hot(sample.IDS, 16).to(torch.float32)
        for norm in model.norms:
            x = rms_norm(x, norm)
        torch.testing.assert_close(self.load(out)(sample.IDS), x)
        again = km.run("apply", config, out, "-o", self.root / "again.pt", env={"HF_HOME": str(self.home)})
        self.assertIn("already (2)", again.stdout)

    def test_a_built_in_kernel(self):
        model = Model(OddRMSNorm())
        out, sites, _ = self.apply(model, '{ kernel = "builtin:rms_norm", guard = "name" }')
        self.assertEqual((sites[0]["action"], sites[0]["proof"]), ("replaced", "name"), sites)
        x = torch.nn.functional.one_hot(sample.IDS, 16).to(torch.float32)
        torch.testing.assert_close(km.load(out)(sample.IDS), rms_norm(x, model.norms[0]))

    def test_a_name_that_no_layer_has(self):
        out, sites, _ = self.apply(Model(Unheard()), self.KERNEL % "SiluAndMul", name="Unheard")
        self.assertEqual((sites[0]["action"], sites[0]["proof"]), ("replaced", "name"), sites)
        x = torch.nn.functional.one_hot(sample.IDS, 16).to(torch.float32)
        torch.testing.assert_close(self.load(out)(sample.IDS), sample.SiluAndMul()(x))

    def test_where_it_does_not_fit(self):
        for model, scripted, reason in [
                (Model(OddRMSNorm()), False, "no_attribute"),  # tracing made eps a constant
                (Model(BareRMSNorm()), True, "no_attribute"),
                (PairModel(PairRMSNorm()), True, "signature"),
                (Model(ScaledRMSNorm()), True, "signature"),
        ]:
            _, sites, _ = self.apply(model, self.KERNEL % "RMSNorm", scripted=scripted)
            self.assertEqual([(s["action"], s["reason"]["code"]) for s in sites], [("fallback", reason)], sites)
        _, sites, _ = self.apply(Model(Unheard()), self.KERNEL % "Uncompilable", name="Unheard")
        self.assertEqual(sites[0]["reason"]["code"], "python_only", sites)
        # A kernel for a part of the module would leave out the rest: its weights.
        for model in Model(OddRMSNorm()), Model(nn.Sequential(OddRMSNorm())):
            name = type(model.norms[0]).__name__
            _, sites, _ = self.apply(model, self.KERNEL % "SiluAndMul", name=name)
            self.assertEqual(sites[0]["reason"]["code"], "signature", sites)
            self.assertEqual(sites[0]["reason"]["difference"], "the kernel reads none of the module's parameters")

    def test_what_is_proved_is_proved_still(self):
        config = self.root / "llama.toml"
        config.write_text('trusted_publishers = ["some-org"]\n[kernel_mapping]\nRMSNorm = ' + self.KERNEL % "RMSNorm")
        report = self.root / "report.json"
        done = km.run("apply", config, km.model("llama"), "-o", self.root / "out.pt", "--report", report,
                      env={"HF_HOME": str(self.home)})
        self.assertEqual(done.code, 0, done)
        proofs = [s["proof"] for s in json.loads(report.read_text())["sites"] if s["name"] == "RMSNorm"]
        self.assertEqual(proofs, ["semantic"] * 5)

    def test_paths_and_the_default_guard(self):
        model = Model(OddRMSNorm(), OddRMSNorm())
        value = '{ kernel = "some-org/sample:RMSNorm", guard = "name", except = ["norms.0"] }'
        _, sites, _ = self.apply(model, value)
        self.assertEqual([s["action"] for s in sites], ["excluded", "fallback"], sites)  # one class, one code
        _, sites, _ = self.apply(model, '"some-org/sample:RMSNorm"')
        self.assertEqual({s["reason"]["code"] for s in sites}, {"different_code"})

    def test_no_stock_code_is_known(self):
        out, _, _ = self.apply(Model(OddRMSNorm()), self.KERNEL % "RMSNorm")
        done = sample.python(f"import kernelmap; kernelmap.load({str(out)!r}, trusted_publishers=['some-org'], "
                             "on_missing='stock', cache='/nonexistent')")
        self.assertIn("no stock code is known for it", done.stderr)
        out, _, _ = self.apply(Model(Unheard()), self.KERNEL % "SiluAndMul", name="Unheard")
        norm = getattr(self.load(out).norms, "0")
        with torch.enable_grad():
            result = norm(torch.rand(2, 3, 16, requires_grad=True))
            with self.assertRaisesRegex(RuntimeError, "has no gradient"):
                result.sum().backward()


if __name__ == "__main__":
    unittest.main()
