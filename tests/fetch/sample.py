"""What the server of the tests has, and running kernelmap against it."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
from hub import VARIANT, build, commit  # noqa: E402

CUDA = "torch213-cxx11-cu130-x86_64-linux"
OLDER = "torch212-cxx11-cpu-x86_64-linux"


def in_build(files, variant=VARIANT):
    return {f"build/{variant}/{path}": text for path, text in files.items()}


def fill(hub):
    """Gives a server its repositories."""
    relu = hub.repository("kernels-community/relu")
    relu.add(commit("a"), {"README.md": "# relu\n", **in_build(build())}, "v1", "v1.0.0")
    relu.add(commit("a"), in_build(build("cuda", archs=["8.0", "9.0a"]), CUDA))
    relu.add(commit("a"), in_build(build(), OLDER))
    relu.add(commit("a"), {f"build/{VARIANT}/__pycache__/layers.pyc": "no\n"})
    relu.add(commit("b"), in_build(build(version=2)), "v2", "v2.1.0", "main")
    relu.add(commit("d"), in_build(build(version=2)), "v2.0.0")
    hub.repository("kernels-community/python").add(
        commit("a"), in_build(build(library=False)), "v1")
    wrong = build()
    wrong["layers.py"] = "import os\n"
    hub.repository("kernels-community/tampered").add(commit("a"), in_build(wrong), "v1")
    for name, need in (("needs", "kernels-community/relu"), ("wants", "somebody/relu"),
                       ("self", "kernels-community/self"), ("lacks", "kernels-community/nowhere")):
        needs = [{"repo-id": need, "version": 1}]
        hub.repository(f"kernels-community/{name}").add(
            commit("a"), in_build(build(**{"kernel-depends": needs})), "v1")
    for name, to in (("moved", "kernels-community/relu"), ("away", "somebody/relu"),
                     ("circle", "kernels-community/circle")):
        status = f'kind = "redirect"\ndestination = "{to}"\nrevision = "v1"\n'
        hub.repository(f"kernels-community/{name}").add(
            commit("a"), {"kernel-status.toml": status}, "v1")
    hub.repository("somebody/relu").add(commit("a"), in_build(build()), "v1")


class Machine:
    """A folder with a config and a cache, and the environment of a program there."""

    def __init__(self, program, folder, hub, config=None):
        self.program, self.folder, self.hub = program, pathlib.Path(folder), hub
        self.cache = self.folder / "hf" / "hub"
        self.env = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH")}
        self.env["KERNELMAP_TORCH"] = "2.13.0"  # what the sample's builds are for
        self.env["CUDA_VISIBLE_DEVICES"] = self.env["HIP_VISIBLE_DEVICES"] = ""
        self.env.update(HF_HOME=str(self.folder / "hf"), HOME=str(self.folder), NO_PROXY="*",
                        HF_ENDPOINT=hub.endpoint, HF_HUB_DOWNLOAD_TIMEOUT="1", KERNELMAP_RETRY_WAIT="5")
        self.write(config or {"ReLU": "kernels-community/relu:ReLU"})

    def write(self, mapping, extra=""):
        lines = ["inherit_mapping = false", extra, "[kernel_mapping]"]
        lines += [f'{name} = {json.dumps(ref)}' for name, ref in mapping.items()]
        (self.folder / "config.toml").write_text("\n".join(lines) + "\n")

    def start(self, *args, **env):
        return subprocess.Popen([self.program, *args], cwd=self.folder, env={**self.env, **env},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *args, **env):
        process = self.start(*args, **env)
        out, err = process.communicate(timeout=120)
        return process.returncode, out.decode(), err.decode()

    def fetch(self, *args, **env):
        return self.run("fetch", "config.toml", *args, **env)

    def report(self, *args, **env):
        """The exit code and the report of a fetch, and what it said."""
        code, out, err = self.fetch("--format", "json", *args, **env)
        return code, json.loads(out), err

    def plan(self, *args):
        """The entries of a plan, by their names."""
        code, out, err = self.run("plan", "config.toml", "--format", "json", *args)
        assert code == 0, err
        return {entry["name"]: entry for entry in json.loads(out)["entries"]}

    def tree(self):
        """Everything in the cache: links as what they say, files as what they hold."""
        found = {}
        for path in sorted(self.cache.rglob("*")):
            name = str(path.relative_to(self.cache))
            if path.is_symlink():
                found[name] = "-> " + os.readlink(path)
            elif path.is_file():
                found[name] = path.read_bytes()
        return found
