"""guard = "numeric": a module is replaced where running it and the kernel on samples shows no difference."""

import json
import unittest

import torch

import km
import numeric_models as models

NORM = '[kernel_mapping]\nRMSNorm = { kernel = "builtin:rms_norm", guard = "numeric" }\n'
MLP = '[kernel_mapping]\nSwiGLUMLP = { kernel = "builtin:swiglu_mlp", guard = "numeric" }\n'
DEFAULT = "[kernel_mapping]\n"


class Numeric(km.Case):
    def setUp(self):
        super().setUp()
        torch.manual_seed(0)

    def save(self, model, scripted, dtype=torch.float32):
        model = model.eval().to(dtype)
        ids = km.token_ids((2, 8))
        made = torch.jit.script(model) if scripted else torch.jit.trace(model, ids)
        path = self.folder / "stock.pt"
        torch.jit.save(made, str(path), _extra_files={"input.json": '{"shape": [2, 8], "vocab": 100}'})
        return path

    def sites(self, model, config, scripted=True, dtype=torch.float32, code=0):
        self.stock = self.save(model, scripted, dtype)
        report = self.apply(self.stock, config=self.config(config), code=code)
        return [s for s in report["sites"] if s["name"] in ("RMSNorm", "SwiGLUMLP")]

    def assert_replaced(self, sites, count):
        self.assertEqual([(s["action"], s["proof"], s["reason"]) for s in sites],
                         [("replaced", "numeric", None)] * count)

    def check_again(self, config):
        """What `plan --prove` says is what apply did; a second apply changes nothing."""
        report = json.loads((self.folder / "report.json").read_text())
        proved = km.run("plan", self.config(config), "--model", self.stock, "--prove", "--format", "json")
        self.assertEqual(json.loads(proved.stdout)["sites"], report["sites"], proved.stderr)
        once = self.out.rename(self.folder / "once.pt")
        again = self.apply(once, config=self.config(config))
        self.assertEqual(self.out.read_bytes(), once.read_bytes())
        self.assertEqual({s["action"] for s in again["sites"]}, {"already"})

    def test_the_same_in_other_words(self):
        for scripted in (True, False):
            for dtype in (torch.float32, torch.bfloat16):
                with self.subTest(scripted=scripted, dtype=dtype):
                    model = models.Model(models.RMSNorm(), models.RMSNorm(), models.ScaleRMSNorm())
                    sites = self.sites(model, NORM, scripted, dtype)
                    self.assert_replaced(sites, 3)
                    self.assertIn("kernelmap::rms_norm", str(km.load(self.out).layers.__getattr__("0").inlined_graph))
                    if dtype == torch.float32:
                        self.assert_same_model(self.stock, self.out, [km.token_ids(s) for s in km.SHAPES])
                    self.check_again(NORM)

    def test_nothing_runs_without_the_guard(self):
        sites = self.sites(models.Model(models.RMSNorm()), DEFAULT)
        self.assertEqual([(s["action"], s["reason"]["code"]) for s in sites], [("fallback", "different_code")])
        self.assertEqual(self.done.stderr, "")
        self.sites(models.Model(models.RMSNorm()), NORM)
        self.assertIn("ran the code of 1 module", self.done.stderr)

    def test_proved_code_stays_proved(self):
        report = self.apply(km.model("llama"), config=self.config(NORM))
        self.assertEqual([s["proof"] for s in report["sites"] if s["name"] == "RMSNorm"], ["semantic"] * 5)
        self.assertEqual(self.done.stderr, "")

    def test_mlp(self):
        for scripted in (True, False):
            with self.subTest(scripted=scripted):
                sites = self.sites(models.Model(models.GatedMLP(), models.GatedMLP()), MLP, scripted)
                self.assert_replaced(sites, 2)
                self.assert_same_model(self.stock, self.out, [km.token_ids(s) for s in km.SHAPES])
                self.check_again(MLP)

    def test_a_further_result(self):
        sites = self.sites(models.PairModel(models.PairRMSNorm()), NORM)
        self.assert_replaced(sites, 1)
        self.assert_same_model(self.stock, self.out, [km.token_ids(s) for s in km.SHAPES])

    def test_refused(self):
        for module, code, text in [
                (models.OnePlusRMSNorm, "different_result", r"largest error 0\.\S+ of the largest result, allowed 2e-06"),
                (models.OddEpsRMSNorm, "different_result", r"largest error .* at float32\[.*, 16\], normal / 1000"),
                (models.ClampRMSNorm, "different_result", r"largest error .*, normal \* 32"),
                (models.CenteredRMSNorm, "different_result", r"largest error .*normal \+ 4"),
                (models.InfiniteRMSNorm, "not_finite", r"float32\[2, 5, 16\], normal"),
                (models.NoisyRMSNorm, "random_result", r"at float32\[2, 5, 16\], normal"),
                (models.KeepingRMSNorm, "mutation", r"the code changes a parameter or buffer"),
                (models.WritingRMSNorm, "mutation", r"."),
        ]:
            for scripted in (True, False):
                if not scripted and module in (models.InfiniteRMSNorm, models.NoisyRMSNorm, models.WritingRMSNorm):
                    continue  # traced, no code of theirs holds an eps
                with self.subTest(module=module.__name__, scripted=scripted):
                    site, = self.sites(models.Model(module()), NORM, scripted)
                    self.assertEqual((site["action"], site["proof"], site["reason"]["code"]), ("fallback", None, code))
                    self.assertRegex(site["reason"].get("difference") or "", text)

    def test_other_dtypes_and_shapes(self):
        for module, text in [(models.WideRMSNorm, r"the kernel gives float32\[.*, the model float64\["),
                             (models.HalfRMSNorm, r"the model float32\[2, 5, 8\]")]:
            site, = self.sites(models.ResultModel(module()), NORM)
            self.assertEqual(site["reason"]["code"], "different_result")
            self.assertRegex(site["reason"]["difference"], text)
        site, = self.sites(models.Model(models.TanhMLP()), MLP)
        self.assertEqual(site["reason"]["code"], "different_result")

    def test_unknown_dtype(self):
        model = models.Model(models.RMSNorm())
        model.embed = torch.nn.Identity()
        path = self.folder / "floats.pt"
        torch.jit.save(torch.jit.script(model.eval()), str(path))
        for inputs, action in [("", "fallback"), ('[model]\ninputs = ["float32"]\n', "replaced")]:
            report = self.apply(path, config=self.config(inputs + NORM))
            site = km.site_at(report, "layers.0", "RMSNorm")
            self.assertEqual(site["action"], action, site)
            self.assertEqual((site["reason"] or {}).get("code"), None if inputs else "dtype")

    def test_training_and_strict(self):
        self.stock = self.save(models.Model(models.RMSNorm()), True)
        report = self.apply(self.stock, "--mode", "training", config=self.config(NORM))
        self.assertEqual((report["sites"][0]["action"], report["sites"][0]["proof"]), ("replaced", "numeric"))
        made, stock = km.load(self.out).train(), km.load(self.stock).train()
        with torch.enable_grad():
            for model in (made, stock):
                (model(km.token_ids((2, 8))) ** 2).sum().backward()
        for a, b in zip(made.parameters(), stock.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad)
        site, = self.sites(models.Model(models.DroppingRMSNorm()), NORM)
        self.assertEqual(site["proof"], "numeric")
        with self.assertRaisesRegex(torch.jit.Error, "kernelmap: DroppingRMSNorm: it was rewritten for inference"):
            km.load(self.out).train()(km.token_ids((2, 8)))
        for module, code, text in [(models.StoppedRMSNorm, "different_result", "of the largest gradient"),
                                   (models.FrozenRMSNorm, "different_result", "of the largest"),
                                   (models.DroppingRMSNorm, "random_result", "")]:
            for mode, expected in (("inference", None), ("training", code)):
                self.stock = self.save(models.Model(module()), True)
                report = self.apply(self.stock, "--mode", mode, config=self.config(NORM))
                site, = report["sites"]
                self.assertEqual((site["reason"] or {}).get("code"), expected, site)
                self.assertIn(text if expected else "", (site["reason"] or {}).get("difference") or "")
        self.sites(models.Model(models.ClampRMSNorm()), 'on_fallback = "error"\n' + NORM, code=1)

    def test_verify(self):
        self.stock = self.save(models.Model(models.RMSNorm(), models.ScaleRMSNorm()), True)
        self.apply(self.stock, "--verify", config=self.config(NORM))


if __name__ == "__main__":
    unittest.main()
