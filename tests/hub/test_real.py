"""Real kernels, as kernel-builder makes them: with KM_HUB_DIR, a folder that holds hf_home/hub, a Hugging Face
cache with kernels-community/activation and kernels-community/relu for this machine, good and broken."""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import kernelmap
import km
import sample
import torch
from torch import nn

HUB = os.environ.get("KM_HUB_DIR")
if not HUB:
    print("skipped: KM_HUB_DIR names no folder with real kernels")
    sys.exit(77)
HOME = pathlib.Path(HUB, "hf_home").resolve()
BROKEN = {"truncated": "truncated", "tampered": "tampered", "badmeta": "bad_metadata", "nometa": "no_metadata"}


class SiluAndMul(nn.Module):
    def forward(self, x):
        d = x.shape[-1] // 2
        return nn.functional.silu(x[..., :d]) * x[..., d:]


class SwiGLU(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.embedding = nn.Embedding(100, size)
        self.gate_up = nn.Linear(size, 4 * size, bias=False)
        self.act = SiluAndMul()
        self.down = nn.Linear(2 * size, size, bias=False)

    def forward(self, ids):
        return self.down(self.act(self.gate_up(self.embedding(ids))))


class ReLUNet(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.embedding = nn.Embedding(100, size)
        self.linear = nn.Linear(size, size)
        self.act = nn.ReLU()

    def forward(self, ids):
        return self.act(self.linear(self.embedding(ids)))


class Shifted(nn.Module):
    """ReLU of memory that starts anywhere, and of memory with gaps."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 33)
        self.act = nn.ReLU()
        self.gaps = nn.ReLU()

    def forward(self, ids):
        flat = self.embedding(ids).flatten()
        return torch.cat([self.act(flat[1:]), self.gaps(flat.reshape(33, -1).t()[3:, 1:]).flatten()])


class RealTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def apply(self, name, ref, model, *flags):
        config = self.root / "config.toml"
        config.write_text(f'inherit_mapping = false\n{"use_local_kernel = true" if ref.startswith("/") else ""}\n[kernel_mapping]\n{name} = "{ref}"\n')
        out, report = self.root / "out.pt", self.root / "report.json"
        done = km.run("apply", config, model, "-o", out, "--report", report, *flags, env={"HF_HOME": str(HOME)})
        self.assertEqual(done.code, 0, done)
        return out, json.loads(report.read_text())["sites"]

    def check(self, name, ref, make, **options):
        bfloat16 = [(torch.bfloat16, False)] if name == "SiluAndMul" else []  # relu knows float32 alone
        for dtype, scripted in ((torch.float32, False), (torch.float32, True), *bfloat16):
            torch.manual_seed(0)
            model = make().to(dtype).eval()
            archive = sample.save(model, self.root / "model.pt", scripted=scripted)
            out, sites = self.apply(name, ref, archive, "--verify")
            self.assertEqual({s["action"] for s in sites}, {"replaced"}, sites)
            loaded = kernelmap.load(out, cache=HOME / "hub", **options)
            with torch.no_grad():
                for shape in ((2, 8), (3, 13), (1, 1)):
                    ids = torch.randint(0, 100, shape)
                    a, b = loaded(ids), model(ids)
                    self.assertEqual(a.dtype, b.dtype)
                    limit = (1e-5 if dtype == torch.float32 else 2e-2) * b.abs().max()
                    self.assertLessEqual((a - b).abs().max(), limit)

    def test_activation(self):
        self.check("SiluAndMul", "kernels-community/activation@v1:SiluAndMul", SwiGLU)

    def test_relu(self):
        self.check("ReLU", "kernels-community/relu@v1:ReLU", ReLUNet)

    def test_memory_that_starts_anywhere(self):
        self.check("ReLU", "kernels-community/relu@v1:ReLU", Shifted)
        folder = HOME.parent / "local" / "relu"
        self.check("ReLU", f"{folder}:ReLU", Shifted, local_kernels=[folder])

    def test_nan(self):
        archive = sample.save(ReLUNet().eval(), self.root / "model.pt")
        out, _ = self.apply("ReLU", "kernels-community/relu@v1:ReLU", archive)
        x = torch.tensor([[float("nan"), -1.0, 2.0, float("-inf")]])
        torch.testing.assert_close(kernelmap.load(out, cache=HOME / "hub").act(x), torch.relu(x), equal_nan=True)

    def test_local(self):
        for name in ("relu", "relu-v2", "relu-many"):
            folder = HOME.parent / "local" / name
            self.check("ReLU", f"{folder}:ReLU", ReLUNet, local_kernels=[folder])

    def test_broken_ones_are_refused(self):
        model = sample.save(ReLUNet().eval(), self.root / "model.pt")
        for word, reason in BROKEN.items():
            _, sites = self.apply("ReLU", f"kernels-community/broken-{word}@v1:ReLU", model)
            self.assertEqual([s["reason"]["code"] for s in sites], [reason], word)

    def test_a_folder_without_a_build_for_this_machine(self):
        model = sample.save(ReLUNet().eval(), self.root / "model.pt")
        _, sites = self.apply("ReLU", f"{HOME.parent / 'local' / 'relu-none'}:ReLU", model)
        self.assertEqual([s["reason"]["code"] for s in sites], ["no_variant"])

    def test_what_broke_later_is_not_loaded(self):
        """Each byte of a build counts when the model is loaded, and the process lives."""
        model = sample.save(ReLUNet().eval(), self.root / "model.pt")
        out, _ = self.apply("ReLU", "kernels-community/relu@v1:ReLU", model)
        for name in ("_relu*.so", "layers/__init__.py", "metadata.json"):
            hub = self.root / name.replace("/", "-").replace("*", "") / "hub"
            repo = "kernels--kernels-community--relu"
            shutil.copytree(HOME / "hub" / repo, hub / repo)
            for file in hub.glob(f"{repo}/**/{name}"):
                data = bytearray(file.read_bytes())
                data[len(data) // 2] ^= 1
                file.unlink()
                file.write_bytes(data)
            done = sample.python(f"""
import kernelmap
try:
    kernelmap.load({str(out)!r}, cache={str(hub)!r})
except RuntimeError as error:
    print("refused:", error)
""", hub.parent)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, "refused: .*kernels-community/relu", name)


if __name__ == "__main__":
    unittest.main()
