"""Models in forms that rewriting must survive: whatever is replaced, what comes out is the same."""

import unittest
import zipfile
from typing import Dict, Optional, Tuple

import torch
from torch import Tensor, nn

import km

SIZE = 16


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, SIZE))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-3)
        return self.weight * (wide * scale).to(x.dtype)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(SIZE, 24, bias=False)
        self.up = nn.Linear(SIZE, 24, bias=False)
        self.down = nn.Linear(24, SIZE, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Model(nn.Module):
    """Token ids, an embedding, a norm and an MLP; the forms below are made of it."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, SIZE)
        self.norm = RMSNorm()
        self.mlp = MLP()

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        return x + self.mlp(self.norm(x))


class CalledTwice(Model):
    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        return self.norm(x + self.mlp(self.norm(x)))


class TwoNames(Model):
    """One instance under two names."""

    def __init__(self):
        super().__init__()
        self.other = self.norm

    def forward(self, ids: Tensor) -> Tensor:
        return self.other(self.mlp(self.norm(self.embed(ids))))


class TiedWeights(Model):
    """Two modules with one weight, which is also used by itself."""

    def __init__(self):
        super().__init__()
        self.second = RMSNorm()
        self.second.weight = self.norm.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.second(self.mlp(self.norm(self.embed(ids)))) * self.norm.weight


class Inner(Model):
    """The MLP's child is used from outside, too."""

    def forward(self, ids: Tensor) -> Tensor:
        x = self.norm(self.embed(ids))
        return self.mlp(x) + self.mlp.down(self.mlp.gate(x))


class DictOutput(Model):
    def forward(self, ids: Tensor) -> Dict[str, Tensor]:
        x = self.norm(self.embed(ids))
        return {"norm": x, "mlp": self.mlp(x)}


class TupleOutput(Model):
    def forward(self, ids: Tensor) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        x = self.embed(ids)
        y = self.norm(x)
        return x, (y, self.mlp(y))


class OptionalInput(Model):
    def forward(self, ids: Tensor, scale: Optional[Tensor] = None) -> Tensor:
        x = self.norm(self.embed(ids))
        if scale is not None:
            x = x * scale
        return self.mlp(x)


class Branch(Model):
    """A branch and a loop that only the input decides."""

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        if ids.size(1) > 4:
            x = self.norm(x)
        for _ in range(ids.size(0)):
            x = self.mlp(self.norm(x))
        return x


class ChangedInPlace(Model):
    """What a norm returned is changed in place; and so is its input, before it is read."""

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        x.mul_(2.0)
        y = self.norm(x)
        y.add_(1.0)
        return self.mlp(y) + y


class ViewChanged(Model):
    """A view of what the norm reads is changed between two calls."""

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids) * 1.0
        view = x[:, 0]
        first = self.norm(x)
        view.zero_()
        return self.mlp(first) + self.norm(x)


class WeightChanged(Model):
    """The weight itself is changed while the model runs."""

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        first = self.norm(x)
        self.norm.weight.mul_(0.5)
        second = self.norm(x)
        self.norm.weight.mul_(2.0)
        return self.mlp(first + second)


class OtherMethod(Model):
    """The norm's code is reached by another method of the model, too."""

    @torch.jit.export
    def encode(self, ids: Tensor) -> Tensor:
        return self.norm(self.embed(ids))


class Wrapper(nn.Module):
    """Does nothing but call a model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(ids)


class Sliced(Model):
    """Inputs that are not contiguous in memory."""

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        x = torch.cat([x, x], -1)[..., ::2].transpose(0, 1)
        return self.mlp(self.norm(x)).transpose(0, 1)


class Empty(Model):
    """No row at all gets into the norm."""

    def forward(self, ids: Tensor) -> Tensor:
        return self.mlp(self.norm(self.embed(ids)[:, :0]))


FORMS = [Model, CalledTwice, TwoNames, TiedWeights, Inner, DictOutput, TupleOutput, OptionalInput,
         Branch, ChangedInPlace, ViewChanged, WeightChanged, OtherMethod, Sliced, Empty]
SHAPES = [(2, 8), (1, 1), (3, 5)]


def hook(module, inputs: Tuple[Tensor], output: Tensor):
    return output * 2.0


class Forms(km.Case):
    def setUp(self):
        super().setUp()
        torch.manual_seed(0)

    def check(self, module, name, tolerance=1e-5):
        path = self.folder / f"{name}.pt"
        torch.jit.save(module, str(path))
        report = self.apply(path, out=self.folder / f"{name}.out.pt")
        paths = {p for p, _ in km.load(path).named_modules()}
        for site in report["sites"]:
            self.assertIn(site["path"], paths)
        self.assert_same_model(path, self.out, [km.token_ids(s) for s in SHAPES], tolerance)
        # What it replaced is really gone: the kernel's operator is called.
        self.assertEqual(b"ops.kernelmap." in self.code_of(self.out), report["summary"]["replaced"] > 0)
        return report

    def code_of(self, path):
        with zipfile.ZipFile(path) as archive:
            return b"".join(archive.read(n) for n in archive.namelist() if n.endswith(".py"))

    def test_scripted(self):
        for form in FORMS:
            with self.subTest(form=form.__name__):
                self.check(torch.jit.script(form().eval()), form.__name__)

    def test_traced(self):
        for form in FORMS:
            if form in (OptionalInput, Branch):
                continue
            with self.subTest(form=form.__name__):
                traced = torch.jit.trace(form().eval(), (km.token_ids((2, 8)),), strict=False,
                                         check_trace=False)
                self.check(traced, form.__name__)

    def test_replaced(self):
        """The plain forms are replaced, not only survived."""
        for form in (Model, CalledTwice, TupleOutput, Sliced, Empty):
            with self.subTest(form=form.__name__):
                report = self.check(torch.jit.script(form().eval()), form.__name__)
                self.assertEqual(km.actions(report, "replaced"), {"RMSNorm": 1, "SwiGLUMLP": 1})

    def test_wrapped(self):
        inner = torch.jit.script(Model().eval())
        for module in (Wrapper(inner), Wrapper(Wrapper(inner))):
            report = self.check(torch.jit.script(module), "wrapped")
            self.assertEqual(report["summary"]["replaced"], 2)

    def test_training_mode(self):
        report = self.check(torch.jit.script(Model().train()), "training")
        self.assertEqual(report["summary"]["replaced"], 2)
        self.assertTrue(km.load(self.out).training)

    def test_hooks(self):
        model = Model().eval()
        model.norm.register_forward_hook(hook)
        self.check(torch.jit.script(model), "hooked")

    def test_frozen(self):
        self.check(torch.jit.freeze(torch.jit.script(Model().eval())), "frozen")

    def test_dtypes(self):
        for dtype, tolerance in ((torch.float16, 2**-9), (torch.bfloat16, 2**-6), (torch.float64, 1e-6)):
            with self.subTest(dtype=dtype):
                module = torch.jit.script(Model().eval().to(dtype))
                self.check(module, str(dtype), tolerance)

    def test_another_method(self):
        self.check(torch.jit.script(OtherMethod().eval()), "method")
        stock, rewritten = km.load(self.folder / "method.pt"), km.load(self.out)
        ids = km.token_ids((2, 8))
        error, size = km.distance(rewritten.encode(ids), stock.encode(ids))
        self.assertLessEqual(error, 1e-5 * size)

    def test_optional_input(self):
        self.check(torch.jit.script(OptionalInput().eval()), "optional")
        stock, rewritten = km.load(self.folder / "optional.pt"), km.load(self.out)
        ids, scale = km.token_ids((2, 8)), torch.linspace(0.1, 3, SIZE)
        error, size = km.distance(rewritten(ids, scale), stock(ids, scale))
        self.assertLessEqual(error, 1e-5 * size)

    def test_saved_again(self):
        """A rewritten archive can be loaded and saved in Python."""
        self.check(torch.jit.script(Model().eval()), "model")
        again = self.folder / "again.pt"
        torch.jit.save(km.load(self.out), str(again))
        self.assert_same_model(self.out, again, [km.token_ids((2, 8))], 0)

    def test_foreign_extra_files(self):
        """A plan or report in the archive that is not ours is an error, not a crash."""
        for content in ("", "{}", "[" * 100000, "not json", '{"format": "kernelmap-plan/1"}'):
            path = self.folder / "model.pt"
            extra = {f"kernelmap/{name}.json": content for name in ("plan", "report")}
            torch.jit.save(torch.jit.script(Model().eval()), str(path), _extra_files=extra)
            self.apply(path, code=1)
            self.assert_one_error(self.done, 1)


if __name__ == "__main__":
    unittest.main()
