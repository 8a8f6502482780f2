"""A Hugging Face cache with the op libraries of this folder in it, models that have their layers, and runs of both."""

import base64
import hashlib
import json
import multiprocessing
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import textwrap

import torch

ONE, TWO = os.environ["KM_SAMPLE_ONE"], os.environ["KM_SAMPLE_TWO"]
RUNTIME = os.environ["KM_RUNTIME"]
REPO = "some-org/sample"
VARIANT = "torch{}{}-cxx11-cpu-{}-linux".format(*torch.__version__.split(".")[:2], platform.machine())

LAYERS = """
import torch
from torch import nn

from ._ops import ops


class SiluAndMul(nn.Module):
    can_torch_compile: bool = True

    def forward(self, x: torch.Tensor):
        d = x.shape[-1] // 2
        out = torch.empty(x.shape[:-1] + (d,), dtype=x.dtype, device=x.device)
        ops.silu_and_mul(out, x)
        return out


def first(list: list[torch.Tensor]) -> torch.Tensor:
    return list[0]


class RMSNorm(nn.Module):
    weight: torch.Tensor
    variance_epsilon: float

    def forward(self, hidden_states):
        return first(ops.rms_norm(hidden_states, self.weight, self.variance_epsilon))


class apply_rotary(nn.Module):
    def forward(
        self, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, unsqueeze_dim: int = 1
    ) -> tuple[torch.Tensor, torch.Tensor]:
        half = q.shape[-1] // 2
        cos = cos.unsqueeze(unsqueeze_dim)[..., :half]
        sin = sin.unsqueeze(unsqueeze_dim)[..., :half]
        q, k = q.clone(), k.clone()
        ops.rotate(q[..., :half], q[..., half:], cos, sin, q[..., :half], q[..., half:])
        ops.rotate(k[..., :half], k[..., half:], cos, sin, k[..., :half], k[..., half:])
        return q, k


class Impure(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.increment(x)


class UnknownOperation(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.nothing(x)


class Uncompilable(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.silu(helper(x))


class Kwargs(nn.Module):
    def forward(self, x, **kwargs):
        return ops.silu(x, **kwargs)
"""


def sha256(data):
    return hashlib.sha256(data).digest()


def variant_files(library, layers=LAYERS, binding=None):
    """name -> bytes of a build variant."""
    stem = os.path.basename(library).partition(".")[0]
    files = {
        os.path.basename(library): pathlib.Path(library).read_bytes(),
        "__init__.py": b"from . import layers\n",
        "_ops.py": f"import torch\nfrom . import {stem}\nops = torch.ops.{stem}\n".encode(),
        "layers.py": layers.encode(),
    }
    if binding:
        files["kernelmap.toml"] = binding.encode()
    metadata = {
        "name": "sample", "id": stem, "version": 1, "license": "Apache-2.0", "python-depends": [],
        "backend": {"type": "cpu"},
        "digest": {"algorithm": "sha256",
                   "files": {name: base64.b64encode(sha256(data)).decode() for name, data in files.items()}},
    }
    files["metadata.json"] = json.dumps(metadata, indent=2).encode()
    return files


def make_folder(folder, library, layers=LAYERS, binding=None):
    """A local kernel."""
    target = pathlib.Path(folder, "build", VARIANT)
    target.mkdir(parents=True)
    for name, data in variant_files(library, layers, binding).items():
        (target / name).write_bytes(data)
    return str(folder)


def add_commit(home, commit, library, layers=LAYERS, repo=REPO, refs=("main", "v1"), binding=None):
    """Adds a commit to the cache in HOME/hub, as huggingface_hub lays it out. Returns the snapshot's variant."""
    root = pathlib.Path(home, "hub", "kernels--" + repo.replace("/", "--"))
    target = root / "snapshots" / commit / "build" / VARIANT
    target.mkdir(parents=True)
    (root / "blobs").mkdir(exist_ok=True)
    for name, data in variant_files(library, layers, binding).items():
        blob = root / "blobs" / sha256(data).hex()
        blob.write_bytes(data)
        (target / name).symlink_to(os.path.relpath(blob, target))
    for ref in refs:
        path = root / "refs" / ref
        path.parent.mkdir(exist_ok=True)
        path.write_text(commit)
    return target


class SiluAndMul(torch.nn.Module):
    def forward(self, x):
        d = x.shape[-1] // 2
        return torch.nn.functional.silu(x[..., :d]) * x[..., d:]


class Gated(torch.nn.Module):
    """Token ids in, so that all dtypes are known."""

    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(16, 64)
        self.act = SiluAndMul()
        self.down = torch.nn.Linear(32, 16)

    def forward(self, ids):
        x = torch.nn.functional.one_hot(ids, 16).to(torch.float32)
        return self.down(self.act(self.up(x)))


class CausalMixer(torch.nn.Module):
    """The convolution of Mamba, as transformers' causal_conv1d_fn computes it; `late` is how much too late it is."""

    def __init__(self, width, bias, silu, late=0, dilation=1):
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.conv1d = torch.nn.Conv1d(8, 8, width, groups=8, bias=bias)
        self.channels, self.silu, self.late, self.dilation = 8, silu, late, dilation

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        weight = self.conv1d.weight.squeeze(1)
        padding = (weight.shape[-1] - 1) * self.dilation + self.late
        x = torch.conv1d(x, weight.unsqueeze(1), self.conv1d.bias, padding=padding, dilation=self.dilation,
                         groups=self.channels)[:, :, :x.shape[2]]
        return torch.nn.functional.silu(x) if self.silu else x


IDS = torch.arange(16).reshape(2, 8)
INPUT = '{"shape": [2, 8], "vocab": 16}'


def save(module, path, scripted=False):
    made = torch.jit.script(module) if scripted else torch.jit.trace(module, IDS)
    torch.jit.save(made, str(path), _extra_files={"input.json": INPUT})
    return path


def python(code, home=None, **environment):
    """Runs code in a process of its own: what is loaded stays for the life of one."""
    env = {**os.environ, "HF_HOME": str(home or "/nonexistent"), **environment}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120,
                          check=False, env=env, cwd=os.path.dirname(os.path.abspath(__file__)))


def forked(code, home=None, **environment):
    """As python(), in a copy of this process, which has torch already: for tests whose own process loads no kernels."""
    with tempfile.TemporaryDirectory() as folder:
        texts = [pathlib.Path(folder, name) for name in ("stdout", "stderr")]
        process = multiprocessing.get_context("fork").Process(
            target=_run, args=(textwrap.dedent(code), texts, {"HF_HOME": str(home or "/nonexistent"), **environment}))
        process.start()
        process.join(120)
        if process.is_alive():
            process.kill()
            raise TimeoutError(code)
        return subprocess.CompletedProcess("", process.exitcode, *(text.read_text() for text in texts))


def _run(code, texts, environment):
    for descriptor, text in enumerate(texts, 1):
        os.dup2(os.open(text, os.O_WRONLY | os.O_CREAT), descriptor)
    os.environ.update(environment)
    torch.set_grad_enabled(True)
    exec(code, {"__name__": "__main__"})
