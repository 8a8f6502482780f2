"""Kernels of a Hugging Face cache in a module in memory: kernelmap::kernelize."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import sample
import torch

CONFIG = """
inherit_mapping = false
trusted_publishers = ["some-org"]
[kernel_mapping]
SiluAndMul = "some-org/sample@v2:SiluAndMul"
"""


class InProcess(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.home = self.root / "home"
        sample.add_commit(self.home, "1" * 40, sample.ONE)
        self.two = sample.add_commit(self.home, "2" * 40, sample.TWO, refs=("v2",))
        torch.manual_seed(0)
        self.model = sample.save(sample.Gated().eval(), self.root / "model.pt")

    def run_on(self, config, *more, **environment):
        path = self.root / "config.toml"
        path.write_text(config)
        return subprocess.run([os.environ["KM_INPROCESS"], str(path), str(self.model), *more], capture_output=True, text=True,
                              timeout=120, check=False, env={**os.environ, "HF_HOME": str(self.home), **environment})

    def site(self, done):
        """The only site, how far outputs are from stock, and whether undo gives those back."""
        self.assertEqual(done.returncode, 0, done.stderr)
        text, _, last = done.stdout.strip().rpartition("\n")
        [site] = json.loads(text)["sites"]
        difference, undone = last.split()
        return site, float(difference), undone == "1"

    def test_the_pinned_build_runs(self):
        for version, off in (("", 0.0), ("@v2", 1.0)):  # build two adds 1 to what goes into `down`
            site, difference, undone = self.site(self.run_on(CONFIG.replace("@v2", version)))
            self.assertEqual((site["action"], site["kernel"]["revision"]), ("replaced", ("2" if version else "1") * 40))
            self.assertTrue(undone)
            self.assertEqual(difference > 1e-3, off > 0, difference)

    def test_a_kernel_that_the_caller_does_not_trust(self):
        """The plan chose it; kernelize throws, and the module is what it was."""
        done = self.run_on(CONFIG, "no-trust")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("publisher `some-org` is not trusted", done.stderr)

    def test_what_the_plan_does_not_choose(self):
        policy = self.root / "policy.toml"
        policy.write_text('trusted_publishers = ["others"]\n')
        site, difference, undone = self.site(self.run_on(CONFIG, KERNELMAP_POLICY=str(policy)))
        self.assertEqual((site["action"], site["reason"]["code"]), ("fallback", "not_trusted"))
        self.assertEqual((difference, undone), (0, True))
        (self.two / "layers.py").unlink()
        (self.two / "layers.py").write_text("import os\n")
        site, difference, undone = self.site(self.run_on(CONFIG))
        self.assertEqual((site["action"], site["reason"]["code"]), ("fallback", "tampered"), site)
        self.assertEqual((difference, undone), (0, True))


if __name__ == "__main__":
    unittest.main()
