"""Builds a small Hugging Face cache with good and broken kernels: hub.py FOLDER

FOLDER/hub is the cache, FOLDER/local a kernel as a folder. Nothing in it is a real kernel: the
shared libraries are a line of text. Builds are for the machine that runs this.
"""

import base64
import hashlib
import json
import os
import pathlib
import platform
import sys

SYSTEM = f"{platform.machine()}-linux"
VARIANT = f"torch213-cxx11-cpu-{SYSTEM}"
LAYERS = """import torch
import torch.nn as nn

from ._ops import ops


class ReLU(nn.Module):
    has_backward: bool = False
    can_torch_compile: bool = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.relu(x)


class Norm(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.norm(x)
"""


def commit(letter):
    return letter * 40


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def build(backend="cpu", library=True, archs=None, **metadata):
    """The files of a build, metadata.json with their digests among them."""
    files = {"__init__.py": "from . import layers\n", "layers.py": LAYERS}
    if library:
        files["_relu_1.abi3.so"] = "not a library\n"
    files["metadata.json"] = json.dumps({
        "name": "relu", "id": "_relu_1", "version": 1, "license": "Apache-2.0",
        "python-depends": [], "backend": {"type": backend, **({"archs": archs} if archs else {})},
        "digest": {"algorithm": "sha256", "files": {k: digest(v) for k, v in files.items()}},
        **metadata}, indent=2)
    return files


class Repository:
    def __init__(self, hub, name, owner="kernels-community"):
        self.folder = hub / f"kernels--{owner}--{name}"

    def add(self, letter, files, *refs, variant=VARIANT):
        """Adds a commit: blobs, and links to them from the snapshot."""
        snapshot = self.folder / "snapshots" / commit(letter)
        for path, text in files.items():
            blob = hashlib.sha256(text.encode()).hexdigest()
            write(self.folder / "blobs" / blob, text)
            link = snapshot / "build" / variant / path if variant else snapshot / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(self.folder / "blobs" / blob, link.parent))
        for ref in refs:
            write(self.folder / "refs" / ref, commit(letter))
        return snapshot / "build" / variant if variant else snapshot


def replace(path, text):
    path.unlink()
    write(path, text)


def make(root):
    hub = root / "hub"
    relu = Repository(hub, "relu")
    relu.add("a", build(), "v1", "v1.0.0")
    relu.add("a", build("cuda", archs=["8.0", "9.0a"]), variant=f"torch213-cxx11-cu130-{SYSTEM}")
    relu.add("a", build("cpu"), variant=f"torch212-cxx11-cpu-{SYSTEM}")
    relu.add("a", build("cuda", library=False), variant="torch-cuda")
    relu.add("a", {"x": ""}, variant="not-a-variant")
    relu.add("b", build(version=2), "v2", "v2.1.0", "main", "pr/1")
    write(relu.folder / "refs" / "v3", commit("c"))  # fetched never
    write(relu.folder / "refs" / "broken", "../../..")

    Repository(hub, "python").add("a", build(library=False), "v1")
    replace(Repository(hub, "badmeta").add("a", build(), "v1") / "metadata.json", "{")
    (Repository(hub, "nometa").add("a", build(), "v1") / "metadata.json").unlink()
    replace(Repository(hub, "tampered").add("a", build(), "v1") / "layers.py", "import os\n")
    elf = b"\x7fELF\x02\x01" + b"\x7f" * 58
    replace(Repository(hub, "truncated").add("a", build(), "v1") / "_relu_1.abi3.so", elf)
    (Repository(hub, "incomplete").add("a", build(), "v1") / "layers.py").unlink()
    outside = Repository(hub, "unsafe").add("a", build(), "v1") / "layers.py"
    outside.unlink()
    outside.symlink_to("/etc/passwd")
    deep = Repository(hub, "deep").add("a", build(), "v1")
    write(deep / "/".join("d" * 20) / "x", "")
    needs = [{"repo-id": "kernels-community/nowhere", "version": 1}]
    Repository(hub, "needs").add("a", build(**{"kernel-depends": needs}), "v1")
    for name, to in (("moved", "kernels-community/relu"), ("away", "somebody/relu"),
                     ("circle", "kernels-community/circle")):
        status = f'kind = "redirect"\ndestination = "{to}"\nrevision = "v1"\n'
        Repository(hub, name).add("a", {"kernel-status.toml": status}, "v1", variant=None)
    Repository(hub, "relu", owner="somebody").add("a", build(), "v1")
    old = Repository(hub, "old")
    old.add("a", build(), "v1")
    old.folder.rename(hub / "models--kernels-community--old")
    Repository(hub, "bert").folder.parent.joinpath("models--google--bert/refs").mkdir(parents=True)

    for path, text in build().items():
        write(root / "local" / "build" / VARIANT / path, text)


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]))
