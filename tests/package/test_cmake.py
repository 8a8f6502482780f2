"""test_cmake.py CMAKE BUILD SOURCE TORCH_DIR: the CMake package, from an empty prefix."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, SOURCE, TORCH_DIR = sys.argv[1:5]
MODEL = f"{SOURCE}/tests/models/llama.pt"


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}")
    return done.stdout


class Package(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.folder.name, "prefix")
        run(CMAKE, "--install", BUILD, "--prefix", str(cls.prefix))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_installed(self):
        files = {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if path.is_file()}
        for name in ("bin/kernelmap", "bin/kernelmap-rewrite", "include/kernelmap/rewriter/modules/load.h",
                     "include/kernelmap/rewriter/modules/kernelize.h", "include/kernelmap/compiler/compile.h",
                     "share/kernelmap/schemas/plan.schema.json"):
            self.assertIn(name, files)
        self.assertFalse([name for name in files if "test" in name or name.endswith(".cpp")])

    def test_a_project(self):
        work = pathlib.Path(self.folder.name, "project")
        shutil.copytree(f"{SOURCE}/examples/pipelines/cmake", work)
        model, build = work / "stock.pt", work / "build"
        shutil.copy(MODEL, model)
        run(CMAKE, "-S", str(work), "-B", str(build), "-G", "Ninja", f"-DMODEL={model}",
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DTorch_DIR={TORCH_DIR}")
        first = run(CMAKE, "--build", str(build))
        self.assertIn("11 replaced", first)
        rewritten = build / "model.kernelmap.pt"
        bytes_before = rewritten.read_bytes()
        self.assertEqual(json.loads((build / "report.json").read_text())["summary"]["replaced"], 11)
        self.assertIn("[2, 8, 100]", run(str(build / "app"), str(rewritten)))

        # Nothing changed: nothing is done. A config that changed: only the model.
        self.assertIn("no work to do", run(CMAKE, "--build", str(build)))
        config = work / "kernels.toml"
        config.write_text(config.read_text() + 'attention = ""\n')
        again = run(CMAKE, "--build", str(build))
        self.assertIn("9 replaced", again)
        self.assertNotIn("Building CXX", again)
        self.assertNotEqual(rewritten.read_bytes(), bytes_before)
        self.assertIn("no work to do", run(CMAKE, "--build", str(build)))

        # A config with a mistake fails the build, and leaves the archive alone.
        good = rewritten.read_bytes()
        config.write_text("[kernel_mapping]\nRMSNorm = 3\n")
        with self.assertRaisesRegex(AssertionError, "error"):
            run(CMAKE, "--build", str(build))
        self.assertEqual(rewritten.read_bytes(), good)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
