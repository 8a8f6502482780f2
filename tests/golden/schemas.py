"""Validates real outputs, and the examples, against the schemas.

schemas.py SOURCE_FOLDER KERNELMAP REPORT_SAMPLE
"""

import functools
import json
import pathlib
import subprocess
import sys
import tomllib

import jsonschema

root, program, report_sample = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
failures, counts = [], {}


@functools.cache
def validator(name):
    schema = json.loads((root / f"schemas/{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def validate(name, value, what):
    counts[name] = counts.get(name, 0) + 1
    for error in validator(name).iter_errors(value):
        failures.append(f"{what}: {error.json_path}: {error.message}")


def output(*command):
    return json.loads(subprocess.run(command, capture_output=True, check=False).stdout)


for example in sorted((root / "examples").rglob("*")):
    if example.suffix not in (".toml", ".json"):
        continue
    text = example.read_text(encoding="utf-8")
    value = tomllib.loads(text) if example.suffix == ".toml" else json.loads(text)
    validate("kernelmap", value, example.name)
    validate("check", output(program, "check", "--format", "json", example), example.name)
    for target in (["--device", "cpu"], ["--device", "cuda", "--capability", "9.0"]):
        plan = output(program, "plan", "--format", "json", *target, example)
        validate("plan", plan, example.name)
validate("plan", output(program, "plan", "--format", "json"), "the built-in mapping")
validate("report", output(report_sample), "a report")

# What golden cases expect, mistakes included.
for case in sorted((root / "tests").glob("*/golden/*.golden")) + sorted(
        (root / "tests/golden").glob("*.golden")):
    text = case.read_text(encoding="utf-8").partition("=== stdout\n")[2].partition("=== stderr")[0]
    if text.startswith('{\n  "format"'):  # SARIF has none; formats.py validates it
        value = json.loads(text)
        validate(value["format"].removeprefix("kernelmap-").partition("/")[0], value, case.name)

# Configs that the compiler refuses for their shape are refused by the schema too.
for wrong in ({"inherit_maping": True}, {"kernel_mapping": {"A": {"version": 3}}},
              {"kernel_mapping": {"A": {"cuda": {"cpu": "o/r:A"}}}}, {"on_fallback": "eror"},
              {"kernel_mapping": {"A": {"any": [""]}}},
              {"kernel_mapping": {"A": ["o/r:A", {"version": 1, "revision": "x"}]}}):
    if validator("kernelmap").is_valid(wrong):
        failures.append(f"the schema takes {wrong}")

if failures or any(counts.get(name, 0) == 0 for name in ("kernelmap", "plan", "check", "report", "diff")):
    sys.exit("\n".join(failures) or f"something was not validated: {counts}")
print(counts)
