"""Runs golden cases: run.py KERNELMAP EXAMPLES CASE...

A case is one file. Lines before the first section are a comment; a section starts with a line
`=== NAME ARGUMENTS`:

  === args                  the arguments, as a shell splits them
  === env                   NAME=VALUE, a line each
  === file NAME             an input file; `escaped`: its text is a Python bytes literal's inside;
                            `repeat N`: its text without the last newline, N times
  === example NAME          a file of examples/, copied
  === cache                 the Hugging Face cache of hub.py as hf/, in place of none; x86_64-linux
                            in the case stands for the machine that runs it
  === hub                   the server of tests/fetch/ is the Hub; lines are faults (faults_of_cases.py)
  === beside NAME…          the program runs as bin/kernelmap, these other programs, empty, in bin/,
                            with PATH=bin; what differs from machine to machine is written N
  === stdin                 standard input
  === exit, stdout, stderr  what is expected
  === output NAME           the expected content of a file that the command writes

KM_UPDATE_GOLDEN=1 writes what came out into the cases.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import hub

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fetch"))

WRITTEN = "x86_64-linux"
# What doctor says that no variable pins: the torch that kernelmap is built with, and free space.
MACHINE = ((rb"\d\S*, (cpu|cuda|rocm)\b", b"N, N"), (rb"[\d.]+ GiB free", b"N GiB free"),
           (rb'(planned for(?: +|",\s+"value": "))\d[^\s"]*(?=["\n])', rb"\1N"), (rb"torch \d\.\d+$", b"torch N"))
EXPECTED = ("exit", "stdout", "stderr", "output")


def parse(path):
    comment, sections = [], []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("=== "):
            words = line[4:].split()
            sections.append([words[0], words[1:], ""])
        elif sections:
            sections[-1][2] += line
        else:
            comment.append(line)
    return "".join(comment), sections


def content(words, text):
    if "escaped" in words:
        return text.rstrip("\n").encode().decode("unicode_escape").encode("latin-1")
    if "repeat" in words:
        return text[:-1].encode() * int(words[words.index("repeat") + 1])
    return text.encode()


def visible(data):
    """As it stands in a case: text that ends in a newline, or is empty."""
    text = data.decode("utf-8", "backslashreplace")
    if text and not text.endswith("\n"):
        text += "\n(no newline at the end)\n"
    return text


def stand_beside(program, names, folder):
    """A copy of the program in bin/ of a folder, with others beside it."""
    os.mkdir(os.path.join(folder, "bin"))
    for name in names:
        beside = pathlib.Path(folder, "bin", name)
        beside.touch(0o755)
    return shutil.copy(program, os.path.join(folder, "bin", "kernelmap"))


def run(program, examples, path):
    comment, sections = parse(path)
    faults = [text for name, _, text in sections if name == "hub"]
    if not faults:
        return run_case(program, examples, path, comment, sections, {})
    import faults_of_cases
    with faults_of_cases.server(faults[0]) as server:
        return run_case(program, examples, path, comment, sections,
                        {"HF_ENDPOINT": server.endpoint, "HF_HUB_DOWNLOAD_TIMEOUT": "1",
                         "NO_PROXY": "*"})


def run_case(program, examples, path, comment, sections, environment):
    here = hub.SYSTEM if any(name in ("cache", "hub") for name, _, _ in sections) else WRITTEN
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH", "HOME")}
    env["HF_HOME"] = "hf"  # never the user's own cache
    env["HF_ENDPOINT"] = "http://127.0.0.1:9"  # nor the real Hub
    env["KERNELMAP_RETRY_WAIT"] = "5"
    env["KERNELMAP_TORCH"] = "2.13.0"  # whichever torch this is built with
    env["CUDA_VISIBLE_DEVICES"] = env["HIP_VISIBLE_DEVICES"] = ""  # and whichever GPU is there
    env.update(environment)
    args, stdin = [], b""
    with tempfile.TemporaryDirectory() as folder:
        for name, words, text in sections:
            if name == "args":
                args = shlex.split(text.replace(WRITTEN, here))
            elif name == "env":
                env.update(line.split("=", 1) for line in text.splitlines())
            elif name == "cache":
                hub.make(pathlib.Path(folder, "hf"))
            elif name == "beside":
                program = stand_beside(program, words, folder)
                env["PATH"] = "bin"
                if env["KERNELMAP_TORCH"] == "2.13.0":
                    del env["KERNELMAP_TORCH"]
                here = hub.SYSTEM
            elif name == "stdin":
                stdin = text.encode()
            elif name == "file":
                target = pathlib.Path(folder, words[0])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content(words[1:], text.replace(WRITTEN, here)))
            elif name == "example":
                shutil.copy(pathlib.Path(examples, words[0]), folder)
        # A hang is a failure, not a wait.
        done = subprocess.run([program, *args], cwd=folder, env=env, input=stdin,
                              capture_output=True, timeout=60)
        if any(name == "beside" for name, _, _ in sections):
            for pattern, text in MACHINE:
                done.stdout = re.sub(pattern, text, done.stdout, flags=re.MULTILINE)
        found = {("exit", ""): f"{done.returncode}\n", ("stdout", ""): visible(done.stdout),
                 ("stderr", ""): visible(done.stderr)}
        for name, words, _ in sections:
            if name == "output":
                output = pathlib.Path(folder, words[0])
                found["output", words[0]] = (
                    visible(output.read_bytes()) if output.exists() else "(not there)\n")
    found = {key: text.replace(here, WRITTEN) for key, text in found.items()}
    expected = {(n, w[0] if w else ""): t for n, w, t in sections if n in EXPECTED}
    if found == expected:
        return True
    if os.environ.get("KM_UPDATE_GOLDEN") == "1":
        text = comment
        for name, words, body in sections:
            if name not in EXPECTED:
                text += "=== " + " ".join([name, *words]) + "\n" + body
        for (name, argument), body in found.items():
            text += "=== " + f"{name} {argument}".strip() + "\n" + body
        path.write_text(text, encoding="utf-8")
        print(f"{path.name}: updated")
        return True
    for key in sorted(expected.keys() | found.keys()):
        if expected.get(key) != found.get(key):
            print(f"{path.name}: {' '.join(key).strip()}\n--- expected\n{expected.get(key)}"
                  f"--- found\n{found.get(key)}")
    return False


def main():
    program, examples, *cases = sys.argv[1:]
    program = os.path.abspath(program)
    results = [run(program, examples, pathlib.Path(case)) for case in cases]
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
