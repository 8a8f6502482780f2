"""What the kernel tests share: the runtime library, tensors of odd layouts, and the comparison."""
import contextlib
import os
import unittest
import warnings

import torch

torch.ops.load_library(os.environ["KM_RUNTIME"])
ops = torch.ops.kernelmap

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# One rounding apart, as |a-b| <= tolerance * max|b|; float32: sums in another order.
TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10}


def layouts(x):
    """The values of x, at least 2-D, in memory as callers may have it: (name, tensor)."""
    yield "contiguous", x.contiguous()
    yield "transposed", x.transpose(0, -2).contiguous().transpose(0, -2)
    yield "last dimension strided", x.transpose(-1, -2).contiguous().transpose(-1, -2)
    wide = x.new_full((*x.shape[:-1], x.shape[-1] + 5), float("nan"))
    wide[..., 2:-3] = x
    yield "slice of wider rows", wide[..., 2:-3]
    spread = x.new_full((x.shape[0] * 2, *x.shape[1:]), float("nan"))
    spread[::2] = x
    yield "every second row", spread[::2]


@contextlib.contextmanager
def threads(count):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def as_tuple(out):
    return out if isinstance(out, tuple) else (out,)


def weighted(out):
    """A number that depends on each element of the results in another way."""
    used = [o for o in as_tuple(out) if o.requires_grad]
    return sum((o * torch.linspace(-1, 1, o.numel()).view(o.shape).to(o.dtype)).sum() for o in used)


def gradients(f, tensors, chosen):
    """The arguments, of which the chosen ones require grad, and their gradients."""
    args = [t.detach().clone().requires_grad_(i in chosen) for i, t in enumerate(tensors)]
    weighted(f(*args)).backward()
    return args, [a.grad for a in args]


class KernelCase(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def assert_same(self, a, b):
        """Bit for bit, nan equal to nan, in dtype and shape."""
        self.assertEqual(a.dtype, b.dtype)
        self.assertEqual(a.shape, b.shape)
        self.assertTrue(torch.equal(a.nan_to_num(nan=123.0), b.nan_to_num(nan=123.0)))

    def assert_close(self, a, b, tolerance=None):
        self.assertEqual(a.dtype, b.dtype)
        self.assertEqual(a.shape, b.shape)
        if not b.numel():
            return
        if tolerance is None:
            tolerance = TOLERANCE[b.dtype]
        a, b = a.double(), b.double()
        self.assertLessEqual((a - b).abs().max().item(), tolerance * b.abs().max().item())

    def assert_deterministic(self, f):
        """The same bits again, and on one thread."""
        first = f()
        self.assert_same(first, f())
        with threads(1):
            self.assert_same(first, f())
        with threads(2):
            self.assert_same(first, f())

    def assert_gradients(self, f, stock, *tensors):
        """Each tensor in turn, then all, require grad: results are the kernel's; gradients err from those of the
        stock code in a wider dtype hardly more than the stock code's own do. None are wanted, none are recorded."""
        plain = as_tuple(f(*tensors))
        wider = torch.float64 if tensors[0].dtype == torch.float32 else torch.float32
        for chosen in [*({i} for i in range(len(tensors))), set(range(len(tensors)))]:
            args, grads = gradients(f, tensors, chosen)
            for a, b in zip(as_tuple(f(*args)), plain):
                self.assert_same(a.detach(), b)
            own = gradients(stock, tensors, chosen)[1]
            exact = gradients(stock, [t.to(wider) for t in tensors], chosen)[1]
            for i, (a, b, c) in enumerate(zip(grads, own, exact)):
                self.assertEqual(a is None, i not in chosen)
                if a is None:
                    continue
                self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape))
                error, limit = ((t.to(c.dtype) - c).abs().max().item() for t in (a, b))
                rounding = TOLERANCE[tensors[0].dtype] / 2 * c.abs().max().item()
                self.assertLessEqual(error, 1.5 * limit + rounding, (i, chosen))
        self.assert_nothing_recorded(f, tensors)

    def assert_nothing_recorded(self, f, tensors):
        saved = []
        args = [t.clone().requires_grad_() for t in tensors]
        with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
            for off in (torch.no_grad(), torch.inference_mode()):
                with off:
                    for out in as_tuple(f(*args)):
                        self.assertFalse(out.requires_grad)
            for out in as_tuple(f(*(t.detach() for t in args))):  # all frozen
                self.assertIsNone(out.grad_fn)
        self.assertEqual(saved, [])

    def assert_gradients_by_differences(self, f, *tensors):
        """gradcheck, as far as float32 carries: against differences of the kernel's own results."""
        args = [t.float().requires_grad_() for t in tensors]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of gradcheck, about float32
            self.assertTrue(torch.autograd.gradcheck(f, args, eps=1e-2, atol=5e-3, rtol=1e-2))

    def assert_second_gradients(self, f, stock, *tensors):
        """Those of the stock code."""
        found = []
        for function in (f, stock):
            args = [t.detach().clone().requires_grad_() for t in tensors]
            first = torch.autograd.grad(weighted(function(*args)), args, create_graph=True)
            loss = sum((g * torch.linspace(1, -2, g.numel()).view(g.shape)).sum() for g in first)
            found.append(torch.autograd.grad(loss, args, allow_unused=True))
        for a, b in zip(*found):
            self.assertEqual(a is None, b is None)
            if a is not None:
                self.assert_close(a, b, 1e-5)

    def assert_gradient_layouts(self, f, x, *others):
        """The gradients do not depend on how x, or the gradient that comes in, lies in memory."""
        expected = None
        for name, laid_out in layouts(x):
            for turned in (False, True):
                args = [laid_out.detach().requires_grad_(), *(t.clone().requires_grad_() for t in others)]
                out = as_tuple(f(*args))[0]
                by = torch.linspace(-1, 1, out.numel()).view(out.shape).to(out.dtype)
                if turned:
                    by = by.transpose(-1, -2).contiguous().transpose(-1, -2)
                grads = torch.autograd.grad(out, args, by)
                expected = expected or grads
                with self.subTest(layout=name, turned=turned):
                    for a, b in zip(grads, expected):
                        self.assert_same(a, b)

    def assert_error(self, message, f, *args, **kwargs):
        with self.assertRaisesRegex(RuntimeError, message):
            f(*args, **kwargs)
