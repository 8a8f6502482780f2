"""What is generated from the table of commands works in the shells that are here, and is all of the table."""

import re
import shutil
import subprocess
import tempfile
import unittest

from program import PROGRAM, ToolTest


class Completions(ToolTest):
    def commands(self):
        return re.findall(r"^  (\w+) ", self.run_it("--help").decode(), re.M)

    def complete(self, *words, cwd=None):
        """What bash offers for the last word."""
        script = ('eval "$("$0" completions bash)"; COMP_WORDS=(kernelmap "$@"); COMP_CWORD=$#; _kernelmap; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-u", "-c", script, PROGRAM, *words], capture_output=True, text=True, cwd=cwd,
                              timeout=60, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(self.complete("")[:-2], self.commands())
        self.assertEqual(self.complete("com"), ["completions"])
        self.assertEqual(self.complete("check", "--format", "s"), ["sarif"])
        self.assertEqual(self.complete("diff", "a", "b", "--format", ""), ["text", "markdown", "html", "json"])
        self.assertEqual(self.complete("kernels", "ch"), ["check"])
        self.assertEqual(self.complete("completions", "z"), ["zsh"])
        self.assertEqual(self.complete("nothing", "--"), [])
        with tempfile.TemporaryDirectory() as folder:
            open(f"{folder}/model.pt", "wb").close()
            self.assertEqual(self.complete("apply", "mod", cwd=folder), ["model.pt"])
            self.assertEqual(self.complete("plan", "--model", "mod", cwd=folder), ["model.pt"])

    def test_bash_has_every_option(self):
        own = {"apply", "verify", "bench"}  # whose --help is the other program's
        for command in self.commands():
            with self.subTest(command=command):
                offered = set(self.complete(command, "-"))
                if command in own:
                    self.assertGreater(len(offered), 4)
                    continue
                text = self.run_it(command, "--help").decode()
                written = set(re.findall(r"^  (?:-h,)?(--?[a-z][a-z-]*)", text, re.M))
                self.assertEqual(offered, written)

    def test_other_shells(self):
        for shell in ("zsh", "fish"):
            script = self.run_it("completions", shell)
            for command in self.commands():
                self.assertIn(command, script.decode())
            if shutil.which(shell):
                done = subprocess.run([shell, "-n"], input=script, capture_output=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.run_it("completions", "bsh", code=2)
        self.assertIn("did you mean `bash`?", self.errors)

    def test_man(self):
        page = self.run_it("man")
        for command in self.commands():
            self.assertIn(f".SS {command}\n", page.decode())
        page.decode("ascii")
        checks = {"groff": ["groff", "-man", "-ww", "-Tascii"], "mandoc": ["mandoc", "-Tlint", "-Wwarning"]}
        for program, check in checks.items():
            if shutil.which(program):
                done = subprocess.run(check, input=page, capture_output=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""), program)
                if program == "groff":
                    text = re.sub(rb"\x1b\[\d*m|.\x08", b"", done.stdout)
                    self.assertIn(b"--run-archive-code", text)


if __name__ == "__main__":
    unittest.main()
