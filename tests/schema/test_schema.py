"""The config schema and the checker agree.

good/: both take it. bad/: both refuse it. semantic/: the schema takes it, the checker refuses it: what no schema can see,
such as two intervals that are the same. And over small changes to every good config: what the schema refuses, the
checker refuses too, so that an editor never marks what kernelmap takes.

test_schema.py ROOT; KM_PROGRAM names the program.
"""

import copy
import json
import pathlib
import sys
import tempfile
import tomllib
import unittest

import compiled
import jsonschema

ROOT = pathlib.Path(sys.argv.pop()).resolve()
HERE = ROOT / "tests/schema"
SCHEMA = json.loads((ROOT / "schemas/kernelmap.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def empty_layer(config):
    """Where the checker is known to be silent: an empty name or class of [[model.layer]] is left out."""
    layers = config.get("model", {}).get("layer", []) if isinstance(config.get("model", {}), dict) else []
    return isinstance(layers, list) and any(isinstance(layer, dict) and "" in layer.values() for layer in layers)


def read(path):
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def checked(paths):
    """The codes of errors of many configs in one run, by file name."""
    out = compiled.execute(["check", "--format", "json", *map(str, paths)])[1]
    errors = {path.name: [] for path in paths}
    for found in json.loads(out)["diagnostics"]:
        if found["severity"] == "error":
            errors[found["file"]].append(found["code"])
    return errors


def changes(node):
    """Copies of a config, each with one small change."""
    places = [()]
    while places:
        place = places.pop()
        value = node
        for step in place:
            value = value[step]
        steps = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        for step in steps:
            for other in (3, True, "", "x", "o/r:A", [], {}, ["o/r:A", {}], {"cuda": "o/r:A"}):
                yield changed(node, place, step, lambda parent, step=step, other=other: parent.__setitem__(step, other))
            yield changed(node, place, step, lambda parent, step=step: parent.pop(step))
            if isinstance(value, dict):
                for key in ("kernel", "any", "cuda", "inference", "x", "cuda>=8.0"):
                    yield changed(node, place, step,
                                  lambda parent, step=step, key=key: parent.__setitem__(key, parent.pop(step)))
            else:
                yield changed(node, place, step, lambda parent, step=step: parent.append(parent[step]))
            places.append((*place, step))


def changed(node, place, step, change):
    new = copy.deepcopy(node)
    parent = new
    for part in place:
        parent = parent[part]
    change(parent)
    return new


class Agreement(unittest.TestCase):
    def corpus(self, kind):
        paths = sorted((HERE / kind).iterdir())
        self.assertTrue(paths)
        return paths, checked(paths)

    def test_good(self):
        paths, errors = self.corpus("good")
        for path in paths:
            with self.subTest(path=path.name):
                self.assertEqual([error.message for error in VALIDATOR.iter_errors(read(path))], [])
                self.assertEqual(errors[path.name], [])

    def test_bad(self):
        paths, errors = self.corpus("bad")
        for path in paths:
            with self.subTest(path=path.name):
                self.assertFalse(VALIDATOR.is_valid(read(path)))
                self.assertTrue(errors[path.name])

    def test_semantic(self):
        paths, errors = self.corpus("semantic")
        for path in paths:
            with self.subTest(path=path.name):
                self.assertEqual([error.message for error in VALIDATOR.iter_errors(read(path))], [])
                self.assertTrue(errors[path.name])

    def test_what_the_schema_refuses_the_checker_refuses(self):
        with tempfile.TemporaryDirectory() as folder:
            refused, seen = [], set()
            for path in sorted((HERE / "good").iterdir()):
                for config in changes(read(path)):
                    text = json.dumps(config)
                    if text in seen or empty_layer(config) or VALIDATOR.is_valid(config):
                        continue
                    seen.add(text)
                    refused.append(pathlib.Path(folder) / f"{len(refused)}.json")
                    refused[-1].write_text(text, encoding="utf-8")
            self.assertGreater(len(refused), 500)
            errors = checked(refused)
            self.assertEqual([path.read_text(encoding="utf-8") for path in refused if not errors[path.name]], [])


class Descriptions(unittest.TestCase):
    def resolved(self, schema):
        return SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def test_every_key_has_a_description(self):
        def walk(schema, where):
            if not isinstance(schema, dict):
                return
            for group in ("properties", "patternProperties"):
                for key, value in schema.get(group, {}).items():
                    text = value.get("description") or self.resolved(value).get("description", "")
                    self.assertGreaterEqual(len(text), 8, f"{where}.{key}")
                    self.assertRegex(text, r"[.…]$", f"{where}.{key}")
            for key, value in schema.items():
                if key in ("properties", "patternProperties", "$defs"):
                    for name, part in value.items():
                        walk(part, f"{where}.{name}")
                elif isinstance(value, list):
                    for part in value:
                        walk(part, where)
                else:
                    walk(value, where)

        walk(SCHEMA, "config")

    def test_defaults_are_those_of_the_compiler(self):
        header = (ROOT / "compiler/config.h").read_text(encoding="utf-8")
        self.assertIn("Setting<bool> inherit_mapping{true", header)
        self.assertIn('default_mapping{"builtin"', header)
        self.assertIn('on_fallback{"report"', header)
        self.assertIn('trusted_publishers{{"kernels-community"}', header)
        defaults = {key: value.get("default") for key, value in SCHEMA["properties"].items()}
        self.assertEqual((defaults["inherit_mapping"], defaults["default_mapping"], defaults["on_fallback"]),
                         (True, "builtin", "report"))
        self.assertEqual(defaults["trusted_publishers"], ["kernels-community"])


if __name__ == "__main__":
    unittest.main()
