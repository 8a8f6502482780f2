"""kernelmap::quick_gelu against its stock code and against float64."""
import unittest

import torch
from kernel_case import DTYPES, KernelCase, layouts, ops


def stock(x):
    return x * torch.sigmoid(1.702 * x)


class QuickGelu(KernelCase):
    def test_at_least_as_accurate_as_stock(self):
        for dtype in DTYPES:
            x = torch.linspace(-9, 9, 20001).to(dtype)
            truth = stock(x.double())
            error = (ops.quick_gelu(x).double() - truth).abs().max().item()
            limit = (stock(x).double() - truth).abs().max().item()
            self.assertLessEqual(error, 1.5 * limit + 1e-7, dtype)

    def test_shapes_and_layouts(self):
        for dtype in DTYPES:
            for shape in ((), (0,), (1,), (17,), (3, 31), (2, 0, 4), (301, 101)):
                x = torch.randn(shape).to(dtype)
                self.assert_close(ops.quick_gelu(x), stock(x.double()).to(dtype), {torch.float32: 1e-6}.get(dtype))
            x = torch.randn(6, 4, 40).to(dtype)
            for _, laid_out in layouts(x):
                self.assert_same(ops.quick_gelu(laid_out), ops.quick_gelu(x))

    def test_special_values(self):
        for dtype in DTYPES:
            result = ops.quick_gelu(torch.tensor([float("nan"), float("inf"), 1e4, -1e4, 0.0]).to(dtype))
            self.assertTrue(result[0].isnan())
            self.assertEqual(result[1].item(), float("inf"))
            self.assertLessEqual(result[3:].abs().max().item(), 1e-30)

    def test_everything_else_is_stock(self):
        x = torch.randn(3, 8, dtype=torch.float64)
        self.assert_same(ops.quick_gelu(x), stock(x))
        self.assertTrue(torch.autograd.gradcheck(ops.quick_gelu, x.requires_grad_()))

    def test_gradients(self):
        for dtype in DTYPES:
            for shape in ((), (2, 3, 8), (5, 77)):
                with self.subTest(dtype=dtype, shape=shape):
                    self.assert_gradients(ops.quick_gelu, stock, (torch.randn(shape) * 3).to(dtype))
        x = torch.randn(2, 3, 8)
        self.assert_gradients_by_differences(ops.quick_gelu, x)
        self.assert_second_gradients(ops.quick_gelu, stock, x)

    def test_deterministic(self):
        x = torch.randn(301, 1001)
        self.assert_deterministic(lambda: ops.quick_gelu(x))


if __name__ == "__main__":
    unittest.main()
