"""guard = "numeric" with kernels of a repository: their libraries are loaded, and run on samples."""

import json
import pathlib
import tempfile
import unittest

import kernelmap
import km
import numeric_models as models
import sample
import torch

LAYERS = sample.LAYERS + """

class Unknown(nn.Module):
    weight: torch.Tensor
    variance_epsilon: float

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.nothing(x, self.weight, self.variance_epsilon)


class Writing(nn.Module):
    weight: torch.Tensor
    variance_epsilon: float

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        d = x.shape[-1] // 2
        ops.silu_and_mul(x[..., :d], x)
        return x * self.weight + self.variance_epsilon
"""


class NumericGuardTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.home = self.root / "home"
        sample.add_commit(self.home, "1" * 40, sample.ONE, LAYERS)
        sample.add_commit(self.home, "2" * 40, sample.TWO, LAYERS, refs=("v2",))
        torch.manual_seed(0)

    def apply(self, model, kernel, extra="", scripted=True):
        stock, out, config = self.root / "stock.pt", self.root / "out.pt", self.root / "config.toml"
        self.ids = torch.arange(16).reshape(2, 8)
        made = torch.jit.script(model.eval()) if scripted else torch.jit.trace(model.eval(), self.ids)
        torch.jit.save(made, str(stock))
        config.write_text('inherit_mapping = false\ntrusted_publishers = ["some-org"]\n[kernel_mapping]\n'
                          f'RMSNorm = {{ kernel = "some-org/sample:{kernel}", guard = "numeric"{extra} }}\n')
        report = self.root / "report.json"
        done = km.run("apply", config, stock, "-o", out, "--report", report, env={"HF_HOME": str(self.home)})
        self.assertEqual(done.code, 0, done)
        return out, json.loads(report.read_text())["sites"], config

    def test_replaced(self):
        model = models.Model(models.RMSNorm(), models.RMSNorm())
        for scripted in (True, False):
            out, sites, config = self.apply(model, "RMSNorm", scripted=scripted)
            self.assertEqual([(s["action"], s["proof"], s["reason"]) for s in sites], [("replaced", "numeric", None)] * 2)
            loaded = kernelmap.load(out, trusted_publishers=["some-org"], cache=self.home / "hub")
            torch.testing.assert_close(loaded(self.ids), model(self.ids))
            again = km.run("apply", config, out, "-o", self.root / "again.pt", env={"HF_HOME": str(self.home)})
            self.assertIn("already (2)", again.stdout)

    def test_refused(self):
        model = models.Model(models.RMSNorm())
        _, sites, _ = self.apply(model, "RMSNorm", ", version = 2")  # that build adds 1
        self.assertEqual(sites[0]["reason"]["code"], "different_result", sites)
        _, sites, _ = self.apply(model, "Unknown")
        self.assertEqual(sites[0]["reason"]["code"], "not_run", sites)
        _, sites, _ = self.apply(model, "Writing")
        self.assertIn(sites[0]["reason"]["code"], ("mutation", "not_run"), sites)


if __name__ == "__main__":
    unittest.main()
