"""The configs of transformers' and kernels' documentation, in TOML and JSON: both say the same, and what they say is
what the pages say (twins.toml). Every pair is in the table of the folder's README.
"""

import json
import os
import pathlib
import re
import shutil
import tempfile
import tomllib
import unittest

import compiled
import kernelmap
from python_forms import FORMS, WITHOUT_FORM

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
FOLDERS = ("transformers_docs", "kernels_docs")
CASES = tomllib.loads((HERE / "twins.toml").read_text(encoding="utf-8"))["case"]
# Their publisher is a placeholder, which nobody trusts.
UNTRUSTED = {f"transformers_docs/{name}" for name in ("fusion", "sources", "writing_fusion", "writing_parameters")}
SETTINGS = ("twin", "args", "environment", "only", "decision", "interval", "modules", "reason")


def configs():
    paths = (path for folder in FOLDERS for path in (EXAMPLES / folder).iterdir())
    return sorted(path for path in paths if path.suffix in (".toml", ".json"))


def plan(path, case, more=()):
    with tempfile.TemporaryDirectory() as empty:
        environment = {"HF_HOME": empty, "HF_HUB_CACHE": os.path.join(empty, "hub"), **case.get("environment", {})}
        args = ["plan", "--format", "json", "--torch", "2.13", *more, *case.get("args", []), str(path)]
        code, out = compiled.execute(args, environment)
    assert code == 0, (path, out)
    return json.loads(out)


def without_places(plan):
    """A plan without what differs between twins by nature: file, hash and positions."""
    plan = dict(plan, config=None)
    text = json.dumps([dict(entry, source=None) for entry in plan.pop("entries")])
    return plan, re.sub(r"\w+\.(toml|json):\d+", "FILE", text)


def wanted(entry):
    found = compiled.chosen(entry)
    if not found:
        return ""
    repo, revision, name = found
    if "/" in repo and repo.startswith(".."):  # a local path, which plans give relative to the config
        repo = "/" + re.sub(r"^(\.\./)+", "", repo)
    return [repo + ("@" + revision if revision else "") + (":" + name if name else ""), entry["mode"]]


class Twins(unittest.TestCase):
    def test_every_config_has_a_twin_a_case_and_a_place_in_the_table(self):
        names = {f"{path.parent.name}/{path.stem}" for path in configs()}
        for name in names:
            for suffix in (".toml", ".json"):
                self.assertTrue((EXAMPLES / (name + suffix)).is_file(), name + suffix)
        self.assertEqual(names, {case["twin"] for case in CASES})
        for folder in FOLDERS:
            table = (EXAMPLES / folder / "README.md").read_text(encoding="utf-8")
            self.assertEqual({f"{folder}/{name}" for name in re.findall(r"\| `(\w+)` \|", table)},
                             {name for name in names if name.startswith(folder)})

    def test_check_is_clean(self):
        for path in configs():
            with self.subTest(path=path.name):
                found = json.loads(compiled.execute(["check", "--format", "json", str(path)])[1])["diagnostics"]
                untrusted = f"{path.parent.name}/{path.stem}" in UNTRUSTED
                self.assertEqual({d["code"] for d in found}, {"KM0244"} if untrusted else set())

    def test_toml_and_json_give_the_same_plan(self):
        for case in CASES:
            with self.subTest(twin=case["twin"], args=case.get("args")):
                toml, js = (plan(EXAMPLES / (case["twin"] + suffix), case) for suffix in (".toml", ".json"))
                self.assertEqual(without_places(toml), without_places(js))

    def test_what_python_dumps_gives_the_same_plan(self):
        self.assertEqual(set(FORMS) | WITHOUT_FORM, {f"{path.parent.name}/{path.stem}" for path in configs()})
        for case in CASES:
            if case["twin"] in WITHOUT_FORM:
                continue
            with self.subTest(twin=case["twin"], args=case.get("args")):
                twin = EXAMPLES / (case["twin"] + ".toml")
                # A KernelConfig has no target: flags give the twin's.
                target = tomllib.loads(twin.read_text(encoding="utf-8")).get("target", {})
                flags = [word for key, value in target.items() if f"--{key}" not in case.get("args", [])
                         for word in (f"--{key}", value)]
                config, arguments = FORMS[case["twin"]]
                with tempfile.TemporaryDirectory() as folder:  # one for both: local kernels are named relative to it
                    written = pathlib.Path(shutil.copy(twin, folder))
                    dumped = written.with_suffix(".json")
                    kernelmap.dump(config, dumped, **arguments)
                    self.assertEqual(without_places(plan(dumped, case, flags)), without_places(plan(written, case)))

    def test_plans_say_what_the_pages_say(self):
        for case in CASES:
            with self.subTest(twin=case["twin"], args=case.get("args")):
                found = plan(EXAMPLES / (case["twin"] + ".toml"), case)
                entries = {entry["name"]: entry for entry in found["entries"]}
                names = {name for name in case if name not in SETTINGS}
                self.assertTrue(names)
                self.assertEqual({name: wanted(entries[name]) for name in names}, {name: case[name] for name in names})
                if case.get("only"):
                    self.assertEqual(set(entries), names)
                for key in ("decision", "interval", "modules"):
                    for name, value in case.get(key, {}).items():
                        self.assertEqual(entries[name][key], value)
                for name, code in case.get("reason", {}).items():
                    self.assertEqual(entries[name]["reason"]["code"], code)


if __name__ == "__main__":
    unittest.main()
