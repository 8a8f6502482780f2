"""Writes the seeds of the fuzz targets: what the other tests read, one file each.

seeds.py SOURCE_FOLDER OUT        OUT/TARGET/NAME; what was there and is no seed is removed
"""

import hashlib
import json
import pathlib
import re
import sys
import tomllib

root, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
LARGEST = 16384  # a fuzzer learns little from large seeds
seeds = {path.stem: set() for path in (root / "tests/fuzz").glob("*.cpp")
         if path.stem not in ("fuzz", "driver")}


def add(target, data):
    if isinstance(data, str):
        data = data.encode()
    if len(data) <= LARGEST:
        seeds[target].add(data)


def add_config(name, data):
    add("config_json" if name.endswith(".json") or data.lstrip()[:1] == b"{" else "config_toml", data)
    if name == "policy.toml":
        add("policy", data)


# Files that golden cases read, examples and embedded mappings.
sys.path.append(str(root / "tests/golden"))
import run  # noqa: E402

for case in sorted((root / "tests").glob("**/*.golden")):
    _, sections = run.parse(case)
    for kind, words, text in sections:
        if kind == "file" and "repeat" not in words and words[0].endswith((".toml", ".json")):
            add_config(words[0], run.content(words[1:], text))
        elif kind == "stdin":
            add_config("-", text.encode())
for folder in ("examples", "tests/cases", "kernels"):
    for path in sorted((root / folder).glob("**/*")):
        if path.suffix in (".toml", ".json"):
            add_config(path.name, path.read_bytes())

# Tables of the small languages: the first string of each row `{"text", …}`.
TABLES = {"KernelRef": "kernel_ref", "DeviceSelector": "device_selector", "Mode": "mode",
          "PathPattern": "path_pattern", "Layout": "layout"}
tests = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "tests/compiler").glob("*_test.cpp")))
for name, body in re.findall(r"^TEST\((\w+), \w+\) \{\n(.*?)^\}", tests, re.M | re.S):
    if name in TABLES:
        for text in re.findall(r'\{("(?:[^"\\]|\\.)*")', body):
            add(TABLES[name], json.loads(re.sub(r"\\x(..)", r"\\u00\1", text)))


# Every string of every config, for the language that its place or form suggests.
def strings(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


for target, load in (("config_toml", tomllib.loads), ("config_json", json.loads)):
    for data in sorted(seeds[target]):
        try:
            value = load(data.decode())
        except ValueError:
            continue
        for text in strings(value):
            if "/" in text or text.startswith("builtin:"):
                add("kernel_ref", text)
                if "@" in text:
                    add("version_spec", text.partition("@")[2].partition(":")[0])
            elif re.match(r"(cuda|rocm|cpu|mps|xpu|npu|metal)\b", text):
                add("device_selector", text)
            elif re.match(r"(inference|training|torch_compile|fallback)\b", text):
                add("mode", text)
            elif "*" in text or re.fullmatch(r"[\w.]+\.[\w.]+", text):
                add("path_pattern", text)
for text in seeds["device_selector"]:
    for part in re.findall(rb"[<>=]+\s*([\w.]+)", text):
        add("capability", part)
for text in ("9.0", "12.1", "sm_90", "gfx942", "gfx1100", "75", "100", "9", "12.10"):
    add("capability", text)
for text in (">=2.0,<3.0", "==2.*", "~=1.4", "===x", "main", "v1", "feature/x", ">=1!2.0rc1.post2.dev3+a.b"):
    add("version_spec", text)
add("policy", 'trusted_publishers = ["kernels-community"]\nallow_all_kernels = false\n')

# What made a target fail once.
for path in sorted((root / "tests/fuzz/crashers").glob("*/*")):
    seeds[path.parent.name].add(path.read_bytes())

for target, texts in sorted(seeds.items()):
    if not texts:
        sys.exit(f"{target} has no seeds")
    folder = out / target
    folder.mkdir(parents=True, exist_ok=True)
    names = {hashlib.sha256(text).hexdigest()[:16]: text for text in texts}
    for path in folder.iterdir():
        if path.name not in names:
            path.unlink()
    for name, text in names.items():
        (folder / name).write_bytes(text)
    print(f"{target}: {len(names)} seeds")
