"""The loss of a rewritten model follows that of the stock one, for fifty steps."""

import unittest

import km
import torch
import trained

FUSIONS = """
[kernel_mapping]
add_rms_norm = "builtin:add_rms_norm"
[target]
mode = "training"
[model]
root = "model.model"
[[fusion]]
modules = [["Linear", "layers.*.self_attn.q_proj"], ["Linear", "layers.*.self_attn.k_proj"],
           ["Linear", "layers.*.self_attn.v_proj"]]
kernel = "builtin:qkv_proj"
"""
NORM_MLP = FUSIONS.replace('add_rms_norm = "builtin:add_rms_norm"\n', "") + """
[[fusion]]
modules = [["RMSNorm", "layers.*.post_attention_layernorm"], ["MLP", "layers.*.mlp"]]
kernel = "builtin:rms_norm_swiglu_mlp"
"""


class Curves(km.Case):
    def check(self, name, config=None, optimizers=tuple(trained.OPTIMIZERS), **expected):
        if config:
            config = self.config(config)
        report = self.apply(km.model(name), "--mode", "training", config=config)
        self.assertEqual(report["target"]["mode"], "training")
        for action, count in expected.items():
            self.assertEqual(report["summary"][action], count, report)
        for optimizer in optimizers:
            with self.subTest(model=name, optimizer=optimizer):
                stock = trained.train(km.load(km.model(name)), optimizer)
                ours = trained.train(km.load(self.out), optimizer)
                self.assertLess(stock[-1], stock[0] - 0.01)  # something is learned
                tolerance = trained.TOLERANCE[torch.bfloat16 if ".bf16" in name else torch.float32]
                worst = max(abs(a - b) / abs(a) for a, b in zip(stock, ours))
                self.assertLessEqual(worst, tolerance)
                if ".bf16" in name and name.replace(".bf16", "") in km.TRACED:
                    exact = trained.train(km.float32_of(name), optimizer)
                    own, found = (sum(abs(a - b) for a, b in zip(exact, run)) / len(exact)
                                  for run in (stock, ours))
                    self.assertLessEqual(found, 1.5 * own + 0.002)
        return report

    def test_traced(self):
        for name, count in (("llama", 11), ("qwen3", 15), ("gemma", 11)):
            self.check(name, replaced=count, fallback=0)
        self.check("gpt2", optimizers=("AdamW",), replaced=4, fallback=0)

    def test_bf16(self):
        for name, count in (("llama.bf16", 11), ("gemma.bf16", 11)):
            self.check(name, replaced=count, fallback=0)

    def test_fusions(self):
        for name in ("llama", "llama.bf16", "qwen2"):
            self.check(name, FUSIONS, fused=2, fallback=0)
            self.check(name, NORM_MLP, fused=4, fallback=0)

    def test_scripted(self):
        for name in ("shared_class.scripted", "own_classes.scripted", "shared_class.bf16.scripted"):
            self.check(name, optimizers=("AdamW",), fallback=0)

    def test_dropout(self):
        """Models with dropout: it draws the same numbers in both."""
        for name in ("written_llama.scripted", "written_gpt.scripted"):
            self.check(name, optimizers=("AdamW",))


if __name__ == "__main__":
    unittest.main()
