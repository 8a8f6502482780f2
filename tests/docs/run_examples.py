"""Runs the commands that a Markdown page shows, and compares what they print; checks the configs that it shows.

usage: run_examples.py ROOT BIN PAGE.md …

In a fenced block a line `$ COMMAND` is followed by its output; a line that is only `…` stands for the rest. Commands
run through the shell in a folder where tests/ and examples/ are those of ROOT, with `build/` meaning the folder that
holds BIN; only kernelmap and cat are run. Errors of verify differ from processor to processor: numbers such as 5.9e-08
and `608 ulp` are not compared.

A ```toml or ```json block is a config: the schema takes it, and `kernelmap check` has no error and no warning. It is
config.toml or config.json for the commands after it. With `mistake` after the language check has something to say of
it, and a command after it shows what. ```python run is run with the Python package; a ```json block after it is what
it prints. `KM_UPDATE_GOLDEN=1` writes what was printed into the page.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib

import jsonschema

NUMBERS = re.compile(r"\d+(\.\d+)?e-\d+|\d+(\.\d+)?(e\+\d+)?(?= ulp)")
COMMAND = re.compile(r"([A-Z_]+=\S+ )?build/bin/kernelmap |cat ")


class Page:
    """What the blocks of one page share: a folder to run in, and what went wrong."""

    def __init__(self, root, bin_folder, name, folder):
        self.root, self.build, self.name, self.folder = root, os.path.dirname(bin_folder), name, folder
        self.wrong = []
        for shared in ("tests", "examples", "kernels"):
            os.symlink(os.path.join(root, shared), os.path.join(folder, shared))
        with open(os.path.join(root, "schemas/kernelmap.schema.json"), encoding="utf-8") as file:
            self.schema = jsonschema.Draft202012Validator(json.load(file))
        self.environment = {key: value for key, value in os.environ.items()
                            if key not in ("USE_HUB_KERNELS", "KERNELMAP_POLICY", "KERNELS_CACHE")}
        self.environment["HF_HOME"] = self.environment["HF_HUB_CACHE"] = os.path.join(folder, "cache")
        self.environment["KERNELMAP_TORCH"] = "2.13.0"
        self.environment["PYTHONPATH"] = os.path.join(self.build, "python")
        self.mistake = None  # a config whose mistakes are still to be shown
        self.printed = None  # what a Python block printed, for the block after it

    def say(self, text):
        self.wrong.append(f"{self.name}: {text}")

    def run(self, command):
        if not COMMAND.match(command):
            sys.exit(f"{self.name}: not a command for a page: {command}")
        shell = command.replace("build/", self.build + "/")
        done = subprocess.run(shell, shell=True, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        return done.stdout.rstrip("\n").split("\n")

    def commands(self, block):
        """The block's lines as they should be."""
        out, i = [], 0
        while i < len(block):
            out.append(block[i])
            i += 1
            if not out[-1].startswith("$ "):
                continue
            actual = self.run(out[-1][2:])
            start = i
            while i < len(block) and not block[i].startswith("$ "):
                i += 1
            shown = block[start:i]
            rest = next((n for n, line in enumerate(shown) if line.strip() == "…"), None)
            out += actual if rest is None else actual[:rest] + [shown[rest]]
            if shown and shown[-1] == "" and i < len(block):
                out.append("")
        if self.mistake and any(line.startswith("$ ") and self.mistake in line for line in block):
            self.mistake = None
        return out

    def config(self, language, words, block):
        text = "\n".join(block) + "\n"
        name = f"config.{language}"
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        self.no_mistake_left()
        found = json.loads("\n".join(self.run(f"build/bin/kernelmap check --format json {name}")))["diagnostics"]
        if "mistake" in words:
            self.mistake = name
            if not found:
                self.say(f"no mistake in\n{text}")
            return
        for diagnostic in found:
            self.say(f"{diagnostic['code']} {diagnostic['message']} in\n{text}")
        for error in self.schema.iter_errors(tomllib.loads(text) if language == "toml" else json.loads(text)):
            self.say(f"the schema refuses {error.json_path}: {error.message} in\n{text}")

    def no_mistake_left(self):
        if self.mistake:
            self.say(f"the mistakes of {self.mistake} are not shown")
        self.mistake = None

    def python(self, block):
        done = subprocess.run([sys.executable, "-c", "\n".join(block)], cwd=self.folder, env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        self.printed = done.stdout.rstrip("\n").split("\n")

    def block(self, info, block):
        """The lines that the page should have there."""
        language, *words = info.split() or [""]
        printed, self.printed = self.printed, None
        if not language and block and block[0].startswith("$ "):
            fine = self.commands(block)
        elif language in ("toml", "json"):
            fine = block if printed is None else printed
            self.config(language, words, fine)
        else:
            fine = block
            if language == "python" and "run" in words:
                self.python(block)
        if [NUMBERS.sub("#", line) for line in fine] == [NUMBERS.sub("#", line) for line in block]:
            return block
        self.say("should be:\n" + "\n".join(fine))
        return fine


def process(page, lines):
    """The page's lines as they should be."""
    result, block, info = [], None, ""
    for line in lines:
        if block is None:
            result.append(line)
            if line.startswith("```"):
                block, info = [], line[3:].strip()
        elif line.strip() == "```":
            result += page.block(info, block) + [line]
            block = None
        else:
            block.append(line)
    if block is not None:
        sys.exit(f"{page.name}: a fenced block is not closed")
    page.no_mistake_left()
    return result


def main():
    root, bin_folder, pages = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    update, failed = bool(os.environ.get("KM_UPDATE_GOLDEN")), False
    for path in pages:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        with tempfile.TemporaryDirectory() as folder:
            page = Page(root, bin_folder, os.path.basename(path), folder)
            result = process(page, lines)
        if update:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(result))
            page.wrong = [text for text in page.wrong if ": should be:" not in text]
        print("\n".join(page.wrong), end="\n" if page.wrong else "")
        failed = failed or bool(page.wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
