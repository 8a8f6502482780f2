"""Same inputs, same bytes; and what OUT carries."""

import hashlib
import json
import os
import re
import shutil
import unittest
import zipfile

import torch

import km

MODELS = ["llama", "gemma.bf16", "gpt2", "shared_class.scripted", "inplace_input.traced"]


def entries(path):
    """Name, without the archive's own folder, and content; reading checks each CRC."""
    with zipfile.ZipFile(path) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Again(km.Case):
    def test_same_bytes(self):
        """From other folders, under other names, in other environments."""
        for name in MODELS:
            with self.subTest(model=name):
                self.check_same_bytes(km.model(name))

    def check_same_bytes(self, path):
        report = self.apply(path)
        first = self.out.read_bytes()
        self.assertEqual(report["model"], {"file": path.name, "sha256": sha256(path)})
        # Again, from another working directory, by a relative path.
        other = self.folder / "elsewhere"
        other.mkdir(exist_ok=True)
        done = km.run("apply", os.path.relpath(path, other), "-o", "again.pt", "--report", "r.json",
                      cwd=other, env={"LC_ALL": "C", "TZ": "Asia/Tokyo", "OMP_NUM_THREADS": "2"})
        self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual((other / "again.pt").read_bytes(), first)
        self.assertEqual((other / "r.json").read_text(), (self.folder / "report.json").read_text())
        # Under another path, and then under another name, which only the report shows.
        same_name, other_name = other / path.name, other / "renamed.pt"
        shutil.copy(path, same_name)
        shutil.copy(path, other_name)
        self.apply(same_name)
        self.assertEqual(self.out.read_bytes(), first)
        renamed = self.apply(other_name)
        self.assertEqual(renamed, {**report, "model": {**report["model"], "file": "renamed.pt"}})
        expected = entries(other / "again.pt")
        found = entries(self.out)
        inner = json.loads(found.pop("extra/kernelmap/report.json"))
        self.assertEqual(inner, renamed)
        expected.pop("extra/kernelmap/report.json")
        # A hash over the entries, that one too.
        found.pop(".data/serialization_id")
        expected.pop(".data/serialization_id")
        self.assertEqual(found, expected)

    def test_no_trace_of_this_machine(self):
        secret = self.folder / "a-folder-that-nobody-should-see"
        secret.mkdir()
        shutil.copy(km.model("llama"), secret / "model.pt")
        config = secret / "config.toml"
        config.write_text('[kernel_mapping]\nRMSNorm = "builtin:rms_norm"\n')
        out = secret / "out-name.pt"
        self.apply(secret / "model.pt", "--verify", config=config, out=out)
        contents = entries(out)
        contents[""] = out.read_bytes()
        report = (self.folder / "report.json").read_bytes()
        contents["report"] = report
        user = os.path.expanduser("~").encode()
        for name, data in contents.items():
            for word in (secret.name.encode(), str(self.folder).encode(), b"out-name", b"XXXXXX",
                         os.path.dirname(km.PROGRAM).encode(), str(km.ROOT).encode(), b"/tmp/",
                         user + b"/" if user != b"/" else b"/home/"):
                self.assertNotIn(word, data, name)
        self.assertIn(b'"file": "config.toml"', report)

    def test_in_place(self):
        """OUT may be MODEL."""
        self.apply(km.model("gpt2"))
        expected = entries(self.out)
        model = self.folder / "gpt2.pt"
        shutil.copy(km.model("gpt2"), model)
        self.apply(model, out=model)
        self.assertEqual(entries(model), expected)
        self.assert_same_model(km.model("gpt2"), model, km.inputs_for("gpt2"))
        self.assertEqual({p.name for p in self.folder.iterdir()}, {"gpt2.pt", "out.pt", "report.json"})

    def test_mode_of_out(self):
        self.apply(km.model("bert"))
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(self.out.stat().st_mode & 0o777, 0o666 & ~mask)

    def test_extra_files(self):
        module = km.load(km.model("my_rms_norm.scripted"))
        model = self.folder / "model.pt"
        extra = {"input.json": '{"shape": [2, 8], "vocab": 100}', "notes/licence.txt": "free",
                 "empty": "", "bytes": bytes(range(256))}
        torch.jit.save(module, str(model), _extra_files=dict(extra))
        self.apply(model)
        found = dict.fromkeys([*extra, "kernelmap/plan.json", "kernelmap/report.json"], "")
        torch.jit.load(str(self.out), _extra_files=found)
        for name, content in extra.items():
            self.assertEqual(found[name], content.encode() if isinstance(content, str) else content)
        plan = json.loads(found["kernelmap/plan.json"])
        self.validate("plan", plan)
        self.assertEqual(plan["format"], "kernelmap-plan/1")
        self.assertNotIn("sites", plan)
        report = json.loads(found["kernelmap/report.json"])
        self.validate("report", report)
        self.assertEqual(report, json.loads((self.folder / "report.json").read_text()))

    def test_a_second_time(self):
        for name in MODELS:
            with self.subTest(model=name):
                path = km.model(name)
                first = self.apply(path)
                once = self.folder / "once.pt"
                shutil.copy(self.out, once)
                again = self.apply(once)
                self.assertIn("nothing changes", self.done.stderr)
                self.assertEqual(self.out.read_bytes(), once.read_bytes())
                self.assertEqual(again["summary"]["replaced"], 0)
                # What was replaced, the kernel computes already; what was not, still is not.
                self.assertEqual(km.actions(again, "fallback"), km.actions(first, "fallback"))
                for site in first["sites"]:
                    if site["action"] == "replaced":
                        found = [s["action"] for s in again["sites"]
                                 if (s["path"], s["name"]) == (site["path"], site["name"])]
                        self.assertEqual(found, ["already"], site["path"])
                # In place, and with the same said in other words.
                config = self.config('inherit_mapping = true  # the default\n')
                self.apply(once, config=config, out=once)
                self.assertEqual(once.read_bytes(), self.out.read_bytes())

    def test_another_plan(self):
        path = km.model("llama")
        self.apply(path)
        once = self.folder / "once.pt"
        shutil.copy(self.out, once)
        self.out.unlink()
        config = self.config('[kernel_mapping]\nRMSNorm = ""\n')
        self.apply(once, config=config, code=1)
        self.assertIn(sha256(path), self.assert_one_error(self.done, 1))
        self.assertFalse(self.out.exists())
        self.apply(once, "--device", "cuda", code=1)
        self.assertIn(sha256(path), self.assert_one_error(self.done, 1))

    def test_depfile(self):
        config = self.config("# nothing\n", "a config.toml")
        model = self.folder / "a model$.pt"
        shutil.copy(km.model("bert"), model)
        depfile = self.folder / "out.d"
        self.apply(model, "--depfile", depfile, config=config)
        escaped = [re.sub(r"([ #\\])", r"\\\1", str(p)).replace("$", "$$")
                   for p in (self.out, config, model)]
        self.assertEqual(depfile.read_text(), f"{escaped[0]}: {escaped[1]} {escaped[2]}\n")


if __name__ == "__main__":
    unittest.main()
