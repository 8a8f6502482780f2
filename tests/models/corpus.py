"""Rewrite many architectures with the default mapping and write what was found to docs/corpus.md.

    PYTHON tests/models/corpus.py [--out docs/corpus.md] [--keep DIR] [NAME …]

PYTHON has transformers and torch; build/bin/kernelmap (or $KERNELMAP) is the program. Each architecture is a tiny,
randomly initialised model, traced in fp32, bf16 and fp16; the hand-written models of written.py are scripted too. Each
rewritten archive is run and held against the stock one (`apply --verify`): the table says where it is not right.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers as T

import make
import written

ROOT = make.HERE.parent.parent
PROGRAM = os.environ.get("KERNELMAP", ROOT / "build/bin/kernelmap")
SMALL, GQA, WIDE = make.SMALL, make.GQA, make.WIDE_HEADS
PAD = {"pad_token_id": 0}
OPT = dict(hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=make.VOCAB,
           max_position_embeddings=64, word_embed_proj_dim=32)
GPT = dict(n_embd=32, n_layer=2, n_head=4, vocab_size=make.VOCAB, n_positions=64)
T5 = dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=make.VOCAB)
PIXELS = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32,
              patch_size=8)
EXPERTS = dict(GQA, num_experts=4, moe_intermediate_size=16)
MORE = {
    "albert": (T.AlbertConfig, "AlbertModel", dict(SMALL, embedding_size=32)),
    "clip_vision": (T.CLIPVisionConfig, "CLIPVisionModel", PIXELS),
    "cohere": (T.CohereConfig, "CohereForCausalLM", {**GQA, **PAD}),
    "deit": (T.DeiTConfig, "DeiTModel", PIXELS),
    "dinov2": (T.Dinov2Config, "Dinov2Model", {k: v for k, v in PIXELS.items() if k != "intermediate_size"}),
    "electra": (T.ElectraConfig, "ElectraModel", dict(SMALL, embedding_size=32)),
    "ernie4_5": (T.Ernie4_5Config, "Ernie4_5ForCausalLM", GQA),
    "falcon": (T.FalconConfig, "FalconForCausalLM", SMALL),
    "gemma2": (T.Gemma2Config, "Gemma2ForCausalLM", WIDE),
    "gemma3": (T.Gemma3TextConfig, "Gemma3ForCausalLM", WIDE),
    "glm": (T.GlmConfig, "GlmForCausalLM", {**WIDE, **PAD}),
    "gptj": (T.GPTJConfig, "GPTJForCausalLM", dict(GPT, rotary_dim=8)),
    "granite": (T.GraniteConfig, "GraniteForCausalLM", GQA),
    "llama (biases)": (T.LlamaConfig, "LlamaForCausalLM", dict(GQA, attention_bias=True, mlp_bias=True)),
    "mamba": (T.MambaConfig, "MambaForCausalLM",
              dict(hidden_size=32, num_hidden_layers=2, vocab_size=make.VOCAB, state_size=8)),
    "mixtral": (T.MixtralConfig, "MixtralForCausalLM", dict(GQA, num_local_experts=4)),
    "modernbert": (T.ModernBertConfig, "ModernBertModel",
                   dict(SMALL, pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2)),
    "mpnet": (T.MPNetConfig, "MPNetModel", dict(SMALL, max_position_embeddings=66)),
    "nemotron": (T.NemotronConfig, "NemotronForCausalLM", GQA),
    "olmo": (T.OlmoConfig, "OlmoForCausalLM", GQA),
    "olmo2": (T.Olmo2Config, "Olmo2ForCausalLM", GQA),
    "opt": (T.OPTConfig, "OPTForCausalLM", OPT),
    "persimmon": (T.PersimmonConfig, "PersimmonForCausalLM", SMALL),
    "phi": (T.PhiConfig, "PhiForCausalLM", SMALL),
    "phi3": (T.Phi3Config, "Phi3ForCausalLM", {**GQA, **PAD}),
    "qwen2_moe": (T.Qwen2MoeConfig, "Qwen2MoeForCausalLM", dict(EXPERTS, shared_expert_intermediate_size=16)),
    "qwen3_moe": (T.Qwen3MoeConfig, "Qwen3MoeForCausalLM", dict(EXPERTS, head_dim=16)),
    "roberta": (T.RobertaConfig, "RobertaModel", dict(SMALL, max_position_embeddings=66)),
    "siglip_vision": (T.SiglipVisionConfig, "SiglipVisionModel", PIXELS),
    "smollm3": (T.SmolLM3Config, "SmolLM3ForCausalLM", {**GQA, **PAD}),
    "stablelm": (T.StableLmConfig, "StableLmForCausalLM", GQA),
    "starcoder2": (T.Starcoder2Config, "Starcoder2ForCausalLM", GQA),
    "t5 encoder": (T.T5Config, "T5EncoderModel", T5),
    "t5 encoder (gated)": (T.T5Config, "T5EncoderModel", dict(T5, feed_forward_proj="gated-gelu")),
}
HAND_WRITTEN = {"GPT": written.WrittenGPT, "Llama": written.WrittenLlama, "encoder": written.WrittenEncoder,
                "T5": written.WrittenT5}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def make_archive(name, form, dtype, path):
    if form == "traced":
        module, x = make.trace(name, DTYPES[dtype], "eager")
    else:
        torch.manual_seed(0)
        model = HAND_WRITTEN[name]().eval().to(DTYPES[dtype])
        make.randomise_vectors(model)
        module, x = torch.jit.script(model), torch.randint(1, make.VOCAB, (2, 8))
    make.save(module, x, path)


def apply(path):
    """The sites of a report, and what is wrong with the rewritten model ("" when nothing is)."""
    report = path.with_suffix(".json")
    done = subprocess.run([PROGRAM, "apply", path, "-o", path.with_suffix(".out.pt"), "--report", report, "--verify",
                           "--device", "cpu"], capture_output=True, text=True, check=False)
    sites = json.loads(report.read_text())["sites"] if report.exists() else []
    return sites, "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1].replace(str(path.parent), "")


def row(job):
    name, form, folder = job
    found, why, wrong, none = {}, [], [], []
    for dtype in DTYPES:
        path = folder / f"{name}.{form}.{dtype}.pt".replace(" ", "_")
        try:
            make_archive(name, form, dtype, path)
        except Exception:  # the trace is not the model, bit for bit, or the model does not run so
            none.append(dtype)
            continue
        sites, problem = apply(path)
        if "fails on the inputs" in problem:  # so does the stock model
            none.append(dtype)
            continue
        if problem:
            wrong.append(f"{dtype}: {problem}")
        counts = collections.Counter(s["name"] for s in sites if s["action"] == "replaced")
        left = collections.Counter((s["name"], s["reason"]["code"], s["reason"].get("difference") or "")
                                   for s in sites if s["action"] == "fallback")
        found[dtype] = ", ".join(f"{count} {layer}" for layer, count in sorted(counts.items())) or "nothing"
        why += [f"{count} {layer}: `{code}`" + (f" ({text})" if text else "")
                for (layer, code, text), count in sorted(left.items())]
    same = len(set(found.values())) == 1
    replaced = next(iter(found.values())) if same else "; ".join(f"{d}: {text}" for d, text in found.items())
    why = list(dict.fromkeys(why))
    outputs = "; ".join(wrong) or ("right" if found else "-")
    if none:
        outputs += f" (no archive in {', '.join(none)})"
    return f"| {name} | {form} | {replaced or '-'} | {'; '.join(why) or '-'} | {outputs} |", bool(wrong)


HEAD = """# What is found in real models

Made by `tests/models/corpus.py` with transformers {transformers} and torch {torch}. Each row is a tiny, randomly initialised model with the
default mapping on the CPU, in fp32, bf16 and fp16; the scripted ones are hand-written (`tests/models/written.py`).

- *Replaced* counts sites, in all three dtypes unless it says otherwise.
- *Left* are the sites that a class name or code announced and that stay stock code, with the reason.
- *Outputs*: `right` where the rewritten model was run and held against the stock one in each dtype; *no archive* where torch's trace is not the
  model, bit for bit, or the model itself does not run.

In no column is code that the default mapping does not name (LayerNorm, single activations), and functions in a form that the catalogue does
not know: a config that maps the function itself has those reported, with the first difference.

| architecture | form | replaced | left | outputs |
| --- | --- | --- | --- | --- |
"""


def main():
    make.fix_hash_seed()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/corpus.md")
    parser.add_argument("--keep", type=pathlib.Path, help="where archives and reports stay")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    torch.set_num_threads(1)
    make.ARCHITECTURES.update(MORE)
    jobs = [(name, "traced") for name in sorted(make.ARCHITECTURES)]
    jobs += [(name, "scripted") for name in HAND_WRITTEN]
    jobs = [job for job in jobs if not args.names or job[0] in args.names]
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            rows = list(pool.map(row, [(*job, folder) for job in jobs]))
    head = HEAD.format(transformers=T.__version__, torch=torch.__version__.partition("+")[0])
    args.out.write_text(head + "\n".join(text for text, _ in rows) + "\n")
    wrong = [text for text, is_wrong in rows if is_wrong]
    print("\n".join(wrong) or f"{len(rows)} rows, all right")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
