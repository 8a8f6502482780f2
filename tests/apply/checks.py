"""What holds of every archive, whatever is replaced in it."""

import json

import km

# Names of the default mapping, and the classes that answer to one without ending with it.
LAYERS = {
    "RMSNorm": [],
    "GemmaRMSNorm": ["Gemma2RMSNorm", "Gemma3RMSNorm"],
    "SwiGLUMLP": [],
    "GeGLUMLP": [],
    "NewGELU": ["NewGELUActivation"],
}


def names_of(class_name):
    return {name for name, classes in LAYERS.items()
            if class_name.endswith(name) or class_name in classes}


class Case(km.Case):
    def check_sites(self, path, report):
        modules = {p: m.original_name for p, m in km.load(path).named_modules()}
        by_path = {}
        for site in report["sites"]:
            self.assertIn(site["path"], modules)
            self.assertEqual(site["class"], modules[site["path"]])
            by_path.setdefault(site["path"], []).append(site)
        for module, class_name in modules.items():
            answers = names_of(class_name)
            if answers:
                sites = by_path.get(module, [])
                self.assertEqual(len(sites), 1, f"{module} of class {class_name}")
                self.assertLessEqual(answers, {sites[0]["name"], *sites[0]["also"]})
        for site in report["sites"]:
            replaced = site["action"] == "replaced"
            self.assertEqual(site["proof"], "semantic" if replaced else None)
            self.assertEqual(site["reason"] is None, site["action"] in ("replaced", "already"))
            self.assertEqual(site["members"], [])
            if replaced:
                self.assertTrue(site["kernel"]["ref"].startswith("builtin:"))
                self.assertRegex(site["model_source"], r"^\w+\.py:\d+$")
        for action, number in report["summary"].items():
            self.assertEqual(number, sum(km.actions(report, action).values()), action)

    def check_plans(self, path, report):
        """`plan` says what apply then does."""
        proved = km.run("plan", "--model", path, "--prove", "--format", "json")
        self.assertEqual(proved.code, 0, proved.stderr)
        proved = json.loads(proved.stdout)
        self.validate("plan", proved)
        self.assertEqual(proved["sites"], report["sites"])
        by_class = km.run("plan", "--model", path, "--format", "json")
        self.assertEqual(by_class.code, 0, by_class.stderr)
        by_class = json.loads(by_class.stdout)
        self.validate("plan", by_class)
        candidates = {s["path"] for s in by_class["sites"] if s["action"] == "candidate"}
        modules = {p: m.original_name for p, m in km.load(path).named_modules()}
        for site in report["sites"]:
            # Code that a class name does not announce is found by proof only.
            if site["action"] == "replaced" and names_of(modules[site["path"]]):
                self.assertIn(site["path"], candidates)

    def check_outputs(self, name, path):
        verified = km.run("verify", path, self.out, "--format", "json")
        self.assertEqual(verified.code, 0, verified.stderr + verified.stdout)
        verified = json.loads(verified.stdout)
        self.validate("verify", verified)
        self.assertTrue(verified["output"]["deterministic"])
        self.assert_outputs(name)

    def check(self, name):
        """Applies to the model and returns the report."""
        path = km.model(name)
        report = self.apply(path)
        self.check_sites(path, report)
        self.check_plans(path, report)
        self.check_outputs(name, path)
        return report
