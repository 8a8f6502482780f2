"""What the tests of the command line share: the programs, the models, and what to expect of them.

KM_PROGRAM is build/bin/kernelmap, KM_RUNTIME the runtime library that rewritten archives need.
"""

import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import torch

PROGRAM = os.path.abspath(os.environ["KM_PROGRAM"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests/models"
torch.ops.load_library(os.environ["KM_RUNTIME"])
torch.set_num_threads(1)
torch.set_grad_enabled(False)
ENVIRONMENT = {k: v for k, v in os.environ.items()
               if k in ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")}
ENVIRONMENT |= {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}


def model(name):
    """`llama.bf16`, or `norm_clamp.traced`: a hand-written one."""
    path = MODELS / f"{name}.pt"
    return path if path.exists() else MODELS / "handmade" / f"{name}.pt"


def names(folder):
    return sorted(p.name.removesuffix(".pt") for p in folder.glob("*.pt"))


TRACED = names(MODELS)
HANDMADE = names(MODELS / "handmade")


@dataclasses.dataclass
class Run:
    code: int
    stdout: str
    stderr: str


def run(*args, cwd=None, env=None):
    """`kernelmap ARGS`. A hang is a failure, not a wait."""
    done = subprocess.run([PROGRAM, *map(str, args)], cwd=cwd, capture_output=True, check=False,
                          timeout=120, env={**ENVIRONMENT, **(env or {})})
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


@functools.cache
def validator(name):
    """The schema of schemas/NAME.schema.json; nothing where jsonschema is not installed."""
    try:
        import jsonschema
    except ImportError:
        print("no jsonschema: schemas are not tried")
        return None
    schema = json.loads((ROOT / f"schemas/{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def load(path):
    return torch.jit.load(str(path), map_location="cpu")


def state(module):
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def tensors(value):
    """All tensors of what forward returned."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors(v)]


def token_ids(shape):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(1, 100, shape, generator=generator)


def images(batch):
    return torch.rand((batch, 3, 32, 32), generator=torch.Generator().manual_seed(batch))


# Others than models were traced with, and that one.
SHAPES = [(2, 8), (3, 13), (1, 1), (4, 1), (1, 31)]


def inputs_for(name):
    if name.startswith("vit"):
        return [images(batch) for batch in (2, 1, 3)]
    return [token_ids(shape) for shape in SHAPES]


def distance(a, b):
    """max |a - b| and max |b| over pairs of outputs, which have one shape a pair."""
    error = size = 0.0
    for x, y in zip(tensors(a), tensors(b), strict=True):
        assert x.shape == y.shape, (x.shape, y.shape)
        if y.numel():
            error = max(error, (x.double() - y.double()).abs().max().item())
            size = max(size, y.double().abs().max().item())
    return error, size


def float32_of(name):
    """The model of the same name without `.bf16`, with the weights of the `.bf16` one: an fp32 run
    of the same weights."""
    wide = load(model(name.replace(".bf16", "")))
    narrow = state(load(model(name)))
    for key, tensor in state(wide).items():
        tensor.copy_(narrow[key])
    return wide


class Case(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def config(self, text, name="config.toml"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def validate(self, kind, value):
        checker = validator(kind)
        if checker:
            errors = [f"{e.json_path}: {e.message}" for e in checker.iter_errors(value)]
            self.assertEqual(errors, [])

    def apply(self, path, *flags, config=None, out=None, code=0):
        """Applies and returns the report; OUT is self.out."""
        self.out = pathlib.Path(out or self.folder / "out.pt")
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        configs = [config] if config else []
        self.done = run("apply", *configs, path, "-o", self.out, "--report", report, *flags)
        self.assertEqual(self.done.code, code, self.done.stderr)
        if not report.exists():
            return None
        value = json.loads(report.read_text(encoding="utf-8"))
        self.validate("report", value)
        return value

    def assert_same_model(self, stock, rewritten, inputs, tolerance=1e-5):
        """Both archives compute the same in fp32."""
        stock, rewritten = load(stock), load(rewritten)
        for x in inputs:
            found, expected = rewritten(x), stock(x)
            self.assertEqual([t.dtype for t in tensors(found)], [t.dtype for t in tensors(expected)])
            error, size = distance(found, expected)
            self.assertLessEqual(error, tolerance * size, tuple(x.shape))

    def assert_outputs(self, name):
        """self.out computes what the model of the name does; in bf16 hardly worse than that, seen from fp32."""
        path = model(name)
        if ".bf16" not in name:
            return self.assert_same_model(path, self.out, inputs_for(name))
        exact, stock, rewritten = float32_of(name), load(path), load(self.out)
        for x in inputs_for(name):
            reference = exact(x)
            error, _ = distance(rewritten(x), reference)
            own_error, _ = distance(stock(x), reference)
            self.assertLessEqual(error, 1.5 * own_error, tuple(x.shape))

    def assert_one_error(self, done, code):
        """One line that says what is wrong, and nothing of libtorch's own stack."""
        self.assertEqual(done.code, code, done.stderr)
        lines = [line for line in done.stderr.splitlines() if re.search(r"\berror\b", line)]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertNotIn("Exception raised from", done.stderr)
        return lines[0]


def actions(report, action):
    """How often each name has this action."""
    count = {}
    for site in report["sites"]:
        if site["action"] == action:
            count[site["name"]] = count.get(site["name"], 0) + 1
    return count


def site_at(report, path, name=None):
    found = [s for s in report["sites"] if s["path"] == path and name in (None, s["name"])]
    assert len(found) == 1, (path, [(s["path"], s["name"]) for s in report["sites"]])
    return found[0]
