"""kernelmap::attention: one query token against float64, all else against the ATen op."""
import unittest

import torch
import torch.nn.functional as F
from kernel_case import DTYPES, TOLERANCE, KernelCase, gradients, ops, threads


def stock(q, k, v, mask, scale):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = torch.matmul(q, k.transpose(2, 3)) * scale
    if mask is not None:
        scores = scores + mask
    return torch.matmul(torch.softmax(scores if q.dtype == torch.float64 else scores.float(), -1).to(q.dtype), v)


def exact(q, k, v, mask, scale):
    q, k, v = q.double(), k.double(), v.double()
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(2, 3) * scale
    return torch.softmax(scores if mask is None else scores + mask.double(), -1) @ v


class Attention(KernelCase):
    def inputs(self, batch, heads, kv_heads, length, width, out_width, dtype, tokens=1):
        q = torch.randn(batch, tokens, heads, width).to(dtype).transpose(1, 2)
        k = torch.randn(batch, length, kv_heads, width).to(dtype).transpose(1, 2)
        v = torch.randn(batch, kv_heads, length, out_width).to(dtype)
        return q, k, v

    def test_one_token(self):
        for dtype in DTYPES:
            for shape in ((1, 8, 8, 513, 128, 128), (2, 8, 2, 77, 64, 64), (2, 4, 4, 5, 80, 80), (1, 3, 1, 1, 16, 40),
                          (2, 2, 2, 33, 200, 17), (1, 4, 1, 16, 1, 1), (1, 2, 2, 100, 96, 256)):
                q, k, v = self.inputs(*shape, dtype)
                masks = [None, *(torch.randn(s).to(dtype) for s in
                                 ((1, 1, 1, shape[3]), (shape[0], 1, 1, shape[3]), (shape[0], shape[1], 1, shape[3]), (1, 1, 1, 1)))]
                for mask in masks:
                    with self.subTest(dtype=dtype, shape=shape, mask=mask is not None and mask.shape):
                        truth = exact(q, k, v, mask, 0.3)
                        result = ops.attention(q, k, v, mask, 0.3)
                        self.assert_close(result, truth.to(dtype), {torch.float32: 4e-6}.get(dtype))
                        error = (result.double() - truth).abs().max()
                        limit = (stock(q, k, v, mask, 0.3).double() - truth).abs().max()
                        self.assertLessEqual(error.item(), 1.5 * limit.item() + 3e-6)

    def test_layouts(self):
        for dtype in DTYPES:
            q, k, v = self.inputs(2, 4, 2, 33, 32, 32, dtype)
            expected = ops.attention(q, k, v, None, 0.2)
            self.assertTrue(expected.is_contiguous())
            strided = [t.transpose(2, 3).contiguous().transpose(2, 3) for t in (q, k, v)]
            self.assert_same(ops.attention(*strided, None, 0.2), expected)
            cache = torch.full((2, 2, 64, 32), float("nan")).to(dtype)
            cache[:, :, 10:43] = k
            self.assert_same(ops.attention(q, cache[:, :, 10:43], v, None, 0.2), expected)
            mask = torch.randn(2, 33).to(dtype)[:, None, None, :].expand(2, 4, 1, 33)
            self.assert_same(ops.attention(q, k, v, mask, 0.2), ops.attention(q, k, v, mask.contiguous(), 0.2))

    def test_masked_tokens_do_not_count(self):
        for dtype in DTYPES:
            q, k, v = self.inputs(1, 4, 4, 40, 32, 32, dtype)
            expected = ops.attention(q, k[:, :, :25], v[:, :, :25], None, 0.2)
            for value in (float("-inf"), torch.finfo(dtype).min, -1e4):
                mask = torch.zeros(1, 1, 1, 40, dtype=dtype)
                mask[..., 25:] = value
                self.assert_close(ops.attention(q, k, v, mask, 0.2), expected)
            everything = torch.full((1, 1, 1, 40), float("-inf")).to(dtype)
            self.assertTrue(ops.attention(q, k, v, everything, 0.2).isnan().all())

    def test_large_scores_and_nan(self):
        for dtype in DTYPES:
            q, k, v = self.inputs(1, 2, 2, 40, 32, 32, dtype)
            self.assert_close(ops.attention(q * 50, k, v, None, 1.0), exact(q * 50, k, v, None, 1.0).to(dtype),
                              {torch.float32: 1e-4}.get(dtype, 0.02))
            k[0, 1, 7, 3] = float("nan")
            result = ops.attention(q, k, v, None, 1.0)
            self.assertFalse(result[0, 0].isnan().any())
            self.assertTrue(result[0, 1].isnan().all())

    def test_everything_else_is_the_aten_op(self):
        q, k, v = self.inputs(2, 4, 4, 9, 32, 32, torch.float32, tokens=9)
        mask = torch.randn(2, 1, 9, 9)
        self.assert_same(ops.attention(q, k, v, mask, 0.2), F.scaled_dot_product_attention(q, k, v, mask, scale=0.2))
        q, k, v = self.inputs(2, 4, 2, 9, 32, 32, torch.float32, tokens=3)
        self.assert_same(ops.attention(q, k, v, None, 0.2),
                         F.scaled_dot_product_attention(q, k, v, scale=0.2, enable_gqa=True))
        q, k, v = self.inputs(1, 4, 4, 9, 32, 32, torch.float64)
        self.assert_same(ops.attention(q, k, v, None, 0.2), F.scaled_dot_product_attention(q, k, v, scale=0.2))
        q, k, v = self.inputs(1, 4, 4, 0, 32, 32, torch.float32)
        self.assertEqual(ops.attention(q, k, v, None, 0.2).shape, (1, 4, 1, 32))
        q, k, v = self.inputs(1, 4, 4, 9, 32, 32, torch.float32)
        with self.assertRaises(RuntimeError):
            ops.attention(q, k.half(), v, None, 0.2)

    def test_gradients(self):
        for tokens, length in ((1, 9), (7, 7), (33, 40)):
            for kv_heads in (4, 2):
                for dtype in DTYPES:
                    q, k, v = self.inputs(2, 4, kv_heads, length, 32, 32, dtype, tokens)
                    causal = torch.full((tokens, length), torch.finfo(dtype).min).triu(1 + length - tokens)
                    for mask in (None, causal[None, None].to(dtype)):
                        with self.subTest(tokens=tokens, kv_heads=kv_heads, dtype=dtype, mask=mask is not None):
                            own = lambda q, k, v: ops.attention(q, k, v, mask, 0.2)
                            wide = lambda q, k, v: stock(q, k, v, mask if mask is None else mask.to(q.dtype), 0.2)
                            chosen = {0, 1, 2}
                            exact = gradients(wide, [t.double() for t in (q, k, v)], chosen)[1]
                            for a, b, c in zip(gradients(own, (q, k, v), chosen)[1],
                                               gradients(wide, (q, k, v), chosen)[1], exact):
                                error, limit = ((t.double() - c).abs().max().item() for t in (a, b))
                                size = c.abs().max().item() * TOLERANCE[dtype]
                                self.assertLessEqual(error, 1.5 * limit + size)
                            self.assert_nothing_recorded(own, (q, k, v))

    def test_gradients_otherwise(self):
        q, k, v = self.inputs(1, 2, 1, 5, 8, 8, torch.float32, 3)
        mask = torch.randn(1, 1, 3, 5)
        self.assert_gradients_by_differences(lambda *args: ops.attention(*args, 0.2), q, k, v, mask)
        with self.assertRaisesRegex(RuntimeError, "not implemented"):  # by ATen, for its own kernel
            self.assert_second_gradients(
                lambda *args: ops.attention(*args, None, 0.2), lambda *args: stock(*args, None, 0.2), q, k, v)

    def test_deterministic(self):
        for dtype in DTYPES:
            q, k, v = self.inputs(2, 8, 2, 600, 64, 64, dtype)
            self.assert_deterministic(lambda: ops.attention(q, k, v, None, 0.1))


if __name__ == "__main__":
    unittest.main()
