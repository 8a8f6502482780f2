"""Times a rewritten archive against the stock one, on the same input, interleaved.

usage: model.py MODEL.pt OUT.pt [--shape 2,8] [--threads N] [--seconds S]

The input is made from the archive's input.json ({"shape", "vocab"}); --shape overrides its shape, where the
archive was not traced for one shape only.
"""
import argparse
import json
import os
import sys

import torch
from timing import machine, medians

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def load(path):
    """The archive, and what its input.json says."""
    extra = {"input.json": ""}
    model = torch.jit.load(path, _extra_files=extra).eval()
    return model, json.loads(extra["input.json"]) if extra["input.json"] else None


def make_input(description, shape, model):
    """Token ids, or pixels in the model's dtype where the shape has four dimensions."""
    torch.manual_seed(0)
    shape = shape or description["shape"]
    if len(shape) == 4:
        return torch.rand(shape).to(next(model.parameters()).dtype)
    return torch.randint(1, description["vocab"], shape)


def compare(stock_path, rewritten_path, shape=None, seconds=1.0):
    """(seconds of the rewritten archive, stock over rewritten, largest absolute difference)."""
    stock, description = load(stock_path)
    rewritten, _ = load(rewritten_path)
    if description is None:
        sys.exit(f"{stock_path} has no input.json that says what its input is")
    x = make_input(description, shape, stock)
    with torch.no_grad():
        for _ in range(3):  # the profiling executor optimises after a few runs
            a, b = rewritten(x), stock(x)
        ours, theirs = medians([lambda: rewritten(x), lambda: stock(x)], seconds)
    difference = (a.float() - b.float()).abs().max().item() if isinstance(a, torch.Tensor) else None
    return ours, theirs / ours, difference


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--shape", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=1.0, help="an archive")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.ops.load_library(os.environ.get("KM_RUNTIME", f"{ROOT}/build/lib/libkernelmap_runtime.so"))
    ours, ratio, difference = compare(options.model, options.out, options.shape, options.seconds)
    print(f"{machine()}\nrewritten {ours * 1e3:.3f} ms, stock {ours * ratio * 1e3:.3f} ms: {ratio:.2f} times as fast; "
          f"largest difference {difference}")


if __name__ == "__main__":
    main()
