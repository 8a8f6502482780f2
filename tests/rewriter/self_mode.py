"""Self mode on every archive: the reference's own code at each proved site changes no bit.

usage: self_mode.py SOUNDNESS MODELS_DIR [--fusions | LAYER.toml …]

With --fusions, modules are fused too, in both of their forms.

With layer files, the references in them (the catalogue's, phrased another way) must find the same
sites as the catalogue's own. An expression in another order may lay out its result in memory otherwise,
and some processors' matrix products round by layout: outputs are the same within rounding there.
"""
import glob
import os
import subprocess
import sys
import tempfile

import torch

TABLE = ("action", "name", "reference", "path")


def sites(program, model, out, layers):
    run = subprocess.run([program, "self", model, out, *layers], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{model}: {run.stderr}")
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    return sorted((row[0], row[1], row[3]) for row in rows)


def inputs(module):
    """Token ids, or pixels where a convolution's weight says so; other sizes than the traced one."""
    parameters = list(module.parameters())
    if any(p.dim() == 4 for p in parameters):
        return [torch.rand(n, 3, 32, 32).to(parameters[0].dtype) for n in (2, 5)]
    return [torch.randint(1, 100, shape) for shape in ((2, 8), (3, 13), (1, 1), (4, 1))]


def close(a, b):
    try:
        torch.testing.assert_close(a, b)
    except AssertionError:
        return False
    return True


def main():
    program, folder, layers = sys.argv[1], sys.argv[2], sys.argv[3:]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rephrased = layers and "--fusions" not in layers
    models = sorted(glob.glob(f"{folder}/*.pt") + glob.glob(f"{folder}/handmade/*.pt"))
    models = [m for m in models if "set_state" not in m]
    total, fused = 0, set()
    with tempfile.TemporaryDirectory() as temporary:
        out = os.path.join(temporary, "out.pt")
        for model in models:
            found = sites(program, model, out, layers)
            if rephrased:
                expected = sites(program, model, os.path.join(temporary, "plain.pt"), [])
                if found != expected:
                    sys.exit(f"{model}: other sites: {set(found) ^ set(expected)}")
            total += sum(row[0] == "replaced" for row in found)
            fused.update(row[1] for row in found if row[0] == "fused")
            stock, rewritten = torch.jit.load(model), torch.jit.load(out)
            with torch.no_grad():
                for x in inputs(stock):
                    a, b = stock(x.clone()), rewritten(x.clone())
                    if a.dtype != b.dtype or not (close(a, b) if rephrased else torch.equal(a, b)):
                        sys.exit(f"{model}: differs for {tuple(x.shape)}")
    if total == 0:
        sys.exit("no site was replaced")
    if ("--fusions" in layers) != (fused == {"RMSNorm+MLP", "Linear+Linear+Linear"}):
        sys.exit(f"fused: {fused}")
    print(f"{total} sites in {len(models)} archives, {'the same' if rephrased else 'bit-identical'}")


if __name__ == "__main__":
    main()
