"""Nothing that a config, a repository, a lock file or an operand holds steers the terminal or forges a line."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unicodedata
import unittest

import program

sys.path.insert(0, str(program.ROOT / "tests" / "golden"))
import hub  # noqa: E402

BAD = "x\x1b[31m\x07\r\u202e\u009b3\nforged"
TOML = json.dumps(BAD)  # its escapes are those of TOML, too


def config(*lines):
    return "\n".join(['trusted_publishers = ["good"]', "[kernel_mapping]", *lines, ""])


class TerminalTest(program.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)

    def say(self, *args, stdin="", shown=True):
        """All that a command prints. `shown`: that what is hostile is among it."""
        environment = {**program.ENVIRONMENT, "HF_HUB_CACHE": str(self.here / "hub"), "HF_HUB_OFFLINE": "1"}
        done = subprocess.run([program.PROGRAM, *map(str, args)], input=stdin.encode(), cwd=self.here,
                              capture_output=True, env=environment, timeout=60, check=False)
        self.assertIn(done.returncode, (0, 1, 2), args)
        text = (done.stdout + done.stderr).decode()
        for line in text.split("\n"):
            self.assertFalse(line.lstrip().startswith("forged"), (args, text))
            steers = [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
            self.assertFalse(steers, (args, text))
        self.assertEqual("forged" in text, shown, (args, text))
        return done.stdout

    def repository(self, files, name="good/relu", ref="v1"):
        folder = self.here / "hub" / ("kernels--" + name.replace("/", "--"))
        hub.write(folder / "refs" / ref, hub.commit("a"))
        for path, text in files.items():
            hub.write(folder / "snapshots" / hub.commit("a") / "build" / hub.VARIANT / path, text)

    def test_names_of_a_config(self):
        text = config(f'{TOML} = "good/relu:ReLU"')
        (self.here / "c.toml").write_text(text)
        self.say("plan", "c.toml")
        self.say("explain", "c.toml", BAD)
        entries = json.loads(self.say("plan", "c.toml", "--format", "json"))["entries"]
        self.assertIn(BAD, [entry["name"] for entry in entries])

    def test_paths_of_a_config(self):
        (self.here / "c.toml").write_text(
            "use_local_kernel = true\n" + config(f"ReLU = {json.dumps('/nowhere/' + BAD + ':ReLU')}"))
        for command in (["plan", "c.toml"], ["explain", "c.toml", "ReLU"], ["lock", "c.toml"]):
            self.say(*command)

    def test_dependencies_of_a_repository(self):
        self.repository(hub.build(**{"kernel-depends": [{"repo-id": "good/" + BAD, "version": 1}]}))
        (self.here / "c.toml").write_text(config('ReLU = "good/relu@v1:ReLU"'))
        for command in (["plan", "c.toml"], ["explain", "c.toml", "ReLU"], ["fetch", "c.toml"],
                        ["kernels", "info", "good/relu"], ["kernels", "check", "good/relu"]):
            self.say(*command, shown=command[1] != "check")

    def test_texts_of_a_binding(self):
        for binding in (f'repo = "good/relu"\n{TOML} = 1', f'repo = "good/relu"\n[[python_only]]\nwhy = {TOML}',
                        'repo = "good/relu"\n'
                        f'[[kernel]]\nname = "ReLU"\n[[kernel.implements]]\nlayer = {TOML}\nreferences = ["x"]\n'
                        'source = "def forward(x): return x"'):
            files = hub.build()
            files["kernelmap.toml"] = binding
            listed = json.loads(files["metadata.json"])
            listed["digest"]["files"]["kernelmap.toml"] = hub.digest(binding)
            files["metadata.json"] = json.dumps(listed)
            self.repository(files)
            (self.here / "c.toml").write_text(config('ReLU = "good/relu@v1:ReLU"'))
            for command in (["plan", "c.toml"], ["explain", "c.toml", "ReLU"], ["kernels", "check", "good/relu"],
                            ["kernels", "info", "good/relu"], ["kernels", "list"]):
                self.say(*command, shown=command[-1] != "list" and ("why" not in binding or "kernels" not in command))

    def test_a_lock_file_of_another_config(self):
        (self.here / "c.toml").write_text(config('ReLU = "good/relu@v1:ReLU"'))
        self.say("lock", "c.toml", shown=False)
        lock = json.loads((self.here / "kernelmap.lock").read_text())
        lock["config"] = BAD
        (self.here / "kernelmap.lock").write_text(json.dumps(lock))
        self.say("lock", "c.toml")
        self.say("check", "c.toml", "--locked")

    def test_operands(self):
        for command in (["kernels", "check", "./" + BAD], ["kernels", BAD], ["kernels", "info", "./" + BAD], [BAD],
                        ["explain", BAD], ["check", BAD], ["plan", BAD], ["diff", BAD, BAD], ["inspect", BAD],
                        ["report", BAD], ["fmt", BAD], ["lock", BAD], ["fetch", BAD], ["plan", "--" + BAD],
                        ["plan", "--device", BAD], ["check", "-o", "/nowhere/" + BAD, "-"]):
            with self.subTest(command=command):
                self.say(*command)
        (self.here / BAD).write_text(config())
        for command in (["check", BAD], ["plan", BAD], ["fmt", "--check", BAD]):
            self.say(*command)


if __name__ == "__main__":
    unittest.main()
