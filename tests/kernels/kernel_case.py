"""What the kernel tests share: the runtime library, tensors of odd layouts, and the comparison."""
import contextlib
import os
import unittest

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

    def assert_gradients_of_stock(self, f, stock, *tensors):
        """Each tensor in turn, then all, require grad: results are the kernel's, gradients the stock code's."""
        plain = f(*tensors)
        for chosen in [*({i} for i in range(len(tensors))), set(range(len(tensors)))]:
            grads = []
            for function in (f, stock):
                args = [t.detach().clone().requires_grad_(i in chosen) for i, t in enumerate(tensors)]
                out = function(*args)
                outs = out if isinstance(out, tuple) else (out,)
                if function is f:
                    for a, b in zip(outs, plain if isinstance(plain, tuple) else (plain,)):
                        self.assert_same(a.detach(), b)
                used = [o for o in outs if o.requires_grad]
                sum((o * torch.linspace(-1, 1, o.numel()).view(o.shape)).sum() for o in used).backward()
                grads.append([a.grad for a in args])
            for i, (a, b) in enumerate(zip(*grads)):
                self.assertEqual(a is None, i not in chosen)
                if a is not None:
                    self.assert_same(a, b)
        args = [t.clone().requires_grad_() for t in tensors]
        for off in (torch.no_grad(), torch.inference_mode()):
            with off:
                out = f(*args)
                self.assertFalse((out[0] if isinstance(out, tuple) else out).requires_grad)

    def assert_error(self, message, f, *args, **kwargs):
        with self.assertRaisesRegex(RuntimeError, message):
            f(*args, **kwargs)
