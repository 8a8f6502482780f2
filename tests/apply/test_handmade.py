"""Hand-written stacks: five norms, of which some only look like the layer. What is refused says why."""

import unittest

import torch

import checks
import km

STACK = {"RMSNorm": 5, "SwiGLUMLP": 2, "attention": 2}
FIRST_POST = "layers.0.post_attention_layernorm"
SECOND_POST = "layers.1.post_attention_layernorm"
# Models as people write them (tests/models/written.py, forms.py): what is found in them.
WRITTEN = {
    "written_gpt": {"NewGELU": 2, "attention": 2},
    "written_llama": {"RMSNorm": 5, "SwiGLUMLP": 2, "attention": 2, "rotary_pos_emb": 2},
    "written_llama.bf16": {"RMSNorm": 5, "SwiGLUMLP": 2, "attention": 2, "rotary_pos_emb": 2},
    "written_encoder": {"attention": 2},
    "written_t5": {"RMSNorm": 4, "SwiGLUMLP": 2, "attention": 2},
    "written_mixer": {"RMSNorm": 1},
    "written_t5.bf16": {"RMSNorm": 4, "SwiGLUMLP": 2, "attention": 2},
    "forms": {"attention": 10, "rotary_pos_emb": 10},
    "forms.bf16": {"attention": 10, "rotary_pos_emb": 10},
}
# The norm that differs: what `difference` shows of it.
DIFFERENT = {
    "norm_axis": r"reference: mean\(.*\[-1\].*; model: mean\(.*\[1\]",
    "norm_clamp": r"model: clamp\(.*0\.5\)",
    "norm_eps_outside": r"reference: .*rsqrt.*; model: div\(.*add\(0\.001",
    "norm_uncast.bf16": r"reference: cast\(.*bfloat16\)",
}


class Handmade(checks.Case):
    def reports_of(self, name):
        """The reports of the scripted and of the traced archive, with all that holds of any checked."""
        reports = {}
        for form in ("scripted", "traced"):
            with self.subTest(model=name, form=form):
                reports[form] = self.check(f"{name}.{form}")
        return reports

    def test_every_archive_is_here(self):
        stems = {n.removesuffix(".scripted").removesuffix(".traced") for n in km.HANDMADE}
        self.assertEqual(stems, {*DIFFERENT, "norm_uncast", "own_classes", "shared_class",
                                 "shared_class.bf16", "my_rms_norm", "never_called",
                                 "inplace_input", "set_state", "odd_attributes", "pointwise_forms",
                                 "pointwise_forms.bf16", *WRITTEN})

    def test_pointwise_forms(self):
        """Of norms and activations the default mapping has NewGELU alone; what that makes is right."""
        for name in ("pointwise_forms", "pointwise_forms.bf16"):
            for report in self.reports_of(name).values():
                self.assertLessEqual(set(km.actions(report, "replaced")), {"NewGELU"})

    def test_all_replaced(self):
        """Scripted as traced, shared classes as own ones. Without the cast is the same in fp32."""
        for name in ("own_classes", "shared_class", "shared_class.bf16", "my_rms_norm", "norm_uncast"):
            for report in self.reports_of(name).values():
                self.assertEqual(km.actions(report, "replaced"), STACK)
                self.assertEqual(len(report["sites"]), 9)

    def test_written_by_hand(self):
        for name, found in WRITTEN.items():
            for report in self.reports_of(name).values():
                self.assertEqual(km.actions(report, "replaced"), found)
                self.assertEqual(km.actions(report, "fallback"), {})

    def test_different_code(self):
        for name, difference in DIFFERENT.items():
            for report in self.reports_of(name).values():
                self.assertEqual(km.actions(report, "replaced"), {**STACK, "RMSNorm": 4})
                site = km.site_at(report, FIRST_POST)
                self.assertEqual(site["action"], "fallback")
                self.assertEqual(site["reason"]["code"], "different_code")
                self.assertRegex(site["reason"]["difference"], difference)
                self.assertRegex(site["model_source"], r"^handmade\.py:\d+$")

    def test_changed_in_place(self):
        for report in self.reports_of("inplace_input").values():
            for path in (FIRST_POST, SECOND_POST):
                site = km.site_at(report, path)
                self.assertEqual((site["action"], site["reason"]["code"]), ("fallback", "mutation"))

    def test_never_called(self):
        for report in self.reports_of("never_called").values():
            self.assertEqual(km.actions(report, "replaced"), STACK)
            self.assertEqual(km.actions(report, "fallback"), {"RMSNorm": 2})
            for block in (0, 1):
                site = km.site_at(report, f"layers.{block}.unused_layernorm")
                self.assertEqual(site["reason"]["code"], "not_executed")

    def test_odd_attributes(self):
        """Nothing to replace: what is saved again is the same model."""
        path = km.model("odd_attributes.scripted")
        report = self.apply(path)
        self.assertEqual(report["sites"], [])
        self.assert_same_model(path, self.out, [km.token_ids((2, 8))], 0)
        before, after = km.load(path), km.load(self.out)
        self.assertEqual([n for n, _ in before.named_modules()],
                         [n for n, _ in after.named_modules()])
        pairs = zip(km.state(before).items(), km.state(after).items(), strict=True)
        for (name, a), (other, b) in pairs:
            self.assertEqual(name, other)
            self.assertTrue(a.dtype == b.dtype and torch.equal(a, b), name)
        self.assertEqual(after.head.weight.data_ptr(), after.embed.weight.data_ptr())
        self.assertEqual(after.again.weight.data_ptr(), after.by_name.one.weight.data_ptr())

    def test_set_state(self):
        """Code of the archive that loading would run: only when asked for."""
        path = km.model("set_state.scripted")
        self.apply(path, code=1)
        self.assertIn("__setstate__", self.assert_one_error(self.done, 1))
        self.assertFalse(self.out.exists())
        self.apply(path, "--run-archive-code")
        self.assertTrue(self.out.exists())


if __name__ == "__main__":
    unittest.main()
