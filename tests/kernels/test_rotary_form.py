"""kernelmap::rotary_form against stock code, written another way: bit for bit, strides included."""
import itertools
import unittest

import torch
from kernel_case import DTYPES, KernelCase, ops, threads


def turn(x, interleaved):
    if not interleaved:
        first, second = x.tensor_split(2, dim=-1)
        return torch.cat([-second, first], dim=-1)
    pairs = x.unflatten(-1, (-1, 2))
    return torch.stack([-pairs[..., 1], pairs[..., 0]], dim=-1).flatten(-2)


def stock(x, cos, sin, heads_dim, interleaved, thin, wide):
    if thin:
        cos, sin = (t.repeat_interleave(2, -1) if interleaved else t.repeat(1, 1, 2) for t in (cos, sin))
    cos, sin = cos.unsqueeze(heads_dim), sin.unsqueeze(heads_dim)
    width = cos.shape[-1] if thin else x.shape[-1]
    head, rest = x[..., :width], x[..., width:]
    head = head.float() if wide else head
    out = (head * cos + turn(head, interleaved) * sin).to(x.dtype)
    return torch.cat([out, rest], dim=-1) if rest.shape[-1] else out


FORMS = list(itertools.product((1, 2), (False, True), (False, True), (False, True)))


class RotaryForm(KernelCase):
    def inputs(self, shape, dtype, form, table_dtype=None, shared=False):
        batch, heads, kv_heads, tokens, width, rotated = shape
        heads_dim, _, thin, _ = form

        def states(count):
            x = torch.randn(batch, tokens, count, width).to(dtype)
            return x.transpose(1, 2) if heads_dim == 1 else x

        def table():
            size = rotated // 2 if thin else width
            return torch.randn(1 if shared else batch, tokens, size).to(table_dtype or dtype)

        return states(heads), states(kv_heads), table(), table()

    def check(self, q, k, cos, sin, form):
        for x, out in zip((q, k), ops.rotary_form(q, k, cos, sin, *form)):
            expected = stock(x, cos, sin, *form)
            self.assert_same(out, expected)
            if expected.numel():
                self.assertEqual([s for s, n in zip(out.stride(), out.shape) if n > 1],
                                 [s for s, n in zip(expected.stride(), expected.shape) if n > 1])

    def test_dtypes_and_shapes(self):
        for form, dtype in itertools.product(FORMS, DTYPES):
            for shape in ((1, 8, 2, 1, 128, 128), (2, 4, 2, 9, 64, 64), (2, 3, 3, 5, 16, 16), (1, 2, 1, 7, 80, 48),
                          (2, 4, 4, 9, 64, 16), (1, 2, 1, 5, 100, 34), (3, 1, 1, 2, 6, 2), (2, 4, 2, 70, 64, 64)):
                for shared in (False, True):
                    with self.subTest(form=form, dtype=dtype, shape=shape, shared=shared):
                        self.check(*self.inputs(shape, dtype, form, shared=shared), form)

    def test_tables_of_another_dtype(self):
        for form, dtype, table in itertools.product(FORMS, DTYPES, DTYPES):
            if form[3]:
                with self.subTest(form=form, dtype=dtype, table=table):
                    self.check(*self.inputs((2, 4, 2, 9, 40, 40), dtype, form, table), form)

    def test_layouts(self):
        for form, dtype in itertools.product(FORMS, DTYPES):
            q, k, cos, sin = self.inputs((2, 4, 2, 6, 32, 32), dtype, form)
            self.check(q.contiguous(), k.contiguous(), cos, sin, form)
            self.check(q, k, torch.cat([cos, sin], -1)[..., :cos.shape[-1]], sin, form)
            self.check(q, k, cos[:, :1].expand_as(cos), sin[:1].expand_as(sin), form)
            odd = q.transpose(2, 3).contiguous().transpose(2, 3)
            for x, out in zip((odd, k), ops.rotary_form(odd, k, cos.mT.contiguous().mT, sin, *form)):
                self.assert_same(out, stock(x, cos, sin, *form))

    def test_what_the_loop_does_not_take(self):
        for form in FORMS:
            q, k, cos, sin = self.inputs((2, 4, 2, 6, 32, 32), torch.float32, form)
            self.check(q.double(), k.double(), cos.double(), sin.double(), form[:3] + (False,))
            self.check(q, k, cos[:, :1], sin[:, :1], form)  # one row for all tokens
            if not form[2]:
                self.check(q, k, cos[..., :1], sin[..., :1], form)  # one value for all features
            self.check(q[:, :, :, :0], k[:, :, :, :0], cos[..., :0], sin[..., :0], form)
        q, k, cos, sin = self.inputs((1, 2, 1, 3, 5, 5), torch.float32, (1, False, False, False))
        self.assert_same(ops.rotary_form(q, k, cos, sin, 1, False, False, False)[0],
                         q * cos.unsqueeze(1) + torch.cat([-q[..., 2:], q[..., :2]], -1) * sin.unsqueeze(1))
        with self.assertRaises(RuntimeError):
            ops.rotary_form(q, k, cos[..., :3], sin[..., :3], 1, False, False, False)

    def test_special_values(self):
        for form, dtype in itertools.product(FORMS, DTYPES):
            q, k, cos, sin = self.inputs((1, 2, 1, 3, 32, 32), dtype, form)
            for i, value in enumerate((float("inf"), float("-inf"), float("nan"), 1e-40, 6e4)):
                q[..., i] = value
                cos[0, 1, i] = value
            self.check(q, k, cos, sin, form)

    def test_deterministic(self):
        form = (1, True, False, True)
        args = self.inputs((2, 8, 2, 257, 64, 64), torch.bfloat16, form)
        first = ops.rotary_form(*args, *form)
        for count in (1, 2):
            with threads(count):
                for a, b in zip(ops.rotary_form(*args, *form), first):
                    self.assert_same(a, b)

    def test_gradients(self):
        for form in FORMS:
            args = self.inputs((1, 2, 1, 3, 8, 8), torch.float32, form)
            self.assert_gradients(
                lambda *t: ops.rotary_form(*t, *form),
                lambda q, k, cos, sin: (stock(q, cos, sin, *form), stock(k, cos, sin, *form)), *args)

    def test_meta(self):
        for form in FORMS:
            q, k, cos, sin = (t.to("meta") for t in self.inputs((1, 2, 1, 3, 8, 8), torch.float16, form))
            q_out, k_out = ops.rotary_form(q, k, cos, sin, *form)
            self.assertEqual((q_out.shape, q_out.dtype, k_out.shape), (q.shape, q.dtype, k.shape))


if __name__ == "__main__":
    unittest.main()
