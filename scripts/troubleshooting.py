#!/usr/bin/env python3
"""Writes docs/troubleshooting.md: every reason and diagnostic, as `kernelmap explain` tells it.

usage: troubleshooting.py KERNELMAP [--check]      --check: exit 1 where the page is not up to date
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "troubleshooting.md"
SECTIONS = (
    ("Reasons", "compiler/reasons.def", "KM_REASON",
     "Why stock code stays: `reason.code` in plans and reports, in brackets in their text. `kernelmap explain [CONFIG] NAME --model MODEL`\n"
     "shows how one name or module came to it."),
    ("Diagnostics", "compiler/diagnostics.def", "KM_DIAGNOSTIC",
     "Errors and warnings of configs, lock files and the command line, each with the place it is about."),
    ("Archives", "compiler/archive/errors.def", "KM_ARCHIVE_ERROR",
     "What is wrong with a file that should be a TorchScript archive."),
)


def explained(program, code):
    """The title and the paragraphs of one code."""
    text = subprocess.run([program, "explain", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    title, _, body = text.partition("\n")
    kind, _, title = title.partition(": ")[2].partition(": ")
    body, _, example = body.partition("For example:")
    return kind, title, body.strip(), example.strip("\n")


def page(program):
    out = ["# Troubleshooting", "",
           "Made by `scripts/troubleshooting.py` from what `kernelmap explain CODE` says; `kernelmap doctor` looks at a machine.", ""]
    for heading, path, macro, about in SECTIONS:
        out += [f"## {heading}", about, ""]
        for code in re.findall(rf"^{macro}\((\w+),", (ROOT / path).read_text(encoding="utf-8"), re.M):
            kind, title, body, example = explained(program, code)
            out += [f"### `{code}`", f"{'' if kind == 'reason' else kind + ': '}{title}", "", body, ""]
            if example:
                out += ["```", example, "```", ""]
    return "\n".join(out)


def main():
    text = page(sys.argv[1])
    if sys.argv[2:] == ["--check"]:
        if PAGE.read_text(encoding="utf-8") != text:
            sys.exit(f"{PAGE.name} is not up to date: run {' '.join(sys.argv[:2])}")
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
