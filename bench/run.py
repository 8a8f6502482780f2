"""What `make bench` runs: the built-in kernels, then small whole models, each against stock code; then how the
time of rewriting grows with the sites; then `check` of large configs against a plain parser.

usage: run.py [--quick] [MODEL.pt ...]      default models: tests/models/*.pt

Models are rewritten with the default mapping by build/bin/kernelmap.
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
KERNELMAP = f"{ROOT}/build/bin/kernelmap"


def run(*command):
    return subprocess.run([sys.executable, *command], cwd=HERE, check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the time, noisier")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    seconds = 0.02 if options.quick else 0.2
    status = run("kernels.py", "--seconds", str(seconds), "--compile")
    with tempfile.TemporaryDirectory() as folder:
        for model in map(os.path.abspath, options.models or sorted(glob.glob(f"{ROOT}/tests/models/*.pt"))):
            out = f"{folder}/{os.path.basename(model)}"
            print(f"\n{os.path.basename(model)}", flush=True)
            if subprocess.run([KERNELMAP, "apply", model, "-o", out], stdout=subprocess.DEVNULL, check=False).returncode:
                status = 1
            else:
                status |= run("model.py", model, out, "--seconds", str(seconds * 5))
    print(flush=True)
    status |= run("sites.py", "--layers", "2,20,200" if options.quick else "2,20,200,2000")
    print(flush=True)
    status |= run("check.py", "--runs", "5" if options.quick else "15")
    return status


if __name__ == "__main__":
    sys.exit(main())
