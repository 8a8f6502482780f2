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

    def assert_forward_only(self, f, *tensors):
        """Each tensor in turn requires grad: an error in grad mode, and none outside it."""
        for i in range(len(tensors)):
            args = [t.clone().requires_grad_(i == j) for j, t in enumerate(tensors)]
            with self.assertRaisesRegex(RuntimeError, "has no backward.*requires grad"):
                f(*args)
            with torch.no_grad():
                f(*args)
            with torch.inference_mode():
                f(*args)

    def assert_error(self, message, f, *args, **kwargs):
        with self.assertRaisesRegex(RuntimeError, message):
            f(*args, **kwargs)
