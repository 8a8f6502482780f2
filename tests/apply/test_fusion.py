"""`[[fusion]]`: several modules become one kernel, or stay with a reason."""

import json
import unittest

import torch

import fusion_models as models
import km

NORM_MLP = '''
[[fusion]]
modules = [["RMSNorm", "layers.*.post_attention_layernorm"], ["MLP", "layers.*.mlp"]]
kernel = "builtin:rms_norm_swiglu_mlp"
'''
QKV = '''
[[fusion]]
modules = [["Linear", "layers.*.self_attn.q_proj"], ["Linear", "layers.*.self_attn.k_proj"],
           ["Linear", "layers.*.self_attn.v_proj"]]
kernel = "builtin:qkv_proj"
'''
LLAMAS = ("llama", "qwen2", "mistral", "qwen3")


class Case(km.Case):
    def fuse(self, model, fusions, root="model.model", **flags):
        config = self.config(f'[model]\nroot = "{root}"\n{fusions}')
        return self.apply(model, config=config, **flags)

    def check_again(self, report, fusions, root="model.model"):
        """Applying to what came out changes nothing."""
        once = self.folder / "once.pt"
        self.out.rename(once)
        again = self.fuse(once, fusions, root)
        self.assertEqual(self.out.read_bytes(), once.read_bytes())
        self.assertEqual(again["summary"]["fused"], 0)
        self.assertEqual(km.actions(again, "already"),
                         {**km.actions(report, "already"), **{
                             name: count + km.actions(report, "already").get(name, 0)
                             for action in ("replaced", "fused")
                             for name, count in km.actions(report, action).items()}})


class Traced(Case):
    def test_norm_and_mlp(self):
        for name in (*LLAMAS, *(n + ".bf16" for n in LLAMAS)):
            with self.subTest(model=name):
                report = self.fuse(km.model(name), NORM_MLP)
                self.assertEqual(km.actions(report, "fused"), {"RMSNorm+MLP": 2})
                self.assertEqual(km.actions(report, "fallback"), {})
                norms = 7 if "qwen3" in name else 3
                self.assertEqual(km.actions(report, "replaced"),
                                 {"RMSNorm": norms, "rotary_pos_emb": 2, "attention": 2})
                site = km.site_at(report, "model.model.layers.1", "RMSNorm+MLP")
                layer = "model.model.layers.1."
                self.assertEqual(site["members"],
                                 [layer + "post_attention_layernorm", layer + "mlp"])
                self.assertEqual((site["proof"], site["reason"]), ("semantic", None))
                self.assertEqual(site["kernel"]["ref"], "builtin:rms_norm_swiglu_mlp")
                paths = {s["path"] for s in report["sites"]}
                self.assertTrue(paths.isdisjoint(site["members"]))
                self.check_parameters(name)
                self.assert_outputs(name)
                self.check_again(report, NORM_MLP)

    def check_parameters(self, name):
        before, after = km.state(km.load(km.model(name))), km.state(km.load(self.out))
        for i in (0, 1):
            layer = f"model.model.layers.{i}."
            norm, mlp = layer + "post_attention_layernorm.", layer + "mlp."
            gate_up = torch.cat([before.pop(mlp + "gate_proj.weight"),
                                 before.pop(mlp + "up_proj.weight")])
            self.assertTrue(torch.equal(after.pop(norm + "gate_up_weight"), gate_up))
            self.assertTrue(torch.equal(after.pop(norm + "down_weight"),
                                        before.pop(mlp + "down_proj.weight")))
        self.assertEqual(before.keys(), after.keys())
        for key, tensor in before.items():
            self.assertTrue(torch.equal(tensor, after[key]), key)

    def test_qkv(self):
        for name in (*LLAMAS, *(n + ".bf16" for n in LLAMAS)):
            with self.subTest(model=name):
                report = self.fuse(km.model(name), QKV)
                self.assertEqual(km.actions(report, "fused"), {"Linear+Linear+Linear": 2})
                self.assertEqual(km.actions(report, "fallback"), {})
                self.assertEqual(km.actions(report, "replaced")["attention"], 2)
                site = km.site_at(report, "model.model.layers.0.self_attn", "Linear+Linear+Linear")
                self.assertEqual([m.rsplit(".", 1)[1] for m in site["members"]],
                                 ["q_proj", "k_proj", "v_proj"])
                before, after = km.state(km.load(km.model(name))), km.state(km.load(self.out))
                for i in (0, 1):
                    attention = f"model.model.layers.{i}.self_attn."
                    for kind in ("weight", "bias") if "qwen2" in name else ("weight",):
                        parts = [before.pop(f"{attention}{p}_proj.{kind}") for p in "qkv"]
                        self.assertTrue(torch.equal(
                            after.pop(f"{attention}q_proj.qkv_{kind}"), torch.cat(parts)))
                self.assertEqual(before.keys(), after.keys())
                self.assert_outputs(name)
                self.check_again(report, QKV)

    def test_both(self):
        report = self.fuse(km.model("qwen2.bf16"), NORM_MLP + QKV)
        self.assertEqual(report["summary"]["fused"], 4)
        self.assert_outputs("qwen2.bf16")
        proved = km.run("plan", self.folder / "config.toml", "--model", km.model("qwen2.bf16"),
                        "--prove", "--format", "json")
        self.assertEqual(json.loads(proved.stdout)["sites"], report["sites"])


class Handmade(Case):
    def test_scripted_and_traced(self):
        """Classes that other modules share are not changed under them."""
        for name in ("own_classes", "shared_class", "shared_class.bf16"):
            for form in ("scripted", "traced"):
                with self.subTest(model=name, form=form):
                    path = km.model(f"{name}.{form}")
                    report = self.fuse(path, NORM_MLP + QKV, root="")
                    self.assertEqual(km.actions(report, "fused"),
                                     {"RMSNorm+MLP": 2, "Linear+Linear+Linear": 2})
                    self.assertEqual(km.actions(report, "replaced"), {"RMSNorm": 3, "attention": 2})
                    self.assertEqual(km.actions(report, "fallback"), {})
                    verified = km.run("verify", path, self.out, "--format", "json")
                    self.assertEqual(verified.code, 0, verified.stderr + verified.stdout)
                    self.check_again(report, NORM_MLP + QKV, "")

    def test_one_of_two_differs(self):
        for name in ("norm_axis", "norm_clamp"):
            for form in ("scripted", "traced"):
                with self.subTest(model=name, form=form):
                    path = km.model(f"{name}.{form}")
                    report = self.fuse(path, NORM_MLP, root="")
                    self.assertEqual(km.actions(report, "fused"), {"RMSNorm+MLP": 1})
                    site = km.site_at(report, "layers.0", "RMSNorm+MLP")
                    self.assertEqual((site["action"], site["reason"]["code"], site["proof"]),
                                     ("fallback", "different_code", None))
                    self.assertRegex(site["reason"]["difference"],
                                     "^`layers.0.post_attention_layernorm`: reference: ")
                    # Mapped singly, as if there were no fusion.
                    self.assertEqual(km.site_at(report, "layers.0.mlp")["action"], "replaced")
                    self.assertEqual(km.site_at(report, site["members"][0])["action"], "fallback")
                    self.assert_same_model(path, self.out, km.inputs_for(name))


SMALL_NORM_MLP = """
[[fusion]]
modules = [["RMSNorm", "layers.*.norm"], ["MLP", "layers.*.mlp"]]
kernel = "builtin:rms_norm_swiglu_mlp"
"""
SMALL_QKV = """
[[fusion]]
modules = [["Linear", "layers.*.q"], ["Linear", "layers.*.k"], ["Linear", "layers.*.v"]]
kernel = "builtin:qkv_proj"
"""
SMALL = SMALL_NORM_MLP + SMALL_QKV
# The block that differs: what is not fused there, and why.
REFUSED = {
    models.NormUsedTwice: ("RMSNorm+MLP", "other_use"),
    models.SomethingBetween: ("RMSNorm+MLP", "other_use"),
    models.CalledTwice: ("RMSNorm+MLP", "other_use"),
    models.ChangedInPlace: ("RMSNorm+MLP", "mutation"),
    models.OtherInput: ("Linear+Linear+Linear", "other_use"),
    models.OtherOrder: ("Linear+Linear+Linear", "other_use"),
    models.OneWithoutBias: ("Linear+Linear+Linear", "other_form"),
    models.OtherCode: ("RMSNorm+MLP", "different_code"),
    models.OtherClass: ("RMSNorm+MLP", "member_class"),
    models.Missing: ("RMSNorm+MLP", "member_missing"),
}


class Small(Case):
    def small(self, scripted, fusions=SMALL, **kinds):
        self.model = models.save(self.folder / "model.pt", scripted, **kinds)
        report = self.fuse(self.model, fusions, root="")
        self.assert_same_model(self.model, self.out, km.inputs_for("small"))
        return report

    def test_whole(self):
        for scripted in (False, True):
            with self.subTest(scripted=scripted):
                report = self.small(scripted)
                self.assertEqual(len(report["sites"]), 4)
                self.assertEqual(report["summary"]["fused"], 4)
                after = km.state(km.load(self.out))
                self.assertEqual(sorted(k for k in after if k.startswith("layers.0.")), sorted(
                    "layers.0." + name for name in (
                        "norm.weight", "norm.gate_up_weight", "norm.gate_up_bias",
                        "norm.down_weight", "norm.down_bias", "q.qkv_weight", "q.qkv_bias")))

    def test_refused(self):
        for block, (name, code) in REFUSED.items():
            for scripted in (False, True):
                with self.subTest(block=block.__name__, scripted=scripted):
                    report = self.small(scripted, first=block)
                    site = km.site_at(report, "layers.0", name)
                    self.assertEqual((site["action"], site["reason"]["code"]), ("fallback", code))
                    self.assertIsNotNone(site["source"])
                    other = km.site_at(report, "layers.1", name)
                    self.assertEqual((other["action"], other["reason"]), ("fused", None))

    def test_another_method_calls_a_member(self):
        report = self.small(True, first=models.Exported)
        site = km.site_at(report, "layers.0", "RMSNorm+MLP")
        self.assertEqual((site["action"], site["reason"]["code"]), ("fallback", "other_use"))
        self.assertEqual(km.site_at(report, "layers.1", "RMSNorm+MLP")["action"], "fused")

    def test_a_module_of_two_parents(self):
        """Traced, both call one module. Scripted, each has a module of its own, with the same tensors."""
        def change(model):
            model.layers[1].mlp = model.layers[0].mlp
        report = self.small(False, change=change)
        self.assertEqual(km.actions(report, "fused"), {"Linear+Linear+Linear": 2})
        codes = {km.site_at(report, f"layers.{i}", "RMSNorm+MLP")["reason"]["code"] for i in (0, 1)}
        self.assertEqual(codes, {"other_use", "not_executed"})
        self.assertEqual(self.small(True, change=change)["summary"]["fused"], 4)

    def test_tied_parameters_stay(self):
        def change(model):
            model.head.weight = model.layers[0].mlp.gate_proj.weight
        for scripted in (False, True):
            with self.subTest(scripted=scripted):
                report = self.small(scripted, change=change)
                self.assertEqual(report["summary"]["fused"], 4)
                self.assertTrue(torch.equal(km.load(self.model).head.weight, km.load(self.out).head.weight))

    def test_two_fusions_want_one_module(self):
        both = SMALL_NORM_MLP + """
[[fusion]]
modules = [["TinyRMSNorm", "layers.*.norm"], ["TinyMLP", "layers.0.mlp"]]
kernel = "builtin:rms_norm_swiglu_mlp"
"""
        report = self.small(False, both)
        self.assertEqual(km.actions(report, "fused"), {"RMSNorm+MLP": 2})
        site = km.site_at(report, "layers.0", "TinyRMSNorm+TinyMLP")
        self.assertEqual(site["reason"]["code"], "other_use")

    def test_parts_of_a_layer(self):
        """What holds a fused module is not replaced as a whole."""
        config = """
[[fusion]]
modules = [["Linear", "layers.*.mlp.gate_proj"], ["Linear", "layers.*.mlp.up_proj"],
           ["Linear", "layers.*.mlp.down_proj"]]
kernel = "builtin:qkv_proj"
"""
        report = self.small(False, config)
        self.assertEqual(km.actions(report, "fused"), {})
        self.assertEqual(km.actions(report, "replaced"), {"RMSNorm": 2, "SwiGLUMLP": 2})

    def test_a_kernel_of_other_layers(self):
        """No kernel is guessed to fit: the plan says so, and nothing is fused."""
        config = SMALL_NORM_MLP.replace("rms_norm_swiglu_mlp", "qkv_proj")
        report = self.small(False, config)
        self.assertEqual({s["reason"]["code"] for s in report["sites"] if s["members"]},
                         {"no_layout"})
        self.assertEqual(km.actions(report, "replaced"), {"RMSNorm": 2, "SwiGLUMLP": 2})


class AddNorm(Case):
    CONFIG = '[kernel_mapping]\nadd_rms_norm = "builtin:add_rms_norm"\n'

    def test_traced_and_scripted(self):
        for name in ("llama", "qwen3.bf16", "mistral.bf16", "own_classes.scripted",
                     "shared_class.traced"):
            with self.subTest(model=name):
                path = km.model(name)
                report = self.apply(path, config=self.config(self.CONFIG))
                self.assertEqual(km.actions(report, "replaced")["add_rms_norm"], 2)
                self.assertEqual(km.actions(report, "fallback"), {})
                sites = [s for s in report["sites"] if s["name"] == "add_rms_norm"]
                for site in sites:
                    [member] = site["members"]
                    self.assertEqual(member, site["path"] + ".post_attention_layernorm")
                    self.assertNotIn(member, [s["path"] for s in report["sites"]])
                layers = km.load(self.out)
                for part in sites[0]["path"].split("."):
                    layers = getattr(layers, part)
                self.assertIn("ops.kernelmap.add_rms_norm", layers.code)
                self.assertNotIn("post_attention_layernorm).forward", layers.code)
                self.assert_outputs(name) if "." not in name or "bf16" in name else (
                    self.assert_same_model(path, self.out, km.inputs_for(name)))
                again = self.apply(self.out, config=self.config(self.CONFIG),
                                   out=self.folder / "again.pt")
                self.assertEqual(km.actions(again, "already")["add_rms_norm"], 2)
                self.assertEqual(km.actions(again, "fallback"), {})


if __name__ == "__main__":
    unittest.main()
