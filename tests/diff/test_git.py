"""kernelmap diff with git: operands of its history, as its external diff, and inspect as its textconv."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.path.abspath(os.environ["KM_PROGRAM"])
MODELS = pathlib.Path(__file__).resolve().parents[1] / "models"
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH")},
               "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HF_HOME": "/nowhere",
               "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
               "GIT_COMMITTER_EMAIL": "a@b", "GIT_CEILING_DIRECTORIES": tempfile.gettempdir()}
OLD = '[kernel_mapping]\nRMSNorm = "builtin:rms_norm"\n'
NEW = 'trusted_publishers = ["somebody"]\n[kernel_mapping]\nRMSNorm = ""\n'
SAID = ("trust widened and narrowed; 1 name changed\n"
        "trust widened and narrowed\n"
        "  + trusted_publishers: somebody\n"
        "  - trusted_publishers: kernels-community\n"
        "for cpu, inference, torch 2.13\n"
        "  names\n"
        "    ~ RMSNorm: builtin:rms_norm -> disabled\n")
TARGET = ("--target", "cpu", "--torch", "2.13")


@unittest.skipUnless(shutil.which("git"), "no git")
class Git(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.git("init", "-q")
        self.write("conf/k.toml", OLD)
        self.commit("old")
        self.write("conf/k.toml", NEW)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())

    def run_program(self, program, *args, cwd="", env=None):
        return subprocess.run([program, *args], cwd=self.root / cwd, capture_output=True, text=True,
                              env={**ENVIRONMENT, **(env or {})}, timeout=60, check=False)

    def git(self, *args, code=0):
        done = self.run_program("git", *args)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def commit(self, message):
        self.git("add", ".")
        self.git("commit", "-q", "-m", message)

    def diff(self, *args, **kwargs):
        return self.run_program(PROGRAM, "diff", *args, *TARGET, **kwargs)

    def use_driver(self, more=""):
        self.write(".gitattributes", "*.toml diff=kernelmap\n*.json diff=kernelmap\n*.pt diff=torchscript\n")
        self.git("config", "diff.kernelmap.command", f"'{PROGRAM}' diff --git-driver {' '.join(TARGET)} {more} --")
        self.git("config", "diff.torchscript.textconv", f"f() {{ '{PROGRAM}' inspect \"$1\" | sed 1d; }}; f")

    # operands

    def test_a_config_of_the_history(self):
        done = self.diff("git:HEAD:conf/k.toml", "conf/k.toml")
        self.assertEqual((done.returncode, done.stdout), (0, "git:HEAD:conf/k.toml -> k.toml: " + SAID), done.stderr)

    def test_from_a_folder_and_from_the_index(self):
        self.git("add", ".")
        for old, new in (("git:HEAD:conf/k.toml", "git::conf/k.toml"), ("git:HEAD:./k.toml", "k.toml")):
            done = self.diff(old, new, cwd="conf")
            self.assertEqual((done.returncode, done.stdout.partition(": ")[2]), (0, SAID), done.stderr)

    def test_local_kernels_are_near_to_the_path(self):
        # Their paths are printed relative to the config, wherever it was read from.
        self.write("conf/k.toml", f'use_local_kernel = true\n[kernel_mapping]\nReLU = "{self.root}/kernels/relu:ReLU"\n')
        self.commit("local")
        for cwd in ("", "conf"):
            done = self.diff("--format", "json", "git:HEAD~1:conf/k.toml", "git:HEAD:conf/k.toml", cwd=cwd)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(str(self.root), done.stdout)
        self.write("conf/k.toml", f'use_local_kernel = true\n[kernel_mapping]\nReLU = "{self.root}/kernels/relu:SiLU"\n')
        done = self.diff("git:HEAD:conf/k.toml", "conf/k.toml")
        self.assertNotIn(str(self.root), done.stdout + done.stderr)

    def test_clear_errors(self):
        for operand, said in (("git:nope:conf/k.toml", "invalid object name 'nope'"),
                              ("git:HEAD:nope.toml", "path 'nope.toml' does not exist in 'HEAD'\nhelp: "),
                              ("git:HEAD:conf", "not a file"), ("git:HEAD", "write git:REVISION:PATH"),
                              ("git:--output=x:conf/k.toml", "no revision begins with `-`")):
            with self.subTest(operand):
                done = self.diff(operand, "conf/k.toml")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("kernelmap: error: cannot read `", done.stderr)
                self.assertIn(said, done.stderr)
        self.assertEqual(sorted(p.name for p in self.root.iterdir()), [".git", "conf"])

    def test_no_repository_and_no_git(self):
        shutil.rmtree(self.root / ".git")
        self.assertIn("not a git repository", self.diff("git:HEAD:conf/k.toml", "conf/k.toml").stderr)
        done = self.diff("git:HEAD:conf/k.toml", "conf/k.toml", env={"PATH": "/nowhere"})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("cannot run git: No such file or directory", done.stderr)

    def test_no_shell_is_run(self):
        done = self.diff("git:$(touch gone)`touch gone`;touch gone:x", "conf/k.toml")
        self.assertEqual(done.returncode, 2)
        self.assertFalse((self.root / "gone").exists())

    def test_mistakes_are_shown_by_the_operand(self):
        self.write("conf/k.toml", "inherit_maping = true\n")
        self.commit("mistake")
        done = self.diff("git:HEAD:conf/k.toml", "git:HEAD~1:conf/k.toml")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith("git:HEAD:conf/k.toml:1:1: error[KM0201]"), done.stderr)

    # as git's external diff

    def test_git_diff_shows_what_a_config_does(self):
        self.use_driver()
        self.assertEqual(self.git("diff"), "conf/k.toml -> conf/k.toml: " + SAID)
        self.commit("new")
        self.assertEqual(self.git("show", "--ext-diff", "--format=", "--", "conf"), "conf/k.toml -> conf/k.toml: " + SAID)
        self.assertIn("+RMSNorm", self.git("show", "--format=", "--", "conf"))  # as git does, unless asked
        self.git("checkout", "-q", "HEAD~1", "--", "conf")
        self.write("conf/k.toml", "# moved\n\n" + OLD)
        self.assertEqual(self.git("diff"), "conf/k.toml -> conf/k.toml: no difference\n")

    def test_git_diff_of_added_removed_and_renamed_configs(self):
        self.use_driver()
        self.git("checkout", "-q", "conf/k.toml")
        self.write("new.toml", NEW)
        self.git("add", ".")
        self.git("rm", "-q", "conf/k.toml")
        out = self.git("diff", "--cached", "--no-renames", "--", "*.toml")
        self.assertIn("conf/k.toml -> built-in mapping: ", out)
        self.assertIn("built-in mapping -> new.toml: trust widened and narrowed", out)
        self.write("new.toml", OLD + "\n")
        self.git("add", ".")
        self.assertEqual(self.git("diff", "--cached", "-M50%", "--", "*.toml"), "conf/k.toml -> new.toml: no difference\n")

    def test_git_diff_of_a_report(self):
        self.use_driver()
        sites = '{"format": "kernelmap-report/1", "target": {"device": "cpu", "mode": "inference", "torch": "2.13"}, "sites": [%s]}'
        site = '{"path": "norm", "name": "RMSNorm", "action": "%s", "kernel": null, "reason": {"code": "dtype"}}'
        self.write("r.json", sites % (site % "replaced"))
        self.commit("report")
        self.write("r.json", sites % (site % "fallback"))
        self.assertIn("1 site newly falls back", self.git("diff", "--", "r.json"))

    def test_what_cannot_be_compared_is_shown_as_git_does(self):
        self.use_driver()
        self.write("other.toml", 'a = 1\n')
        self.write("cut.json", '{"format": "kernelmap-rep')
        self.commit("other")
        self.write("other.toml", 'a = 2\n')
        self.write("cut.json", '{"format": 1')
        out = self.git("diff")
        for line in ("-a = 1\n", "+a = 2\n", '-{"format": "kernelmap-rep\n', '+{"format": 1\n'):
            self.assertIn(line, out)

    def test_unmerged(self):
        done = self.run_program(PROGRAM, "diff", "--git-driver", "--", "a.toml")
        self.assertEqual((done.returncode, done.stdout), (0, "unmerged: a.toml\n"))
        done = self.run_program(PROGRAM, "diff", "--git-driver", "--", "a.toml", "b.toml")
        self.assertEqual(done.returncode, 2)

    def test_colour_where_git_pages(self):
        self.use_driver()
        for variables, coloured in (({"GIT_PAGER_IN_USE": "true"}, True), ({}, False),
                                    ({"GIT_PAGER_IN_USE": "true", "NO_COLOR": "1"}, False)):
            out = self.run_program("git", "--no-pager", "diff", env=variables).stdout
            self.assertEqual("\033[" in out, coloured, variables)

    # inspect as a textconv

    def test_textconv_of_archives(self):
        self.use_driver()
        shutil.copy(MODELS / "llama.pt", self.root / "m.pt")
        self.commit("model")
        shutil.copy(MODELS / "qwen3.pt", self.root / "m.pt")
        out = self.git("diff", "--", "m.pt")
        self.assertRegex(out, r"(?m)^-.* LlamaForCausalLM$")
        self.assertRegex(out, r"(?m)^\+.* Qwen3ForCausalLM$")
        self.assertNotIn("modules, archive", out)


if __name__ == "__main__":
    unittest.main()
