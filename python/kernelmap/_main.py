"""The command `kernelmap` of the wheel: runs the program in it."""

import importlib.util
import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).resolve().parent / "bin" / "kernelmap"
    torch = importlib.util.find_spec("torch")  # finds it, without the seconds of importing it
    if torch and torch.origin:
        libraries = [str(pathlib.Path(torch.origin).parent / "lib"), os.environ.get("LD_LIBRARY_PATH")]
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
    try:
        os.execv(program, [str(program), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"kernelmap: error: cannot run {program.name}: {error.strerror}")
