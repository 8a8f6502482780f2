"""What the tests of pages share: reports that are made up, and the program."""

import json
import os
import pathlib
import subprocess
import tempfile

PROGRAM = os.environ["KM_PROGRAM"]
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KERNEL = {"ref": "builtin:rms_norm", "repo": None, "revision": None, "variant": None,
          "name": "rms_norm", "digest": None, "trust": "builtin"}
EVIL = ("</code></script><script>document.title='evil'</script><img src=x onerror=\"document."
        "title='evil'\"> ' \" --> ]]> &lt; \u202e\u001b[31m")


def kernelmap(*arguments, stdin=None, code=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, input=stdin, timeout=60)
    assert done.returncode == code, (arguments, done.returncode, done.stderr.decode())
    return done.stdout if code == 0 else done.stderr


def site(path, name="RMSNorm", action="replaced", reason=None, difference=None, **others):
    value = {"path": path, "class": name, "name": name, "action": action, "kernel": KERNEL,
             "members": [], "also": [], "proof": None, "reference": None, "reason": None,
             "source": {"file": "k.toml", "line": 6, "column": 11},
             "model_source": "modeling.py:77"}
    if action == "replaced":
        value.update(proof="semantic", reference="llama")
    if reason:
        value["reason"] = {"code": reason, "text": "the text of " + reason}
        if difference:
            value["reason"]["difference"] = difference
    return value | others


def report(sites, **others):
    return {"format": "kernelmap-report/1",
            "target": {"device": "cpu", "capability": None, "mode": "inference", "torch": "2.13",
                       "cuda": None},
            "model": {"file": "m.pt", "sha256": "0" * 64},
            "summary": {"replaced": 0, "fused": 0, "fallback": 0}, "sites": sites} | others


def page(value, *arguments):
    """The page of a report, as bytes."""
    return kernelmap("report", "-", "--format", "html", *arguments,
                     stdin=json.dumps(value).encode())


def layers(count):
    """A model of `count` layers, eight sites each; the norms of every sixth one are fallbacks."""
    sites = []
    for layer in range(count):
        left = {} if layer % 6 else {"action": "fallback", "reason": "different_code",
                                     "difference": "reference: weight; model: add(1, weight)",
                                     "class": "GemmaRMSNorm"}
        at = f"model.layers.{layer}"
        sites += [site(f"{at}.{norm}", **left) for norm in ("first", "second", "third", "fourth")]
        sites += [site(f"{at}.attn", "attention", "already"), site(f"{at}.attn", "rotary_pos_emb"),
                  site(f"{at}.mlp", "SwiGLUMLP"),
                  site(f"{at}.mlp.act", "SiLU", "fallback", "not_trusted")]
    return report(sites)


def write(data):
    """A temporary file that is there as long as the result is."""
    file = tempfile.NamedTemporaryFile(suffix=".html")
    file.write(data)
    file.flush()
    return file
