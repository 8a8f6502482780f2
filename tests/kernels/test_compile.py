"""The ops under torch.compile: one graph, the same results. (No code is generated: aot_eager.)"""
import unittest

import torch
from kernel_case import KernelCase, ops


class Compile(KernelCase):
    def check(self, f, *args):
        torch._dynamo.reset()
        compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
        with torch.no_grad():
            expected, result = f(*args), compiled(*args)
        for a, b in zip(torch.utils._pytree.tree_leaves(result), torch.utils._pytree.tree_leaves(expected)):
            self.assert_close(a, b, 1e-6)

    def test_norm_and_gates(self):
        x, weight = torch.randn(3, 16), torch.randn(16)
        self.check(lambda x, w: ops.rms_norm(x * 2, w, 1e-6) + 1, x, weight)
        self.check(lambda g, u: ops.silu_and_mul(g * 2, u) + 1, x, x)
        self.check(lambda g, u: ops.gelu_and_mul(g * 2, u, "tanh") + 1, x, x)
        self.check(lambda x: ops.gelu_tanh(x * 2) + 1, x)

    def test_rotary_and_attention(self):
        q, k, v = torch.randn(1, 4, 5, 16), torch.randn(1, 2, 5, 16), torch.randn(1, 2, 5, 16)
        table = torch.randn(1, 5, 16)
        self.check(lambda *args: ops.rotary(*args), q.transpose(1, 2).contiguous().transpose(1, 2), k, table, table)
        self.check(lambda *args: ops.attention(*args, None, 0.25) + 1, q, k, v)
        self.check(lambda *args: ops.attention(*args, None, 0.25) + 1, q[:, :, :1], k, v)


if __name__ == "__main__":
    unittest.main()
