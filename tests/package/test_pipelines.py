"""test_pipelines.py KERNELMAP SOURCE: what examples/pipelines/ says, done in a scratch repository."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

KERNELMAP, SOURCE = sys.argv[1:3]
PIPELINES = pathlib.Path(SOURCE, "examples", "pipelines")
QUIET = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "KERNELMAP_TORCH": "2.13.0"}
STOCK = '[kernel_mapping]\nRMSNorm = "builtin:rms_norm"\n'


def workflow_commands():
    """The two commands of the workflow that call kernelmap."""
    text = (PIPELINES / "github-actions.yml").read_text(encoding="utf-8")
    check = re.search(r"- run: (kernelmap check .*)", text).group(1)
    diff = textwrap.dedent(re.search(r"run: \|\n((?: {10}.*\n)+)", text).group(1))
    return check, diff


class Pipelines(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        here = {key: value for key, value in os.environ.items() if key not in ("MODELS", "OUT", "CONFIG", "KERNELMAP")}
        self.env = {**here, **QUIET, "GITHUB_BASE_REF": "main", "HF_HOME": str(self.folder / "hf"),
                    "PATH": f"{os.path.dirname(KERNELMAP)}:{os.environ['PATH']}"}

    def shell(self, command, **env):
        return subprocess.run(["bash", "-e", "-c", command], cwd=self.folder, env={**self.env, **env},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def review(self, changed):
        """Exit codes of check and diff, and the comment, when the config becomes `changed`."""
        if not (self.folder / ".git").exists():
            (self.folder / "kernels.toml").write_text(STOCK)
            done = self.shell("git init -q -b main . && git add kernels.toml && git -c user.name=a -c user.email=a@b commit -qm one"
                              " && git update-ref refs/remotes/origin/main HEAD")
            self.assertEqual(done.returncode, 0, done.stdout)
        (self.folder / "kernels.toml").write_text(changed)
        check, diff = (self.shell(command) for command in workflow_commands())
        return check.returncode, diff.returncode, (self.folder / "comment.md").read_text(encoding="utf-8")

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_workflow(self):
        self.assertEqual(self.review("# moved\n\n" + STOCK)[:2], (0, 0))
        fine = self.review(STOCK + 'attention = ""\n')
        self.assertEqual(fine[:2], (0, 0))
        self.assertIn("`attention`", fine[2])
        falls = self.review(STOCK.replace("builtin:rms_norm", "kernels-community/none:Norm"))
        self.assertEqual(falls[:2], (0, 1))
        self.assertIn("newly fall", falls[2])
        self.assertLess(falls[2].index("trust widened"), falls[2].index("not_found"))
        self.assertEqual(self.review(STOCK.replace("builtin:rms_norm", "kernels-community/none:Norm")), falls)

    @unittest.skipUnless(shutil.which("make"), "no make")
    def test_makefile(self):
        (self.folder / "models").mkdir()
        (self.folder / "kernels.toml").write_text(STOCK)
        for name in ("llama", "gpt2"):
            shutil.copy(f"{SOURCE}/tests/models/{name}.pt", self.folder / "models")
        make = f"make -f {PIPELINES}/Makefile"
        self.assertEqual(self.shell(make).stdout.count("kernelmap apply"), 2)
        self.assertEqual(json.loads((self.folder / "rewritten/llama.json").read_text())["summary"]["replaced"], 11)
        self.assertIn("Nothing to be done", self.shell(make).stdout)
        os.utime(self.folder / "models/gpt2.pt")
        self.assertEqual(self.shell(make).stdout.count("kernelmap apply"), 1)

    def test_shards(self):
        (self.folder / "models").mkdir()
        (self.folder / "kernels.toml").write_text(STOCK)
        for name in ("llama", "gpt2", "bert"):
            shutil.copy(f"{SOURCE}/tests/models/{name}.pt", self.folder / "models")
        made = []
        for shard in ("0", "1"):
            out = self.folder / f"out{shard}"
            done = self.shell(f"{PIPELINES}/shard.sh", MODELS="models", OUT=str(out), CONFIG="kernels.toml",
                              SHARDS="2", JOB_COMPLETION_INDEX=shard)
            self.assertEqual(done.returncode, 0, done.stdout)
            made.append(sorted(path.name for path in out.glob("*.pt")))
        self.assertEqual(made, [["bert.pt", "llama.pt"], ["gpt2.pt"]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
