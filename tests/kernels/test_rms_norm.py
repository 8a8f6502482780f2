"""kernelmap::rms_norm against the stock formulas."""
import unittest

import torch
from kernel_case import DTYPES, KernelCase, layouts, ops


def normed(x, eps):
    h = x if x.dtype == torch.float64 else x.float()
    return h * torch.rsqrt((h * h).mean(-1, keepdim=True) + eps)


def llama(x, weight, eps=1e-6):
    return weight * normed(x, eps).to(x.dtype)


def offset(x, weight, eps=1e-6, by=1.0):
    return ((weight.to(torch.promote_types(x.dtype, torch.float32)) + by) * normed(x, eps)).to(x.dtype)


SHAPES = ((1, 1), (1, 4096), (3, 1), (2, 17), (5, 31), (2, 3, 64), (2, 3, 2, 100), (7, 1023), (300, 1024))


class RmsNorm(KernelCase):
    def inputs(self, shape, dtype, weight_dtype):
        return torch.randn(shape).to(dtype), torch.randn(shape[-1]).to(weight_dtype)

    def test_dtypes_and_shapes(self):
        for shape in SHAPES:
            for dtype in DTYPES:
                for weight_dtype in DTYPES:
                    with self.subTest(shape=shape, dtype=dtype, weight_dtype=weight_dtype):
                        x, weight = self.inputs(shape, dtype, weight_dtype)
                        # Half a unit of x's rounding may be in the result, whatever its dtype.
                        loose = max(t for t in map(self.tolerance, (dtype, weight_dtype)))
                        self.assert_close(ops.rms_norm(x, weight, 1e-6), llama(x, weight), loose)
                        self.assert_close(
                            ops.rms_norm(x, weight, 1e-6, 1.0, False), offset(x, weight))
                        self.assert_close(
                            ops.rms_norm(x, weight, 1e-6, 0.0, False), offset(x, weight, by=0.0))

    def tolerance(self, dtype):
        # llama's two roundings: of the normed value, and of the product.
        return {torch.float32: 2e-6, torch.bfloat16: 2.0**-6, torch.float16: 2.0**-9}[dtype]

    def test_few_values_differ_in_16_bits(self):
        for dtype in (torch.bfloat16, torch.float16):
            x, weight = self.inputs((200, 1024), dtype, dtype)
            a, b = ops.rms_norm(x, weight, 1e-6), llama(x, weight)
            self.assertLess((a != b).float().mean().item(), 1e-3)

    def test_eps_matters_for_small_values(self):
        x, weight = self.inputs((4, 64), torch.float32, torch.float32)
        x = x * 1e-4
        for eps in (1e-12, 1e-6, 1e-3, 0.0):
            self.assert_close(ops.rms_norm(x, weight, eps), llama(x, weight, eps))

    def test_layouts(self):
        for dtype in DTYPES:
            for shape in ((6, 4, 40), (5, 33), (2, 3, 4, 32), (1, 8)):
                x, weight = self.inputs(shape, dtype, dtype)
                expected = ops.rms_norm(x, weight, 1e-6)
                for name, laid_out in layouts(x):
                    with self.subTest(dtype=dtype, shape=shape, layout=name):
                        result = ops.rms_norm(laid_out, weight, 1e-6)
                        self.assert_same(result, expected)
                        self.assertTrue(result.is_contiguous())

    def test_expanded_and_many_dimensions(self):
        weight = torch.randn(16)
        rows = torch.randn(4, 1, 16).expand(4, 5, 16)
        self.assert_same(ops.rms_norm(rows, weight, 1e-6), ops.rms_norm(rows.contiguous(), weight, 1e-6))
        same = torch.randn(3, 1).expand(3, 16)
        self.assert_same(ops.rms_norm(same, weight, 1e-6), ops.rms_norm(same.contiguous(), weight, 1e-6))
        many = torch.randn(2, 2, 2, 2, 2, 2, 2, 2, 16).permute(7, 5, 3, 1, 0, 2, 4, 6, 8)
        self.assert_same(ops.rms_norm(many, weight, 1e-6), ops.rms_norm(many.contiguous(), weight, 1e-6))
        strided = torch.randn(32)[::2]
        self.assert_same(ops.rms_norm(rows, strided, 1e-6), ops.rms_norm(rows, strided.clone(), 1e-6))

    def test_no_elements(self):
        for shape in ((0, 8), (3, 0), (2, 0, 8)):
            x = torch.randn(shape)
            self.assertEqual(ops.rms_norm(x, torch.ones(shape[-1]), 1e-6).shape, x.shape)

    def test_special_values(self):
        for dtype in DTYPES:
            for value in (float("inf"), float("-inf"), float("nan"), 0.0, 1e-30, 3e4):
                x, weight = self.inputs((3, 40), dtype, dtype)
                x[1, 7] = value
                with self.subTest(dtype=dtype, value=value):
                    a, b = ops.rms_norm(x, weight, 1e-6), llama(x, weight)
                    self.assert_same(a.isnan(), b.isnan())
                    self.assert_close(a.nan_to_num(0), b.nan_to_num(0), self.tolerance(dtype))
        zeros = torch.zeros(2, 40)
        self.assert_same(ops.rms_norm(zeros, torch.ones(40), 1e-6), zeros)
        huge = torch.full((1, 40), 1e30)  # the sum of squares overflows, as in the stock code
        self.assert_same(ops.rms_norm(huge, torch.ones(40), 1e-6), llama(huge, torch.ones(40)))

    def test_deterministic(self):
        for dtype in DTYPES:
            x, weight = self.inputs((501, 1000), dtype, dtype)
            self.assert_deterministic(lambda: ops.rms_norm(x, weight, 1e-6))

    def forms(self):
        """kernel, stock"""
        yield lambda x, w: ops.rms_norm(x, w, 1e-6), llama
        yield lambda x, w: ops.rms_norm(x, w, 1e-6, 1.0, False), offset
        yield lambda x, w: ops.rms_norm(x, w, 1e-6, 0.0, False), lambda x, w: offset(x, w, by=0.0)

    def test_gradients(self):
        for kernel, stock in self.forms():
            for dtype in DTYPES:
                for shape in ((2, 3, 8), (1, 100), (7, 33), (40, 70), (300, 1024)):
                    with self.subTest(dtype=dtype, shape=shape):
                        self.assert_gradients(kernel, stock, *self.inputs(shape, dtype, dtype))
            self.assert_gradients(kernel, stock, *self.inputs((4, 40), torch.bfloat16, torch.float32))

    def test_gradients_of_what_stock_code_broadcasts(self):
        for kernel, stock in self.forms():
            self.assert_gradients(kernel, stock, torch.randn(2, 3, 8), torch.randn(1))
            self.assert_gradients(kernel, stock, torch.randn(2, 3, 1), torch.randn(8))

    def test_gradients_otherwise(self):
        for kernel, stock in self.forms():
            x, weight = self.inputs((2, 3, 8), torch.float32, torch.float32)
            self.assert_gradients_by_differences(kernel, x, weight)
            self.assert_second_gradients(kernel, stock, x, weight)
            for dtype in DTYPES:
                self.assert_gradient_layouts(kernel, *self.inputs((6, 4, 40), dtype, dtype))

    def test_gradients_are_deterministic(self):
        for dtype in DTYPES:
            x, weight = self.inputs((1301, 300), dtype, dtype)
            for index in (0, 1):
                self.assert_deterministic(
                    lambda: ops.rms_norm_backward(x, x, weight, 1e-6, 0.0, True, [True, True])[index])

    def test_gradients_without_elements(self):
        for shape in ((0, 8), (2, 0, 8), (3, 0)):
            x, weight = torch.randn(shape, requires_grad=True), torch.ones(shape[-1], requires_grad=True)
            ops.rms_norm(x, weight, 1e-6).sum().backward()
            self.assert_same(weight.grad, torch.zeros(shape[-1]))
            self.assertEqual(x.grad.shape, x.shape)

    def test_a_change_before_backward_is_an_error(self):
        x, weight = torch.randn(2, 8, requires_grad=True), torch.ones(8)
        y = x * 1
        out = ops.rms_norm(y, weight, 1e-6)
        y.add_(1)
        self.assert_error("modified by an inplace operation", out.sum().backward)

    def test_meta(self):
        x = torch.empty(2, 3, 8, dtype=torch.bfloat16, device="meta")
        result = ops.rms_norm(x, torch.empty(8, device="meta"), 1e-6)
        self.assertEqual((result.dtype, result.shape), (torch.float32, x.shape))

    def test_errors(self):
        x, weight = torch.randn(2, 8), torch.ones(8)
        op = ops.rms_norm
        self.assert_error("kernelmap::rms_norm: x must be float32.*but is Double", op, x.double(), weight, 1e-6)
        self.assert_error("weight must be float32.*but is Int", op, x, weight.int(), 1e-6)
        self.assert_error(r"weight must have shape \[8\].*has shape \[7\]", op, x, torch.ones(7), 1e-6)
        self.assert_error(r"has shape \[1, 8\]", op, x, torch.ones(1, 8), 1e-6)
        self.assert_error("at least one dimension", op, torch.tensor(1.0), weight, 1e-6)
        self.assert_error("weight_offset must be 0 with cast_first, but is 1", op, x, weight, 1e-6, 1.0)
        self.assert_error("must be strided, but is Sparse|kernelmap::rms_norm", op, x.to_sparse(), weight, 1e-6)


if __name__ == "__main__":
    unittest.main()
