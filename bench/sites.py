"""How the time of rewriting grows with the sites: Llama-like models of more and more layers, scripted and traced, matched
and rewritten in memory by build/bin/bench_sites (no load, no save; the references are compiled, once a process). Five sites a layer and one norm. The last column is
the time a site over that of the smallest model: about 1 where the time is linear.

usage: sites.py [--runs N] [--layers 2,20,200,2000]
"""
import argparse
import os
import subprocess
import sys
import tempfile

import torch
from timing import machine

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, f"{ROOT}/tests/models")
import written  # noqa: E402


def make(layers, form, path):
    torch.manual_seed(0)
    model = written.WrittenLlama(layers=layers).eval()
    if form == "scripted":
        torch.jit.script(model).save(path)
    else:
        torch.jit.trace(model, torch.zeros(1, 4, dtype=torch.int64), check_trace=False).save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--layers", default="2,20,200,2000")
    options = parser.parse_args()
    print(f"{machine()}\n{'':10} {'sites':>7} {'ms':>9} {'us a site':>10} {'growth':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for form in ("scripted", "traced"):
            first = None
            for layers in map(int, options.layers.split(",")):
                path = f"{folder}/model.pt"
                make(layers, form, path)
                done = subprocess.run([f"{ROOT}/build/bin/bench_sites", "--runs", str(options.runs), path],
                                      stdout=subprocess.PIPE, text=True, check=True)
                sites, ms = done.stdout.split()
                each = float(ms) / int(sites) * 1e3
                first = first or each
                print(f"{form:10} {sites:>7} {float(ms):9.1f} {each:10.1f} {each / first:7.2f}", flush=True)


if __name__ == "__main__":
    main()
