"""What loading does where a kernel is missing, changed or not trusted. Each case in a process of its own, since what
an op was bound to stays for the life of one."""

import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest
import zipfile

import km
import sample
import torch

CONFIG = """
inherit_mapping = false
trusted_publishers = ["some-org"]
[kernel_mapping]
SiluAndMul = "some-org/sample:SiluAndMul"
"""


class MissingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.home = cls.root / "home"
        sample.add_commit(cls.home, "1" * 40, sample.ONE)
        torch.manual_seed(0)
        cls.stock = sample.save(sample.Gated().eval(), cls.root / "stock.pt")
        cls.out = cls.root / "out.pt"
        (cls.root / "config.toml").write_text(CONFIG)
        done = km.run("apply", cls.root / "config.toml", cls.stock, "-o", cls.out, env={"HF_HOME": str(cls.home)})
        assert done.code == 0 and "1 replaced" in done.stdout, done

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def python(self, code, home=None, **environment):
        prelude = (f"import kernelmap, torch, warnings\nOUT = {str(self.out)!r}\n"
                   f"STOCK = torch.jit.load({str(self.stock)!r})\nIDS = torch.arange(16).reshape(2, 8)\n"
                   "TRUST = {'trusted_publishers': ['some-org']}\n")
        return sample.forked(prelude + code, self.home if home is None else home, **environment)

    def assert_fails(self, message, options="**TRUST", home=None, before="", **environment):
        done = self.python(f"{before}\nkernelmap.load(OUT, {options})", home, **environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, message)
        self.assertIn(f"cannot load `{self.out}`: kernel `some-org/sample:SiluAndMul`: ", done.stderr)
        return done.stderr

    def copy_of_home(self):
        home = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        shutil.copytree(self.home / "hub", home / "hub", symlinks=True)
        return home

    def test_it_runs_where_all_is_well(self):
        done = self.python("torch.testing.assert_close(kernelmap.load(OUT, **TRUST)(IDS), STOCK(IDS))")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")

    def test_a_kernel_that_is_not_there(self):
        error = self.assert_fails("is not in the", home=self.root / "empty")
        self.assertIn("kernelmap fetch", error)

    def test_stock_code_in_its_place(self):
        done = self.python("""
model = kernelmap.load(OUT, on_missing="stock", **TRUST)
assert torch.equal(model(IDS), STOCK(IDS))
model(IDS)
""", self.root / "empty")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("UserWarning"), 1, done.stderr)
        self.assertIn("stock code stands for kernel `some-org/sample:SiluAndMul`", done.stderr)

    def test_a_kernel_that_comes_later(self):
        done = self.python(f"""
stock = kernelmap.load(OUT, on_missing="stock", cache="/nonexistent", **TRUST)
kernel = kernelmap.load(OUT, cache={str(self.home / "hub")!r}, **TRUST)
torch.testing.assert_close(kernel(IDS), STOCK(IDS))
""")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_changed_library(self):
        home = self.copy_of_home()
        [library] = (home / "hub").glob(f"kernels--*/snapshots/*/build/*/{os.path.basename(sample.ONE)}")
        data = bytearray(library.read_bytes())
        data[-1] ^= 1
        library.resolve().write_bytes(data)
        self.assert_fails("sha256|digest|not what", home=home)

    def test_changed_content_whose_own_digests_are_right(self):
        home = self.root / "other"
        sample.add_commit(home, "1" * 40, sample.TWO)
        self.assert_fails("its content is not what it was when the model was rewritten", home=home)

    def test_another_build_of_the_commit(self):
        """On another machine than that of apply, the build for it is chosen within the commit."""
        elsewhere = sample.VARIANT.replace("torch2", "torch1")
        path = self.damaged(lambda data: data.replace(sample.VARIANT.encode(), elsewhere.encode()))
        home = self.root / "elsewhere"
        sample.add_commit(home, "1" * 40, sample.TWO)
        done = self.python(f"torch.testing.assert_close(kernelmap.load({str(path)!r}, **TRUST).act(torch.ones(1, 2, 64)), "
                           "STOCK.act(torch.ones(1, 2, 64)) + 1)", home)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_build_under_another_name(self):
        """Where the build of apply would do, another one does not take its place."""
        home = self.root / "renamed"
        variant = sample.add_commit(home, "1" * 40, sample.TWO)
        variant.rename(variant.with_name("torch-stable-abi210-cpu-" + sample.VARIANT.split("-cpu-")[1]))
        self.assert_fails(f"its build `{sample.VARIANT}` is not there, but `torch-stable", home=home)

    def test_memory_that_starts_anywhere(self):
        """Nothing of torch says so here: the address itself is odd."""
        done = self.python("""
import numpy
model = kernelmap.load(OUT, **TRUST)
x = torch.from_numpy(numpy.arange(193, dtype=numpy.float32)[1:]).reshape(1, 3, 64)
assert x.data_ptr() % 16 != 0
torch.testing.assert_close(model.act(x), STOCK.act(x))
""")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_saved_again_without_its_extra_files(self):
        done = self.python(f"""
path = {str(self.root / "again.pt")!r}
kernelmap.load(OUT, **TRUST).save(path)
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.python(f"kernelmap.load({str(self.root / 'again.pt')!r}, **TRUST)")
        self.assertIn("saved again without its extra file kernelmap/adapters.json?", done.stderr)

    def test_trust(self):
        self.assert_fails("publisher `some-org` is not trusted; .*trusted_publishers", "")
        self.assert_fails("publisher `some-org` is not trusted", "trusted_publishers=['kernels-community']")
        self.assert_fails("USE_HUB_KERNELS is `0`", USE_HUB_KERNELS="0")
        policy = self.root / "policy.toml"
        policy.write_text('trusted_publishers = ["kernels-community"]\n')
        self.assert_fails("not trusted by the policy of this machine", "allow_all_kernels=True",
                          KERNELMAP_POLICY=str(policy))
        policy.write_text("trusted_publishers = 1\n")
        done = self.python("kernelmap.load(OUT, **TRUST)", KERNELMAP_POLICY=str(policy))
        self.assertIn("the policy of this machine", done.stderr)
        done = self.python("kernelmap.load(OUT, allow_all_kernels=True)")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_another_caller_trusted_is_not_trusted_by_all(self):
        self.assert_fails("is not trusted, and is loaded in this process already", "on_missing='stock'",
                          before="kernelmap.load(OUT, **TRUST)")

    def test_a_library_that_python_loaded_already(self):
        done = self.python(f"torch.ops.load_library({sample.ONE!r})\n"
                           "torch.testing.assert_close(kernelmap.load(OUT, **TRUST)(IDS), STOCK(IDS))")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_another_build_with_the_same_operations(self):
        other = self.root / "changed" / os.path.basename(sample.ONE)
        other.parent.mkdir()
        other.write_bytes(pathlib.Path(sample.ONE).read_bytes() + b"\0")
        self.assert_fails("another build of _sample_cpu_one is loaded", before=f"torch.ops.load_library({str(other)!r})")

    def test_threads(self):
        done = self.python("""
from concurrent.futures import ThreadPoolExecutor
want = STOCK(IDS)
def run(_):
    model = kernelmap.load(OUT, **TRUST)
    for _ in range(20):
        torch.testing.assert_close(model(IDS), want)
with ThreadPoolExecutor(8) as pool:
    list(pool.map(run, range(16)))
""")
        self.assertEqual(done.returncode, 0, done.stderr)

    def damaged(self, change):
        """The archive with its adapters.json changed."""
        path = self.root / "damaged.pt"
        with zipfile.ZipFile(self.out) as old, zipfile.ZipFile(path, "w") as new:
            for item in old.infolist():
                data = old.read(item)
                if item.filename.endswith("kernelmap/adapters.json"):
                    data = change(data)
                new.writestr(item.filename, data)
        return path

    def test_damaged_archives(self):
        def edit(key, value):
            def change(data):
                kernels = json.loads(data)
                kernels["kernels"][0]["adapters"][0][key] = value
                return json.dumps(kernels).encode()
            return change

        for change, message in [
                (lambda data: b"{", "kernelmap/adapters.json: "),
                (lambda data: b"[]", "kernelmap/adapters.json: "),
                (lambda data: data.replace(b"adapters/1", b"adapters/9"), "`format` is not what it must be"),
                (lambda data: re.sub(b'"revision": "1', b'"revision": "2', data), "`op` is not what it must be"),
                (edit("forward", "def forward(x): return x"), "`op` is not what it must be"),
                (edit("schema", 1), "`schema` is not what it must be"),
                (lambda data: data.replace(b"1" * 40, b"main"), "`revision` is not what it must be"),
                (lambda data: data.replace(sample.VARIANT.encode(), b"zzz"), "`variant` is not what it must be"),
        ]:
            path = self.damaged(change)
            done = self.python(f"kernelmap.load({str(path)!r}, **TRUST)")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)
            self.assertIn("cannot load", done.stderr)
            again = km.run("apply", self.root / "config.toml", path, "-o", self.root / "x.pt",
                           env={"HF_HOME": str(self.home)})
            self.assertEqual(again.code, 1, again)

    def test_bad_arguments(self):
        for options in "on_missing='x'", "trusted_publishers='some-org'", "local_kernels='/x'":
            done = self.python(f"kernelmap.load(OUT, {options})")
            self.assertRegex(done.stderr, "ValueError|TypeError")


if __name__ == "__main__":
    unittest.main()
