"""kernelmap::silu_and_mul and kernelmap::gelu_and_mul against the stock operations."""
import unittest

import torch
import torch.nn.functional as F
from kernel_case import DTYPES, KernelCase, layouts, ops

# name: (kernel, stock, exact in float64)
PAIRS = {
    "silu": (ops.silu_and_mul, F.silu, lambda x: x * torch.sigmoid(x)),
    "gelu": (ops.gelu_and_mul, F.gelu, lambda x: x * 0.5 * torch.special.erfc(-x * 0.5**0.5)),
    "gelu_tanh": (
        lambda gate, up: ops.gelu_and_mul(gate, up, "tanh"),
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: x * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)),
    ),
}
SHAPES = ((), (1,), (17,), (1, 1), (3, 31), (2, 3, 33), (1, 11008), (129, 1000))


class Gated(KernelCase):
    def inputs(self, shape, dtype):
        return (torch.randn(shape) * 3).to(dtype), torch.randn(shape).to(dtype)

    def test_dtypes_and_shapes(self):
        for name, (kernel, stock, _) in PAIRS.items():
            for shape in SHAPES:
                for dtype in DTYPES:
                    with self.subTest(name=name, shape=shape, dtype=dtype):
                        gate, up = self.inputs(shape, dtype)
                        # Two roundings in 16 bits, of the activation and of the product.
                        tolerance = {torch.float32: 2e-6, torch.bfloat16: 2.0**-6, torch.float16: 2.0**-9}
                        self.assert_close(kernel(gate, up), stock(gate) * up, tolerance[dtype])

    def test_at_least_as_accurate_as_stock(self):
        values = torch.linspace(-9, 9, 20001)
        for name, (kernel, stock, exact) in PAIRS.items():
            for dtype in DTYPES:
                with self.subTest(name=name, dtype=dtype):
                    x = values.to(dtype)
                    truth = exact(x.double())
                    one = torch.ones_like(x)
                    error = (kernel(x, one).double() - truth).abs().max().item()
                    limit = (stock(x).double() - truth).abs().max().item()
                    self.assertLessEqual(error, 1.5 * limit + 1e-7)

    def test_silu_in_16_bits_is_stock_but_for_ties(self):
        for dtype in (torch.bfloat16, torch.float16):
            gate, up = self.inputs((300, 1000), dtype)
            differs = ops.silu_and_mul(gate, up) != F.silu(gate) * up
            self.assertLess(differs.float().mean().item(), 5e-3)

    def test_layouts(self):
        for name, (kernel, _, _) in PAIRS.items():
            for dtype in DTYPES:
                for shape in ((6, 4, 40), (5, 33), (1, 8)):
                    gate, up = self.inputs(shape, dtype)
                    expected = kernel(gate, up)
                    for layout, laid_out in layouts(gate):
                        with self.subTest(name=name, dtype=dtype, shape=shape, layout=layout):
                            result = kernel(laid_out, up)
                            self.assert_same(result, expected)
                            self.assertTrue(result.is_contiguous())
                            self.assert_same(kernel(laid_out, dict(layouts(up))["slice of wider rows"]), expected)

    def test_halves_of_a_fused_projection(self):
        for dtype in DTYPES:
            gate, up = torch.randn(2, 5, 2 * 70).to(dtype).chunk(2, -1)
            self.assert_same(ops.silu_and_mul(gate, up), ops.silu_and_mul(gate.contiguous(), up.contiguous()))
        row = torch.randn(1, 40)
        gate, up = row.expand(9, 40), torch.randn(9, 40)
        self.assert_same(ops.silu_and_mul(gate, up), ops.silu_and_mul(gate.contiguous(), up))

    def test_no_elements(self):
        for shape in ((0,), (0, 8), (3, 0), (2, 0, 8)):
            for name, (kernel, _, _) in PAIRS.items():
                self.assertEqual(kernel(torch.ones(shape), torch.ones(shape)).shape, torch.Size(shape))

    def test_special_values(self):
        special = torch.tensor([float("nan"), float("inf"), 1e30, 1e4, -1e4, -1e30, 0.0, -0.0, 1e-40, -1e-40])
        for name, (kernel, _, _) in PAIRS.items():
            for dtype in DTYPES:
                with self.subTest(name=name, dtype=dtype):
                    x = special.to(dtype)
                    one = torch.ones_like(x)
                    result = kernel(x, one)
                    # nan stays nan, large values themselves, and very negative ones vanish.
                    self.assertTrue(result[0].isnan())
                    self.assert_same(result[1:4], x[1:4])
                    self.assertTrue((result[4:6].abs() <= 1e-30).all() or dtype == torch.float16)
                    self.assert_close(result[6:], x[6:] * 0.5, 0.01)
                    self.assertTrue(kernel(one, x)[0].isnan())

    def test_deterministic(self):
        for name, (kernel, _, _) in PAIRS.items():
            for dtype in DTYPES:
                gate, up = self.inputs((301, 1001), dtype)
                self.assert_deterministic(lambda: kernel(gate, up))
                gate, up = torch.randn(301, 2002).to(dtype).chunk(2, -1)
                self.assert_deterministic(lambda: kernel(gate, up))

    def test_gradients(self):
        for kernel, stock, _ in PAIRS.values():
            for dtype in DTYPES:
                for shape in ((2, 3, 8), (5, 77), (301, 1001)):
                    with self.subTest(dtype=dtype, shape=shape):
                        gate, up = self.inputs(shape, dtype)
                        self.assert_gradients(kernel, lambda g, u: stock(g) * u, gate * 3, up)

    def test_gradients_otherwise(self):
        for kernel, stock, _ in PAIRS.values():
            gate, up = self.inputs((2, 3, 8), torch.float32)
            self.assert_gradients_by_differences(kernel, gate, up)
            self.assert_second_gradients(kernel, lambda g, u: stock(g) * u, gate, up)
            for dtype in DTYPES:
                self.assert_gradient_layouts(kernel, *self.inputs((6, 4, 40), dtype))

    def test_gradients_of_large_and_odd_values(self):
        for kernel, stock, _ in PAIRS.values():
            gate = torch.cat([torch.linspace(-80, 80, 3001), torch.tensor([1e4, -1e4, 1e30, -1e30, 0.0])])
            up = torch.ones_like(gate)
            grads = []
            for f, dtype in ((kernel, torch.float32), (lambda g, u: stock(g) * u, torch.float64)):
                x = gate.detach().to(dtype).requires_grad_()
                f(x, up.to(dtype)).sum().backward()
                grads.append(x.grad)
            self.assertLess((grads[0] - grads[1]).abs().max().item(), 1e-6)
            gate = torch.tensor([float("nan"), 1.0], requires_grad=True)
            kernel(gate, torch.ones(2)).sum().backward()
            self.assertEqual(gate.grad.isnan().tolist(), [True, False])

    def test_gradients_without_elements(self):
        for kernel, _, _ in PAIRS.values():
            gate = torch.randn(2, 0, 4, requires_grad=True)
            kernel(gate, gate).sum().backward()
            self.assertEqual(gate.grad.shape, gate.shape)

    def test_meta(self):
        x = torch.empty(2, 8, dtype=torch.float16, device="meta")
        for kernel, _, _ in PAIRS.values():
            self.assertEqual((kernel(x, x).dtype, kernel(x, x).shape), (x.dtype, x.shape))

    def test_errors(self):
        x = torch.randn(2, 8)
        for name in ("silu_and_mul", "gelu_and_mul"):
            op = getattr(ops, name)
            self.assert_error(f"kernelmap::{name}: gate must be float32.*but is Long", op, x.long(), x)
            self.assert_error(f"kernelmap::{name}: up is Half, but gate is Float", op, x, x.half())
            self.assert_error(r"up has shape \[2, 7\], but gate has shape \[2, 8\]", op, x, x[:, :7])
        self.assert_error('approximate must be "none" or "tanh", but is "fast"', ops.gelu_and_mul, x, x, "fast")


if __name__ == "__main__":
    unittest.main()
