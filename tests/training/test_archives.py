"""What an archive that is rewritten for training keeps, and what is not proved for it."""

import unittest

import km
import torch
import torch.nn.functional as F
import trained
from torch import Tensor, nn


class TinyRMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = 1e-6

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        mean = wide.pow(2).mean(-1, keepdim=True)
        return self.weight * (wide * torch.rsqrt(mean + self.eps)).to(x.dtype)


class DetachedRMSNorm(TinyRMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        mean = wide.pow(2).mean(-1, keepdim=True).detach()
        return self.weight * (wide * torch.rsqrt(mean + self.eps)).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.dropout = dropout
        self.norm = TinyRMSNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        normed = self.norm(x)
        q = self.q(normed).view(x.shape[0], x.shape[1], 2, 8).transpose(1, 2)
        k = self.k(normed).view(x.shape[0], x.shape[1], 2, 8).transpose(1, 2)
        v = self.v(normed).view(x.shape[0], x.shape[1], 2, 8).transpose(1, 2)
        scores = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * 0.25, -1)
        scores = F.dropout(scores, self.dropout, self.training)
        return torch.matmul(scores, v).transpose(1, 2).reshape(x.shape)


class Model(nn.Module):
    def __init__(self, dropout=0.0, detached=False):
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.attention = Attention(16, dropout)
        self.norm = DetachedRMSNorm(16) if detached else TinyRMSNorm(16)
        self.head = nn.Linear(16, 100)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        return self.head(self.norm(x + self.attention(x)))


class Archives(km.Case):
    def save(self, **options):
        torch.manual_seed(0)
        path = self.folder / "model.pt"
        torch.jit.script(Model(**options)).save(str(path))
        return path

    def assert_same_gradients(self, path, mode):
        stock, ours = km.load(path), km.load(self.out)
        for model in (stock, ours):
            model.train(mode)
        ids = next(trained.batches())
        a, b = (trained.gradients(model, ids) for model in (stock, ours))
        self.assertEqual(a.keys(), b.keys())
        for name, gradient in a.items():
            size = gradient.abs().max().item()
            self.assertLessEqual((gradient - b[name]).abs().max().item(), 1e-4 * size + 1e-8, name)

    def test_parameters_and_mode(self):
        for name in ("llama", "llama.bf16", "shared_class.scripted"):
            for training in (True, False):
                with self.subTest(model=name, training=training):
                    model = km.load(km.model(name)).train(training)
                    frozen = [n for n, _ in model.named_parameters()][::2]
                    for n, p in model.named_parameters():
                        p.requires_grad_(n not in frozen)
                    path = self.folder / "in.pt"
                    model.save(str(path))
                    self.apply(path, "--mode", "training")
                    out = km.load(self.out)
                    self.assertEqual(out.training, training)
                    before, after = (dict(m.named_parameters()) for m in (model, out))
                    self.assertEqual(before.keys(), after.keys())
                    for n, p in after.items():
                        self.assertEqual(p.requires_grad, n not in frozen, n)
                        self.assertTrue(torch.equal(p, before[n]))
                    grads = trained.gradients(out, next(trained.batches()))
                    for n, g in grads.items():
                        self.assertEqual(g is None, n in frozen, n)

    def test_dropout_stays(self):
        """What train() makes random is no site, whatever mode the archive was saved in."""
        for probability, code in ((0.3, "fallback"), (0.0, "replaced")):
            for training in (True, False):
                with self.subTest(probability=probability, training=training):
                    torch.manual_seed(0)
                    path = self.folder / "model.pt"
                    torch.jit.script(Model(probability).train(training)).save(str(path))
                    report = self.apply(path, "--mode", "training")
                    self.assertEqual(km.actions(report, "replaced").get("attention", 0),
                                     int(code == "replaced"))
                    self.assertEqual(km.actions(report, "replaced")["RMSNorm"], 2)
                    for mode in (True, False):
                        self.assert_same_gradients(path, mode)

    def test_detach_is_seen(self):
        """For inference it is nothing; a gradient it stops."""
        path = self.save(detached=True)
        report = self.apply(path)
        self.assertEqual(km.actions(report, "replaced")["RMSNorm"], 2)
        report = self.apply(path, "--mode", "training")
        site = km.site_at(report, "norm", "RMSNorm")
        self.assertEqual((site["action"], site["reason"]["code"]), ("fallback", "different_code"))
        self.assertEqual(km.actions(report, "replaced")["RMSNorm"], 1)
        self.assert_same_gradients(path, True)

    def test_an_inference_archive_has_gradients_too(self):
        for name in ("llama", "qwen3", "gemma", "gpt2", "shared_class.scripted"):
            with self.subTest(model=name):
                self.apply(km.model(name))
                self.assert_same_gradients(km.model(name), False)

    def test_nothing_is_recorded_without_gradients(self):
        self.apply(km.model("llama"), "--mode", "training")
        model, saved = km.load(self.out), []
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t)
        ids = next(trained.batches())
        with torch.enable_grad(), hooks:
            with torch.no_grad():
                self.assertFalse(model(ids).requires_grad)
            with torch.inference_mode():
                self.assertFalse(model(ids).requires_grad)
            self.assertEqual(saved, [])
            self.assertTrue(model(ids).requires_grad)
            self.assertNotEqual(saved, [])


if __name__ == "__main__":
    unittest.main()
