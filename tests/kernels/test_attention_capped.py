"""kernelmap::attention_capped: as near to float64 as the stock code is."""
import unittest

import torch
from kernel_case import DTYPES, KernelCase, ops, threads

EPSILON = {torch.float32: 1e-6, torch.bfloat16: 4e-3, torch.float16: 5e-4}  # of one rounding, about


def stock(q, k, v, mask, scale, cap):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = torch.tanh(torch.matmul(q, k.transpose(2, 3)) * scale / cap) * cap
    if mask is not None:
        scores = scores + mask
    wide = torch.promote_types(q.dtype, torch.float32)
    return torch.matmul(torch.softmax(scores, -1, dtype=wide).to(q.dtype), v)


class AttentionCapped(KernelCase):
    def inputs(self, batch, heads, kv_heads, tokens, length, width, out_width, dtype):
        q = torch.randn(batch, tokens, heads, width).to(dtype).transpose(1, 2)
        k = torch.randn(batch, length, kv_heads, width).to(dtype).transpose(1, 2)
        return q, k, torch.randn(batch, kv_heads, length, out_width).to(dtype)

    def test_shapes_and_masks(self):
        for dtype in DTYPES:
            for shape in ((1, 8, 8, 1, 65, 64, 64), (2, 8, 2, 9, 9, 32, 32), (2, 4, 1, 5, 33, 80, 17), (1, 2, 2, 40, 40, 1, 1)):
                q, k, v = self.inputs(*shape, dtype)
                batch, heads, _, tokens, length = shape[:5]
                sizes = ((batch, 1, tokens, length), (1, heads, tokens, length), (tokens, length), (1, 1, 1, length),
                         (batch, 1, tokens, 1), (1,))
                causal = torch.full((tokens, length), torch.finfo(dtype).min).triu(1 + length - tokens).to(dtype)
                for mask in (None, causal, causal.to(dtype).mT.contiguous().mT, *(torch.randn(s).to(dtype) for s in sizes)):
                    with self.subTest(dtype=dtype, shape=shape, mask=None if mask is None else mask.shape):
                        result = ops.attention_capped(q, k, v, mask, 0.3, 2.0)
                        wide = [t if t is None else t.double() for t in (q, k, v, mask)]
                        exact, theirs = stock(*wide, 0.3, 2.0), stock(q, k, v, mask, 0.3, 2.0)
                        limit = (theirs - exact).abs().max() * 1.5 + EPSILON[dtype] * exact.abs().max()
                        self.assertEqual((result.dtype, result.shape), (theirs.dtype, theirs.shape))
                        self.assertLessEqual((result - exact).abs().max(), limit)

    def test_the_cap_caps(self):
        q, k, v = self.inputs(1, 2, 1, 7, 7, 16, 16, torch.float32)
        exact = stock(q.double() * 30, k.double(), v.double(), None, 1.0, 5.0)
        self.assert_close(ops.attention_capped(q * 30, k, v, None, 1.0, 5.0), exact.float(), 1e-5)
        self.assertFalse(torch.allclose(ops.attention_capped(q * 30, k, v, None, 1.0, 50.0), exact.float(), atol=1e-2))

    def test_rows_that_are_masked_everywhere(self):
        for dtype in DTYPES:
            q, k, v = self.inputs(1, 2, 1, 3, 5, 8, 8, dtype)
            hidden = torch.full((3, 5), float("-inf"), dtype=dtype)
            self.assertTrue(ops.attention_capped(q, k, v, hidden, 1.0, 5.0).isnan().all())

    def test_what_the_loop_does_not_take(self):
        q, k, v = self.inputs(2, 4, 2, 3, 5, 8, 8, torch.float64)
        self.assert_close(ops.attention_capped(q, k, v, None, 0.5, 2.0), stock(q, k, v, None, 0.5, 2.0), 1e-6)
        q, k, v = self.inputs(2, 4, 4, 3, 5, 8, 8, torch.float32)
        mask = torch.randn(2, 2, 4, 3, 5)
        self.assert_close(ops.attention_capped(q, k, v, mask, 0.5, 2.0), stock(q, k, v, mask, 0.5, 2.0), 1e-6)
        self.assert_close(ops.attention_capped(q[:1], k, v, None, 0.5, 2.0), stock(q[:1], k, v, None, 0.5, 2.0), 1e-6)
        with self.assertRaises(RuntimeError):
            ops.attention_capped(q, k[:, :, :, :7], v, None, 0.5, 2.0)

    def test_gradients(self):
        q, k, v = self.inputs(1, 4, 2, 3, 5, 8, 8, torch.float32)
        grads = []
        for function in (ops.attention_capped, stock):
            args = [t.clone().requires_grad_() for t in (q, k, v)]
            function(*args, None, 0.5, 2.0).pow(2).sum().backward()
            grads.append([a.grad for a in args])
        for a, b in zip(*grads):
            self.assert_close(a, b, 1e-5)

    def test_deterministic(self):
        q, k, v = self.inputs(2, 8, 2, 33, 129, 64, 64, torch.bfloat16)
        first = ops.attention_capped(q, k, v, None, 0.1, 30.0)
        for count in (1, 2):
            with threads(count):
                self.assert_same(ops.attention_capped(q, k, v, None, 0.1, 30.0), first)


if __name__ == "__main__":
    unittest.main()
