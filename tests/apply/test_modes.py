"""train() on what was rewritten for inference: dropout and gradients are never lost in silence. And hints."""

import unittest

import torch
from torch import Tensor, nn

import km

HINTED = '[kernel_mapping]\nSwiGLUMLP = "builtin:swiglu_mlp"\n'


class Attention(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))
        self.dropout = nn.Dropout(p)

    def forward(self, x: Tensor) -> Tensor:
        shape = [x.size(0), x.size(1), 2, 8]
        q = self.q(x).view(shape).transpose(1, 2)
        k = self.k(x).view(shape).transpose(1, 2)
        v = self.v(x).view(shape).transpose(1, 2)
        weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * 0.3, dim=-1)
        out = torch.matmul(self.dropout(weights), v).transpose(1, 2).contiguous()
        return out.reshape(x.size(0), x.size(1), 16)


class Norm(nn.Module):
    def __init__(self, stops):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(16) + 0.5)
        self.stops = stops

    def forward(self, x: Tensor) -> Tensor:
        x = x.detach() if self.stops else x
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


class TinyRMSNorm(Norm):
    pass


class Model(nn.Module):
    def __init__(self, p=0.5, residual=0.0, stops=False):
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.norm = TinyRMSNorm(stops)
        self.attention = Attention(p)
        self.residual = nn.Dropout(residual)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        return x + self.residual(self.attention(self.norm(x)))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = (nn.Linear(16, 24, bias=False) for _ in range(2))
        self.down = nn.Linear(24, 16, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.nn.functional.silu(self.gate(x)) * self.up(x))


class Relu(Gated):
    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.relu(self.gate(x)) * self.up(x))


class WrapperMLP(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) * 2.0


class HintedModel(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.mlp = WrapperMLP(inner)

    def forward(self, ids: Tensor) -> Tensor:
        return self.mlp(self.embed(ids))


IDS = km.token_ids((2, 8))


class Case(km.Case):
    def rewrite(self, model, *flags, scripted=True, config=None):
        torch.manual_seed(0)
        path = self.folder / "stock.pt"
        torch.jit.save(torch.jit.script(model) if scripted else torch.jit.trace(model, IDS), str(path))
        self.stock = path
        return self.apply(path, *flags, config=config and self.config(config))


class Modes(Case):
    def assert_replaced(self, report, count):
        self.assertEqual((report["summary"]["replaced"], report["summary"]["fallback"]), (count, 0), report["sites"])

    def test_dropout_inside_a_site_raises(self):
        self.assert_replaced(self.rewrite(Model(p=0.5).eval()), 2)
        made = km.load(self.out)
        torch.testing.assert_close(made(IDS), km.load(self.stock)(IDS))
        for part in (made, made.attention, made.attention.dropout):
            made.eval()
            made(IDS)
            part.train()
            with self.assertRaisesRegex(torch.jit.Error, r"kernelmap: Attention: it was rewritten for inference, .*--mode training"):
                made(IDS)
        made.eval()
        made(IDS)
        again = self.folder / "again.pt"
        self.apply(self.out, out=again)
        self.assertEqual(again.read_bytes(), (self.folder / "out.pt").read_bytes())

    def test_what_is_right_in_both_modes_runs_in_both(self):
        """Dropout that never drops, and dropout outside of what was replaced."""
        self.assert_replaced(self.rewrite(Model(p=0.0, residual=0.5).eval()), 2)
        made, stock = km.load(self.out), km.load(self.stock)
        for model in (made, stock):
            model.train()
        torch.manual_seed(1)
        found = made(IDS)
        torch.manual_seed(1)
        torch.testing.assert_close(found, stock(IDS))
        self.assertFalse(torch.equal(found, made.eval()(IDS)))

    def test_rewritten_for_training(self):
        report = self.rewrite(Model(p=0.5).eval(), "--mode", "training")
        self.assertEqual(km.site_at(report, "norm")["action"], "replaced")
        made, stock = km.load(self.out).train(), km.load(self.stock).train()
        torch.manual_seed(1)
        found = made(IDS)
        torch.manual_seed(1)
        torch.testing.assert_close(found, stock(IDS))

    def test_a_stopped_gradient_raises(self):
        self.rewrite(Model(p=0.0, stops=True).eval())
        made = km.load(self.out)
        torch.testing.assert_close(made(IDS), km.load(self.stock)(IDS))
        with self.assertRaisesRegex(torch.jit.Error, "kernelmap: TinyRMSNorm: it was rewritten for inference"):
            made.train()(IDS)

    def test_saved_in_training(self):
        """Its mode is that of train(): what was proved there runs there."""
        self.rewrite(Model(p=0.0).train())
        made = km.load(self.out)
        self.assertTrue(made.training)
        torch.testing.assert_close(made(IDS), km.load(self.stock)(IDS))
        torch.testing.assert_close(made.eval()(IDS), km.load(self.stock)(IDS))

    def test_no_flag_where_nothing_depends_on_it(self):
        for name in ("llama", "own_classes.scripted"):
            self.apply(km.model(name))
            made = km.load(self.out)
            self.assertNotIn("rewritten for inference", str(made.inlined_graph))
            made.train()(IDS)


class Hints(Case):
    def test_the_module_inside_is_the_site(self):
        report = self.rewrite(HintedModel(Gated()).eval(), config=HINTED)
        self.assertEqual([(s["path"], s["action"]) for s in report["sites"]], [("mlp.inner", "replaced")])

    def test_a_hint_alone_is_reported(self):
        report = self.rewrite(HintedModel(Relu()).eval(), config=HINTED)
        self.assertEqual([(s["path"], s["reason"]["code"]) for s in report["sites"]], [("mlp", "different_code")])


if __name__ == "__main__":
    unittest.main()
