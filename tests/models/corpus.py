"""Rewrite many architectures and write what was found to docs/corpus.md.

    PYTHON tests/models/corpus.py [--also PYTHON …] [--out docs/corpus.md] [--keep DIR] [NAME …]

PYTHON has transformers and torch; build/bin/kernelmap (or $KERNELMAP) is the program. Each architecture is a tiny,
randomly initialised model, traced in fp32, bf16 and fp16; the hand-written models of written.py are scripted too. Each
rewritten archive is run and held against the stock one (`apply --verify`): the table says where it is not right. `--also`
names Pythons with another release of transformers (rows for OLDER) or with torchvision (its models, scripted).
"""

import argparse
import collections
import concurrent.futures
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

import vision  # before what imports transformers

import architectures
import forms
import make
import pointwise_forms
import written

ROOT = make.HERE.parent.parent
PROGRAM = os.environ.get("KERNELMAP", ROOT / "build/bin/kernelmap")
HAND_WRITTEN = {"GPT": written.WrittenGPT, "Llama": written.WrittenLlama, "encoder": written.WrittenEncoder,
                "T5": written.WrittenT5, "mixer": written.WrittenMixer, "attention forms": forms.Forms,
                "norm and activation forms": pointwise_forms.PointwiseForms}
# What another release of transformers is asked for.
OLDER = ["llama", "qwen2", "qwen3", "mistral", "gemma", "gemma2", "phi3", "mixtral", "qwen2_moe", "olmoe", "gpt2", "gpt_neox",
         "bert", "distilbert", "roberta", "vit", "clip_vision", "t5", "bart", "whisper", "wav2vec2", "mamba", "cohere",
         "deepseek_v3"]
# The default mapping, the other layers that there are built-in kernels for, and names that the config itself maps: then a
# class that only hints at them is a site whatever its code is.
CONFIG = """[kernel_mapping]
LayerNorm = "builtin:layer_norm"
FastGELU = "builtin:activation"
GeLU = "builtin:activation"
GeluTanh = "builtin:new_gelu"
QuickGELU = "builtin:activation"
attention = "builtin:sdpa"
"""
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def make_archive(name, form, dtype, path):
    if form == "traced":
        module, x = architectures.trace(name, DTYPES[dtype])
    else:
        torch.manual_seed(0)
        constructor = {**HAND_WRITTEN, **(vision.known() if form == "torchvision" else {})}[name]
        model = constructor().eval().to(DTYPES[dtype])
        make.randomise_vectors(model)
        x = torch.rand(2, 3, 32, 32).to(DTYPES[dtype]) if form == "torchvision" else torch.randint(1, make.VOCAB, (2, 8))
        module = torch.jit.script(model)
    make.save(module, x, path)


def jobs_here():
    """(name, form, release) that this Python can make."""
    release = "transformers " + importlib.metadata.version("transformers")
    jobs = [(name, "traced", release) for name in sorted(architectures.known())]
    jobs += [(name, "torchvision", "torchvision " + importlib.metadata.version("torchvision")) for name in vision.known()]
    return jobs + [(name, "scripted", "-") for name in HAND_WRITTEN]


def jobs_of(python):
    """Those of another Python that are not the same as ours."""
    done = subprocess.run([python, __file__, "--list"], capture_output=True, text=True, check=True)
    ours = {job[2] for job in jobs_here()}
    return [(name, form, release) for name, form, release in json.loads(done.stdout)
            if release not in ours and form != "scripted" and (form == "torchvision" or name in OLDER)]


def apply(path):
    """The sites of a report, and what is wrong with the rewritten model ("" when nothing is)."""
    report, config = path.with_suffix(".json"), path.with_suffix(".toml")
    config.write_text(CONFIG)
    done = subprocess.run([PROGRAM, "apply", config, path, "-o", path.with_suffix(".out.pt"), "--report", report, "--verify",
                           "--device", "cpu"], capture_output=True, text=True, check=False)
    sites = json.loads(report.read_text())["sites"] if report.exists() else []
    return sites, "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1].replace(str(path.parent), "")


def path_of(folder, name, form, release, dtype):
    return folder / f"{name}.{form}.{release}.{dtype}.pt".replace(" ", "_")


def make_archives(name, form, release, folder):
    """Those that there are: a trace may not be the model, bit for bit, or the model may not run in a dtype."""
    for dtype in DTYPES:
        try:
            make_archive(name, form, dtype, path_of(folder, name, form, release, dtype))
        except Exception as error:
            print(f"{name} {dtype}: {error}", file=sys.stderr)


def row(job):
    name, form, release, python, folder = job
    found, why, wrong, none = {}, [], [], []
    already = collections.Counter()
    subprocess.run([python, __file__, "--make", name, form, release, folder], capture_output=True, check=False)
    for dtype in DTYPES:
        path = path_of(folder, name, form, release, dtype)
        if not path.exists():
            none.append(dtype)
            continue
        sites, problem = apply(path)
        if "fails on the inputs" in problem:  # so does the stock model
            none.append(dtype)
            continue
        if problem:
            wrong.append(f"{dtype}: {problem}")
        counts = collections.Counter(s["name"] for s in sites if s["action"] == "replaced")
        already |= collections.Counter(s["name"] for s in sites if s["action"] == "already")
        left = collections.Counter((s["name"], s["reason"]["code"], s["reason"].get("difference") or "")
                                   for s in sites if s["action"] == "fallback")
        found[dtype] = ", ".join(f"{count} {layer}" for layer, count in sorted(counts.items())) or "nothing"
        why += [f"{count} {layer}: `{code}`" + (f" ({text})" if text else "")
                for (layer, code, text), count in sorted(left.items())]
    same = len(set(found.values())) == 1
    replaced = next(iter(found.values())) if same else "; ".join(f"{d}: {text}" for d, text in found.items())
    same_already = ", ".join(f"{count} {layer}" for layer, count in sorted(already.items()))
    why = [text.replace("|", "\\|") for text in dict.fromkeys(why)]
    outputs = "; ".join(wrong) or ("right" if found else "-")
    if none:
        outputs += f" (no archive in {', '.join(none)})"
    cells = [name, form, release.removeprefix("transformers ").removeprefix("torchvision "), replaced or "-", same_already or "-",
             "; ".join(why) or "-", outputs]
    return "| " + " | ".join(cells) + " |", bool(wrong)


HEAD = """# What is found in real models

Made by `tests/models/corpus.py` with torch {torch}. Each row is a tiny, randomly initialised model on the CPU, in fp32, bf16 and fp16: traced
models of transformers, scripted models of torchvision, and scripted models written by hand (`tests/models/written.py`, `forms.py`,
`pointwise_forms.py`). The config is the default mapping with `LayerNorm`, `FastGELU`, `GeLU`, `GeluTanh`, `QuickGELU` and `attention` named beside it.

- *Of* is the release of the library whose code it is.
- *Replaced* counts sites, in all three dtypes unless it says otherwise.
- *Already* are sites whose code is what the kernel would make of it, in any of the dtypes: `torch.nn.LayerNorm` is one operation.
- *Left* are the sites that a class name or code announced and that stay stock code, with the reason.
- *Outputs*: `right` where the rewritten model was run and held against the stock one in each dtype; *no archive* where torch's trace is not the
  model, bit for bit, or the model itself does not run.

In no column is code in no module of a name: an activation that a model's code calls as a function, and functions in a form that the catalogue does
not know, except attention.

| architecture | form | of | replaced | already | left | outputs |
| --- | --- | --- | --- | --- | --- | --- |
"""


def main():
    make.fix_hash_seed()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/corpus.md")
    parser.add_argument("--keep", type=pathlib.Path, help="where archives and reports stay")
    parser.add_argument("--also", action="append", default=[], metavar="PYTHON")
    parser.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.list:
        return print(json.dumps(jobs_here()))
    if args.make:
        return make_archives(*args.make[:3], pathlib.Path(args.make[3]))
    jobs = [(*job, sys.executable) for job in jobs_here()]
    jobs += [(*job, python) for python in args.also for job in jobs_of(python)]
    jobs = [job for job in jobs if not args.names or job[0] in args.names]
    jobs.sort(key=lambda job: (["traced", "torchvision", "scripted"].index(job[1]), job[0], job[2]))
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            rows = list(pool.map(row, [(*job, folder) for job in jobs]))
    head = HEAD.format(torch=torch.__version__.partition("+")[0])
    args.out.write_text(head + "\n".join(text for text, _ in rows) + "\n")
    wrong = [text for text, is_wrong in rows if is_wrong]
    print("\n".join(wrong) or f"{len(rows)} rows, all right")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
