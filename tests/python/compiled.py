"""What the compiler makes of a config, for tests in Python. KM_PROGRAM names the program."""

import json
import os
import re
import subprocess
import tempfile


def execute(args, environment=None):
    """(exit code, standard output) of the program, with nothing of the caller's environment that changes plans."""
    clean = {key: value for key, value in os.environ.items()
             if key not in ("USE_HUB_KERNELS", "KERNELMAP_POLICY", "KERNELS_CACHE")}
    done = subprocess.run([os.environ["KM_PROGRAM"], *args], capture_output=True, text=True, timeout=60, check=False,
                          env={**clean, **(environment or {})})
    return done.returncode, done.stdout


def run(text, *args):
    """The same, with `-` among ARGS a file that holds the text, and an empty cache of kernels."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return execute([path if arg == "-" else arg for arg in args],
                       {"HF_HOME": folder, "HF_HUB_CACHE": os.path.join(folder, "hub")})


def check(text):
    """The codes of errors, and of warnings."""
    found = json.loads(run(text, "check", "-", "--format", "json")[1])["diagnostics"]
    return ([d["code"] for d in found if d["severity"] == "error"],
            [d["code"] for d in found if d["severity"] == "warning"])


def plan(text, device, capability=None, mode="inference"):
    """Entries of the plan, by name."""
    args = ["plan", "-", "--format", "json", "--device", device, "--mode", mode, "--torch", "2.13"]
    if capability:
        args += ["--capability", capability]
    code, out = run(text, *args)
    assert code == 0, (code, text)
    return {entry["name"]: entry for entry in json.loads(out)["entries"]}


def chosen(entry):
    """(repository, revision, name) of the kernel that an entry wants first, of the Hub or local; None where
    it wants none. A local one has no revision."""
    wanted = [step["text"] for step in entry["trace"] if step["step"] == "candidate" and step["ok"]]
    if not wanted or wanted[0].startswith("`builtin:"):
        return None
    ref, implied = re.fullmatch(r"`([^`]+)`(?:, revision (.+))?", wanted[0]).groups()
    repo, _, name = ref.rpartition(":") if ":" in ref.rpartition("/")[2] else (ref, "", "")
    repo, _, revision = (repo, "", "") if repo.startswith((".", "/")) else repo.partition("@")
    return repo, revision or implied, name
