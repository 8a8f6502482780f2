"""kernelmap::gelu_tanh against aten::gelu and against float64."""
import unittest

import torch
import torch.nn.functional as F
from kernel_case import DTYPES, KernelCase, layouts, ops


def exact(x):
    x = x.double()
    return x * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))


class GeluTanh(KernelCase):
    def test_shapes(self):
        for dtype in DTYPES:
            for shape in ((), (0,), (1,), (17,), (3, 31), (2, 3, 33), (2, 0, 4), (301, 1001)):
                with self.subTest(dtype=dtype, shape=shape):
                    x = (torch.randn(shape) * 3).to(dtype)
                    self.assert_close(ops.gelu_tanh(x), exact(x).to(dtype), {torch.float32: 1e-6}.get(dtype))

    def test_at_least_as_accurate_as_stock(self):
        for dtype in DTYPES:
            x = torch.linspace(-9, 9, 20001).to(dtype)
            truth = exact(x)
            error = (ops.gelu_tanh(x).double() - truth).abs().max().item()
            limit = (F.gelu(x, approximate="tanh").double() - truth).abs().max().item()
            self.assertLessEqual(error, 1.5 * limit + 1e-7)

    def test_layouts(self):
        for dtype in DTYPES:
            x = torch.randn(6, 4, 40).to(dtype)
            for name, laid_out in layouts(x):
                with self.subTest(dtype=dtype, layout=name):
                    result = ops.gelu_tanh(laid_out)
                    self.assert_same(result, ops.gelu_tanh(x))
                    if name in ("contiguous", "transposed", "last dimension strided"):
                        self.assertEqual(result.stride(), laid_out.stride())
            row = torch.randn(1, 40).to(dtype).expand(5, 40)
            self.assert_same(ops.gelu_tanh(row), ops.gelu_tanh(row.contiguous()))

    def test_special_values(self):
        for dtype in DTYPES:
            x = torch.tensor([float("nan"), float("inf"), 1e4, -1e4, 0.0]).to(dtype)
            result = ops.gelu_tanh(x)
            self.assertTrue(result[0].isnan())
            self.assert_same(result[1:3], x[1:3])
            self.assertLessEqual(result[3:].abs().max().item(), 1e-30)

    def test_everything_else_is_the_aten_op(self):
        x = torch.randn(3, 8, dtype=torch.float64)
        self.assert_same(ops.gelu_tanh(x), F.gelu(x, approximate="tanh"))
        self.assertTrue(torch.autograd.gradcheck(ops.gelu_tanh, x.requires_grad_()))
        with self.assertRaises(RuntimeError):
            ops.gelu_tanh(torch.ones(3, dtype=torch.int64))

    def test_gradients(self):
        stock = lambda x: F.gelu(x, approximate="tanh")
        for dtype in DTYPES:
            for shape in ((), (2, 3, 8), (5, 77), (301, 1001)):
                with self.subTest(dtype=dtype, shape=shape):
                    self.assert_gradients(ops.gelu_tanh, stock, (torch.randn(shape) * 3).to(dtype))
            self.assert_gradient_layouts(ops.gelu_tanh, torch.randn(6, 4, 40).to(dtype))
        x = torch.randn(2, 3, 8)
        self.assert_gradients_by_differences(ops.gelu_tanh, x)
        self.assert_second_gradients(ops.gelu_tanh, stock, x)

    def test_deterministic(self):
        for dtype in DTYPES:
            x = torch.randn(301, 1001).to(dtype)
            self.assert_deterministic(lambda: ops.gelu_tanh(x))


if __name__ == "__main__":
    unittest.main()
