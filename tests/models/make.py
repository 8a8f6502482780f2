"""Trace tiny, randomly initialised transformers models to TorchScript.

    python tests/models/make.py [--out DIR] [NAME ...]

NAME is an archive's name without `.pt` (`llama`, `llama.bf16`, `bert.sdpa`); without names, all of them are made. The
same torch and transformers give the same bytes: seeds are fixed, every archive is made in a process of its own (class
name mangling counts per process), and source positions name files relative to site-packages.

Each archive carries the extra file `input.json`: {"shape", "vocab", "dtype"}. The input is token ids below `vocab` for
int64 and pixels for a float dtype.
"""

import argparse
import concurrent.futures.thread
import gc
import json
import logging
import multiprocessing
import os
import pathlib
import sys
import sysconfig
import types
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")
import torch
import transformers as T

logging.disable(logging.WARNING)

HERE = pathlib.Path(__file__).resolve().parent
VOCAB = 100
SMALL = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
             vocab_size=VOCAB, max_position_embeddings=64)
GQA = dict(SMALL, num_key_value_heads=2)
WIDE_HEADS = dict(GQA, head_dim=16)  # heads wider than hidden_size / num_attention_heads

ARCHITECTURES = {
    "llama": (T.LlamaConfig, "LlamaForCausalLM", GQA),
    "qwen2": (T.Qwen2Config, "Qwen2ForCausalLM", GQA),
    "qwen3": (T.Qwen3Config, "Qwen3ForCausalLM", WIDE_HEADS),
    "mistral": (T.MistralConfig, "MistralForCausalLM", GQA),
    "gemma": (T.GemmaConfig, "GemmaForCausalLM", dict(WIDE_HEADS, pad_token_id=0)),
    "gpt2": (T.GPT2Config, "GPT2LMHeadModel",
             dict(n_embd=32, n_layer=2, n_head=4, vocab_size=VOCAB, n_positions=64)),
    "gpt_neox": (T.GPTNeoXConfig, "GPTNeoXForCausalLM", SMALL),
    "bert": (T.BertConfig, "BertModel", SMALL),
    "distilbert": (T.DistilBertConfig, "DistilBertModel",
                   dict(dim=32, hidden_dim=64, n_layers=2, n_heads=4, vocab_size=VOCAB,
                        max_position_embeddings=64)),
    "vit": (T.ViTConfig, "ViTModel",
            dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                 image_size=32, patch_size=8)),
}
BF16 = ["llama", "qwen2", "qwen3", "mistral", "gemma"]
SDPA = ["llama", "bert", "gpt2", "vit"]
ARCHIVES = ([(a, torch.float32, "eager") for a in ARCHITECTURES] +
            [(a, torch.bfloat16, "eager") for a in BF16] +
            [(a, torch.float32, "sdpa") for a in SDPA])


def archive_name(architecture, dtype, attention):
    name = architecture + (".bf16" if dtype == torch.bfloat16 else "")
    return name + (".sdpa" if attention == "sdpa" else "")


class FirstOutput(torch.nn.Module):
    """A model's main output for one positional input: what a trace can take."""

    def __init__(self, model, vision):
        super().__init__()
        self.model = model
        self.vision = vision
        self.cached = "use_cache" in model.config.to_dict() and model.can_generate()

    def forward(self, x):
        if self.vision:
            out = self.model(pixel_values=x)
        elif self.cached:
            out = self.model(input_ids=x, use_cache=False)
        else:
            out = self.model(input_ids=x)
        return out.logits if "logits" in out else out.last_hidden_state


def randomise_vectors(model):
    """A norm weight of all ones or a bias of zeros would hide mistakes."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 1:
                p.copy_((torch.randn(p.shape, generator=generator) * 0.5 + 0.5).to(p.dtype))


def relative_source_files():
    """Make code objects name their files relative to site-packages, so that archives hold no path of this machine."""
    roots = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib"),
                    sysconfig.get_path("stdlib"), str(HERE)}, key=len, reverse=True)

    def shorten(code):
        name = os.path.abspath(code.co_filename)
        root = next((r for r in roots if name.startswith(r + os.sep)), None)
        consts = tuple(shorten(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
        return code.replace(co_filename=name[len(root) + 1:] if root else code.co_filename,
                            co_consts=consts)

    for f in gc.get_objects():
        if isinstance(f, types.FunctionType):
            f.__code__ = shorten(f.__code__)


def trace(architecture, dtype, attention):
    config_class, model_class, settings = ARCHITECTURES[architecture]
    torch.manual_seed(0)
    config = config_class(**settings)
    config._attn_implementation = attention
    model = getattr(T, model_class)(config).eval().to(dtype)
    randomise_vectors(model)
    vision = "image_size" in settings
    x = torch.rand(2, 3, 32, 32).to(dtype) if vision else torch.randint(1, VOCAB, (2, 8))
    module = FirstOutput(model, vision)
    with torch.no_grad():
        traced = torch.jit.trace(module, (x,), check_trace=False)
        if not torch.equal(traced(x), module(x)):
            raise RuntimeError(f"{architecture}: the trace does not compute what the model computes")
    return traced, x


def save(traced, x, path):
    about = {"shape": list(x.shape), "vocab": VOCAB, "dtype": str(x.dtype).removeprefix("torch.")}
    path.parent.mkdir(parents=True, exist_ok=True)
    traced.save(str(path), _extra_files={"input.json": json.dumps(about)})


def fix_hash_seed():
    """TorchScript writes a class's constants in the order of a Python set: start again with a fixed one."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, *sys.argv])


def in_fresh_thread(function, *arguments):
    """Frames that ran before relative_source_files() keep their file names; a new thread's stack has none of them."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(function, *arguments).result()


def make_all(jobs):
    """Run (name, function, arguments) jobs, each in a fresh fork of this process; returns the names that failed."""
    context = multiprocessing.get_context("fork")
    failed = []
    for name, function, arguments in jobs:
        child = context.Process(target=in_fresh_thread, args=(function, *arguments))
        child.start()
        child.join()
        print(name, "ok" if child.exitcode == 0 else "FAILED", flush=True)
        if child.exitcode:
            failed.append(name)
    return failed


def make_one(path, architecture, dtype, attention):
    torch.set_num_threads(1)
    traced, x = trace(architecture, dtype, attention)
    save(traced, x, path)


def main():
    fix_hash_seed()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    known = {archive_name(*a): a for a in ARCHIVES}
    unknown = [n for n in args.names if n not in known]
    if unknown:
        parser.error(f"no such archive: {', '.join(unknown)}; there are: {', '.join(known)}")
    for model_class in {m for _, m, _ in ARCHITECTURES.values()}:
        getattr(T, model_class)  # transformers imports lazily; import now, before paths are shortened
    relative_source_files()
    jobs = [(n, make_one, (args.out / f"{n}.pt", *known[n])) for n in args.names or known]
    sys.exit(1 if make_all(jobs) else 0)


if __name__ == "__main__":
    main()
