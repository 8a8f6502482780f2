"""Models traced from transformers: what the default mapping replaces, and that outputs stay the same."""

import unittest

import checks
import km

# What the default mapping replaces in transformers' models.
LLAMA = {"RMSNorm": 5, "SwiGLUMLP": 2, "rotary_pos_emb": 2, "attention": 2}
TABLE = {
    "llama": LLAMA,
    "qwen2": LLAMA,
    "mistral": LLAMA,
    "qwen3": {**LLAMA, "RMSNorm": 9},
    "gemma": {"GemmaRMSNorm": 5, "GeGLUMLP": 2, "rotary_pos_emb": 2, "attention": 2},
    "gpt2": {"NewGELU": 2, "attention": 2},
    "gpt_neox": {"rotary_pos_emb": 2, "attention": 2},
    "bert": {"attention": 2},
    "distilbert": {"attention": 2},
    "vit": {"attention": 2},
}


def row(name):
    """(replaced, already) that a transformers model has."""
    stem, *flags = name.split(".")
    replaced, already = dict(TABLE[stem]), {}
    if "sdpa" in flags:
        already["attention"] = replaced.pop("attention")
    return replaced, already


class Traced(checks.Case):
    def check_table(self, names):
        for name in names:
            with self.subTest(model=name):
                report = self.check(name)
                replaced, already = row(name)
                self.assertEqual(km.actions(report, "replaced"), replaced)
                self.assertEqual(km.actions(report, "already"), already)
                self.assertEqual(len(report["sites"]), sum(replaced.values()) + sum(already.values()))

    def test_float32(self):
        names = [n for n in km.TRACED if "." not in n]
        self.assertEqual(sorted(names), sorted(TABLE))
        self.check_table(names)

    def test_bfloat16(self):
        names = [n for n in km.TRACED if n.endswith(".bf16")]
        self.assertEqual(len(names), 5)
        self.check_table(names)

    def test_sdpa(self):
        names = [n for n in km.TRACED if n.endswith(".sdpa")]
        self.assertEqual(len(names), 4)
        self.check_table(names)


if __name__ == "__main__":
    unittest.main()
