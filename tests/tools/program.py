"""The program under test, away from this machine's own settings."""

import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ["KM_PROGRAM"])
ENVIRONMENT = {"PATH": os.environ["PATH"], "HF_HOME": "nowhere", "KERNELMAP_TORCH": "2.13.0",
               "CUDA_VISIBLE_DEVICES": ""}


class ToolTest(unittest.TestCase):
    def run_it(self, *args, code=0, stdin=b"", cwd=None):
        """What it prints; its exit code must be `code`."""
        done = subprocess.run([PROGRAM, *map(str, args)], input=stdin, capture_output=True, env=ENVIRONMENT,
                              cwd=cwd, timeout=60, check=False)
        self.assertEqual(done.returncode, code, (args, done.stdout, done.stderr))
        self.errors = done.stderr.decode()
        return done.stdout
