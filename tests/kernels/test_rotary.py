"""kernelmap::rotary against the stock code: bit for bit, strides included."""
import unittest

import torch
from kernel_case import DTYPES, KernelCase, gradients, ops, threads


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def stock(x, cos, sin, heads_dim):
    cos, sin = cos.unsqueeze(heads_dim), sin.unsqueeze(heads_dim)
    width = cos.shape[-1]
    if width == x.shape[-1]:
        return x * cos + rotate_half(x) * sin
    head, rest = x[..., :width], x[..., width:]
    return torch.cat([head * cos + rotate_half(head) * sin, rest], dim=-1)


class Rotary(KernelCase):
    def inputs(self, batch, heads, kv_heads, tokens, width, rotated, dtype, heads_dim=1, shared=False):
        def states(count):  # as a projection leaves them: [batch, tokens, heads, width]
            x = torch.randn(batch, tokens, count, width).to(dtype)
            return x.transpose(1, 2) if heads_dim == 1 else x

        def table():
            return torch.randn(1 if shared else batch, tokens, rotated).to(dtype)

        return states(heads), states(kv_heads), table(), table()

    def check(self, q, k, cos, sin, heads_dim=1):
        q_out, k_out = ops.rotary(q, k, cos, sin, heads_dim)
        for x, out in ((q, q_out), (k, k_out)):
            expected = stock(x, cos, sin, heads_dim)
            self.assert_same(out, expected)
            if expected.numel():
                self.assertEqual(self.strides(out), self.strides(expected))

    def strides(self, x):
        return [stride for stride, size in zip(x.stride(), x.shape) if size > 1]

    def test_dtypes_and_shapes(self):
        for heads_dim in (1, 2):
            for dtype in DTYPES:
                for shape in ((1, 32, 8, 1, 128, 128), (2, 4, 2, 9, 64, 64), (2, 3, 3, 5, 16, 16), (1, 2, 1, 7, 80, 80),
                              (2, 4, 4, 9, 64, 16), (1, 2, 1, 5, 100, 34), (3, 1, 1, 2, 6, 2), (1, 32, 8, 300, 128, 128)):
                    for shared in (False, True):
                        with self.subTest(heads_dim=heads_dim, dtype=dtype, shape=shape, shared=shared):
                            self.check(*self.inputs(*shape, dtype, heads_dim, shared), heads_dim)

    def test_layouts(self):
        for dtype in DTYPES:
            q, k, cos, sin = self.inputs(2, 4, 2, 6, 32, 32, dtype)
            self.check(q.contiguous(), k.contiguous(), cos, sin)
            fused = torch.randn(2, 6, 8 * 32).to(dtype)  # q, k, v of one projection
            split = fused.view(2, 6, 8, 32).transpose(1, 2)
            self.check(split[:, :4], split[:, 4:6], cos, sin)
            interleaved = torch.randn(2, 6, 4, 3 * 32).to(dtype).transpose(1, 2)
            self.check(interleaved[..., :32], interleaved[..., 32:64], cos, sin)
            wide = torch.randn(2, 6, 70).to(dtype)
            self.check(q, k, wide[..., 3:35], wide[..., 35:67])
            self.check(q, k, cos[:, :1].expand(2, 6, 32), sin[:1].expand(2, 6, 32))

    def test_last_dimension_strided(self):
        q, k, cos, sin = self.inputs(2, 4, 2, 6, 32, 32, torch.float32)
        odd = q.transpose(2, 3).contiguous().transpose(2, 3)
        q_out, _ = ops.rotary(odd, k, cos.mT.contiguous().mT, sin)
        self.assert_same(q_out, stock(odd, cos, sin, 1))
        same = torch.randn(2, 4, 6, 1).expand(2, 4, 6, 32)
        q_out, _ = ops.rotary(same, k, cos, sin)
        self.assert_same(q_out, stock(same, cos, sin, 1))

    def test_no_elements(self):
        for shape in ((0, 4, 2, 6, 32, 32), (2, 0, 2, 6, 32, 32), (2, 4, 0, 6, 32, 32), (2, 4, 2, 0, 32, 32), (2, 4, 2, 6, 32, 0)):
            with self.subTest(shape=shape):
                q, k, cos, sin = self.inputs(*shape, torch.float32)
                q_out, k_out = ops.rotary(q, k, cos, sin)
                self.assertEqual((q_out.shape, k_out.shape), (q.shape, k.shape))
                if shape[-1] == 0:  # nothing is rotated
                    self.assert_same(q_out, q)

    def test_special_values(self):
        for dtype in DTYPES:
            q, k, cos, sin = self.inputs(1, 2, 1, 3, 32, 32, dtype)
            for i, value in enumerate((float("inf"), float("-inf"), float("nan"), 1e-40, 6e4)):
                q[0, 0, 0, i] = value
                cos[0, 1, i] = value
            self.check(q, k, cos, sin)

    def test_deterministic(self):
        for dtype in DTYPES:
            args = self.inputs(2, 8, 2, 257, 64, 64, dtype)
            first = ops.rotary(*args)
            for count in (1, 2):
                with threads(count):
                    for a, b in zip(ops.rotary(*args), first):
                        self.assert_same(a, b)

    def test_gradients(self):
        for heads_dim in (1, 2):
            kernel = lambda *args: ops.rotary(*args, heads_dim)
            both = lambda q, k, cos, sin: (stock(q, cos, sin, heads_dim), stock(k, cos, sin, heads_dim))
            for rotated in (32, 20):
                for dtype in DTYPES:
                    with self.subTest(heads_dim=heads_dim, rotated=rotated, dtype=dtype):
                        q, k, cos, sin = self.inputs(2, 4, 2, 6, 32, rotated, dtype)
                        if heads_dim == 2:
                            q, k = q.transpose(1, 2), k.transpose(1, 2)
                        self.assert_gradients(kernel, both, q, k, cos, sin)
                        self.assert_gradients(kernel, both, q, k, cos[:1], sin[:1])
                        # Those of q and k, bit for bit.
                        for a, b in zip(gradients(kernel, (q, k, cos, sin), {0, 1})[1][:2],
                                        gradients(both, (q, k, cos, sin), {0, 1})[1][:2]):
                            self.assert_same(a, b)
                        q_out, _ = kernel(q.requires_grad_(), k, cos, sin)  # the other output is not used
                        q_out.sum().backward()
                        self.assertIsNotNone(q.grad)

    def test_gradients_otherwise(self):
        q, k, cos, sin = self.inputs(1, 2, 1, 3, 8, 8, torch.float32)
        self.assert_gradients_by_differences(ops.rotary, q, k, cos, sin)
        self.assert_second_gradients(
            ops.rotary, lambda q, k, cos, sin: (stock(q, cos, sin, 1), stock(k, cos, sin, 1)), q, k, cos, sin)
        for dtype in DTYPES:
            self.assert_gradient_layouts(ops.rotary, *self.inputs(2, 4, 2, 6, 32, 32, dtype))
        q, k, cos, sin = self.inputs(2, 4, 2, 0, 32, 32, torch.float32)
        ops.rotary(q.requires_grad_(), k, cos, sin)[0].sum().backward()
        self.assertEqual(q.grad.shape, q.shape)

    def test_meta(self):
        q, k, cos, sin = (t.to("meta") for t in self.inputs(1, 2, 1, 3, 8, 8, torch.float16))
        q_out, k_out = ops.rotary(q, k, cos, sin)
        self.assertEqual((q_out.shape, q_out.dtype, k_out.shape), (q.shape, q.dtype, k.shape))

    def test_errors(self):
        q, k, cos, sin = self.inputs(2, 4, 2, 6, 32, 32, torch.float32)
        op = ops.rotary
        self.assert_error("kernelmap::rotary: cos is Half, but q is Float", op, q, k, cos.half(), sin)
        self.assert_error("q must be float32.*but is Double", op, q.double(), k, cos, sin)
        self.assert_error(r"q must have 4 dimensions, but has shape \[4, 6, 32\]", op, q[0], k, cos, sin)
        self.assert_error(r"k must agree with q in all dimensions but 1.*\[2, 2, 5, 32\]", op, q, k[:, :, :5], cos, sin)
        self.assert_error(r"cos must have shape \[2 or 1, 6, R\], but has shape \[2, 5, 32\]", op, q, k, cos[:, :5], sin)
        self.assert_error("must be even and at most 32, but is 31", op, q, k, cos[..., :31], sin)
        self.assert_error("must be even and at most 32, but is 64", op, q, k, torch.cat((cos, cos), -1), sin)
        self.assert_error(r"sin has shape \[2, 6, 16\], but cos has shape \[2, 6, 32\]", op, q, k, cos, sin[..., :16])
        self.assert_error("heads_dim must be 1 or 2, but is 3", op, q, k, cos, sin, 3)


if __name__ == "__main__":
    unittest.main()
