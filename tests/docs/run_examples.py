"""Runs the commands that a Markdown page shows, and compares what they print.

usage: run_examples.py ROOT BIN PAGE.md …

In a fenced block a line `$ COMMAND` is followed by its output; a line that is only `…` stands for
the rest. Commands run in ROOT through the shell, with `build/` meaning the folder that holds BIN; only
kernelmap and cat are run. Errors of verify differ from processor to processor: numbers such as 5.9e-08 are
not compared. `KM_UPDATE_GOLDEN=1` writes what the commands print into the page.
"""
import os
import re
import subprocess
import sys


def run(root, bin_folder, command):
    if not re.match(r"(build/bin/kernelmap|cat) ", command):
        sys.exit(f"not a command for a page: {command}")
    shell = command.replace("build/", os.path.dirname(bin_folder) + "/")
    done = subprocess.run(shell, shell=True, cwd=root, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300)
    return done.stdout.rstrip("\n").split("\n")


def same(a, b):
    numbers = re.compile(r"\d+(\.\d+)?e-\d+")
    return [numbers.sub("#", line) for line in a] == [numbers.sub("#", line) for line in b]


def check(root, bin_folder, block):
    """The block's lines as they should be."""
    out, i = [], 0
    while i < len(block):
        if not block[i].startswith("$ "):
            out.append(block[i])
            i += 1
            continue
        out.append(block[i])
        actual = run(root, bin_folder, block[i][2:])
        i += 1
        start = i
        while i < len(block) and not block[i].startswith("$ "):
            i += 1
        shown = block[start:i]
        blank = shown and shown[-1] == "" and i < len(block)
        rest = next((n for n, line in enumerate(shown) if line.strip() == "…"), None)
        out += actual if rest is None else actual[:rest] + [shown[rest]]
        if blank:
            out.append("")
    return out


def main():
    root, bin_folder, pages = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    failed = False
    for page in pages:
        lines = open(page, encoding="utf-8").read().split("\n")
        result, block, other = [], None, False
        for line in lines:
            if other:  # a fenced block of another language
                result.append(line)
                other = line.strip() != "```"
            elif block is None:
                result.append(line)
                if line.strip() == "```":
                    block = []
                other = re.match(r"```\w", line) is not None
            elif line.strip() == "```":
                fine = check(root, bin_folder, block) if block and block[0].startswith("$ ") else block
                if same(fine, block):
                    fine = block
                else:
                    failed = True
                    print(f"{os.path.basename(page)}: should be:\n" + "\n".join(fine))
                result += fine + [line]
                block = None
            elif block is not None:
                block.append(line)
        if block is not None or other:
            sys.exit(f"{page}: a fenced block is not closed")
        if os.environ.get("KM_UPDATE_GOLDEN"):
            open(page, "w", encoding="utf-8").write("\n".join(result))
    return 1 if failed and not os.environ.get("KM_UPDATE_GOLDEN") else 0


if __name__ == "__main__":
    sys.exit(main())
