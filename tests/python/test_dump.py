"""kernelmap.dump with stand-in classes: the text, what the compiler makes of it, and what is refused."""

import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import compiled
import kernelmap
from standins import (CUDAProperties, Device, FuncRepository, KernelConfig, LayerRepository, LocalLayerRepository,
                      LockedLayerRepository, Mode, ROCMProperties)

NORMS = "kernels-community/norms"
NORM = f"{NORMS}:RMSNorm"
FUSED = (("RMSNorm", "model.layers.*.post_attention_layernorm"), ("MLP", "model.layers.*.mlp"))


def layer(name="RMSNorm", **more):
    return LayerRepository(NORMS, layer_name=name, **(more or {"version": 3}))


class Shapes(unittest.TestCase):
    def test_kernel_config(self):
        config = KernelConfig({
            "RMSNorm": NORM,
            "SiLU": "",
            "SwiGLUMLP": (f"{NORMS}:SwiGLUMLP", {"version": 3, "trust_remote_code": False}),
            "GeGLUMLP": {"cuda": (f"{NORMS}:GeGLUMLP", {"revision": "v3", "version": None}), "rocm": "o/r:G"},
            FUSED: ("owner/fused:RMSNormMLP", {"version": 1, "trust_remote_code": True}),
        })
        text = kernelmap.dump(config)
        self.assertEqual(text, """\
{
  "default_mapping": "transformers",
  "kernel_mapping": [
    ["RMSNorm", "kernels-community/norms:RMSNorm"],
    ["SiLU", ""],
    ["SwiGLUMLP", ["kernels-community/norms:SwiGLUMLP", {"version": 3}]],
    ["GeGLUMLP", {"cuda": ["kernels-community/norms:GeGLUMLP", {"revision": "v3"}], "rocm": "o/r:G"}],
    [[["RMSNorm", "model.layers.*.post_attention_layernorm"], ["MLP", "model.layers.*.mlp"]], \
["owner/fused:RMSNormMLP", {"version": 1, "trust_remote_code": true}]]
  ]
}
""")
        self.assertEqual(text, kernelmap.dump(config))
        self.assertEqual(compiled.check(text)[0], [])

    def test_settings(self):
        head = lambda config, **more: {key: value for key, value in json.loads(
            kernelmap.dump(config, **more)).items() if key != "kernel_mapping"}
        self.assertEqual(head(KernelConfig()), {"default_mapping": "transformers"})
        self.assertEqual(head(KernelConfig(inherit_mapping=False)), {"inherit_mapping": False})
        self.assertEqual(head(KernelConfig({"A": "/k:A"}, use_local_kernel=True)), {"use_local_kernel": True})
        self.assertEqual(head({}), {"inherit_mapping": False})
        self.assertEqual(head({}, inherit_mapping=True), {"default_mapping": "transformers"})
        self.assertEqual(head({}, attn_implementation="sdpa", allow_all_kernels=True),
                         {"inherit_mapping": False, "allow_all_kernels": True, "attn_implementation": "sdpa"})
        for text in (kernelmap.dump(KernelConfig()), kernelmap.dump({})):
            self.assertEqual(compiled.check(text), ([], []))

    def test_repositories(self):
        mapping = {
            "A": {"cuda": layer(revision="main", trust_remote_code=[NORMS])},
            "B": {"cuda": FuncRepository("kernels-community/activation", func_name="silu_and_mul", version=0)},
            "C": {"cuda": LockedLayerRepository(NORMS, layer_name="L", commit="ef12347", trust_remote_code=[])},
        }
        self.assertEqual([value["cuda"] for _, value in json.loads(kernelmap.dump(mapping))["kernel_mapping"]], [
            [NORM, {"revision": "main", "trust_remote_code": True}],
            ["kernels-community/activation:silu_and_mul", {"version": 0}],
            [f"{NORMS}:L", {"revision": "ef12347"}]])
        local = kernelmap.dump({"A": {"cuda": LocalLayerRepository(pathlib.Path("/opt/k@1"), layer_name="L")}})
        self.assertEqual(json.loads(local), {"use_local_kernel": True,
                                             "kernel_mapping": [["A", {"cuda": "/opt/k@1:L"}]]})
        self.assertEqual(compiled.check(local), ([], []))

    def test_devices_and_modes(self):
        mapping = {"A": {
            Device("cuda", CUDAProperties(75, 89)): layer("A"),
            Device("cuda", CUDAProperties(90, sys.maxsize)): layer("B"),
            Device("cuda", CUDAProperties(121, 121)): layer("C"),
            Device("cuda", CUDAProperties(0, sys.maxsize)): layer("D"),
            Device("rocm", ROCMProperties(0, 94)): layer("E"),
            Device("mps"): layer("F"),
            "cpu": {Mode.INFERENCE: layer("G"), Mode.TORCH_COMPILE | Mode.TRAINING: layer("H"),
                    Mode.FALLBACK: layer("I")},
        }}
        value = json.loads(kernelmap.dump(mapping))["kernel_mapping"][0][1]
        self.assertEqual(list(value), ["cuda>=7.5,<=8.9", "cuda>=9.0", "cuda==12.1", "cuda", "rocm<=9.4", "mps", "cpu"])
        self.assertEqual(list(value["cpu"]), ["inference", "training|torch_compile", "fallback"])
        # Its fallback is one that every mode's target prefers something to.
        self.assertEqual(compiled.check(kernelmap.dump(mapping)), ([], ["KM0242"]))

    def test_a_later_entry_of_the_same_range_replaces_the_earlier(self):
        mapping = {"A": {"cuda": layer("First"), Device("cuda"): layer("Second")}}
        self.assertEqual(json.loads(kernelmap.dump(mapping))["kernel_mapping"],
                         [["A", {"cuda": [f"{NORMS}:Second", {"version": 3}]}]])

    def test_files(self):
        config, out = KernelConfig({"Straße": NORM}), io.StringIO()
        text = kernelmap.dump(config, out)
        self.assertEqual(out.getvalue(), text)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            kernelmap.dump(config, path)
            self.assertEqual(path.read_bytes(), text.encode("utf-8"))

    def test_importing_imports_nothing_large(self):
        code = "import sys, kernelmap; print([m for m in ('torch', 'transformers', 'kernels') if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "[]")


class Picks(unittest.TestCase):
    """What kernels' documentation says of its mappings, after the way through a dump."""

    def pick(self, mapping, *target):
        text = kernelmap.dump(mapping, allow_all_kernels=True)
        self.assertEqual(compiled.check(text)[0], [])
        return compiled.chosen(compiled.plan(text, *target)["A"])

    def test_capabilities(self):
        mapping = {"A": {Device("cuda", CUDAProperties(75, 89)): layer("B"),
                         Device("cuda", CUDAProperties(80, 89)): layer("A")}}
        self.assertEqual(self.pick(mapping, "cuda", "8.6"), (NORMS, "v3", "A"))
        self.assertEqual(self.pick(mapping, "cuda", "7.5"), (NORMS, "v3", "B"))
        self.assertIsNone(self.pick(mapping, "cuda", "9.0"))

    def test_modes(self):
        mapping = {"A": {"cuda": {Mode.FALLBACK: layer("F"), Mode.INFERENCE: layer("I"), Mode.TRAINING: layer("T")}}}
        for mode, name in (("inference", "I"), ("training", "T"), ("inference|torch_compile", "F"),
                           ("training|torch_compile", "F")):
            self.assertEqual(self.pick(mapping, "cuda", "9.0", mode), (NORMS, "v3", name))

    def test_a_string_means_version_one(self):
        self.assertEqual(self.pick(KernelConfig({"A": NORM}), "cuda", "9.0"), (NORMS, "v1", "RMSNorm"))

    def test_trust(self):
        config = KernelConfig({"A": "stranger/norms:A",
                               "B": ("stranger/norms:B", {"version": 2, "trust_remote_code": True})})
        entries = compiled.plan(kernelmap.dump(config), "cuda", "9.0")
        self.assertEqual(entries["A"]["reason"]["code"], "not_trusted")
        self.assertEqual(entries["B"]["reason"]["code"], "not_found")


class Refused(unittest.TestCase):
    def refused(self, config, *words, **more):
        with self.assertRaises(kernelmap.DumpError) as raised:
            kernelmap.dump(config, **more)
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_values(self):
        class Mine:
            def load(self):
                pass

            def __repr__(self):
                return "Mine()"

        self.refused({"A": {"cuda": Mine()}}, "kernel_mapping['A']['cuda']", "Mine()")
        self.refused({"A": None}, "kernel_mapping['A']", "None")
        self.refused({"A": {}}, "empty")
        self.refused({"A": {"cuda": {}}}, "empty")
        self.refused({"A": "just-a-name"}, "'just-a-name'")
        self.refused({"A": "org/repo"}, "'org/repo'", "no layer")
        self.refused({"A": ("o/r:A", {"versoin": 1})}, "'versoin'")
        self.refused({"A": ("o/r:A", "v1")}, "('o/r:A', 'v1')")
        self.refused({"A": ("", {"version": 1})}, "empty reference")
        self.refused({"A": ("o/r:A", {"version": 1, "revision": "x"})}, "1", "'x'")
        self.refused({"A": ("o/r:A", {"version": ">=1.0"})}, "'>=1.0'")
        self.refused({"A": ("o/r:A", {"version": True})}, "True")
        self.refused({"A": {"cuda": layer(trust_remote_code=["other/repo"], version=1)}}, "other/repo")
        self.refused({"A": {"cuda": LayerRepository("o/r", layer_name="A")}}, "'o/r'", "version")
        self.refused({"A": "o/r:\udc80"}, "UTF-8")

    def test_keys(self):
        self.refused({"": "o/r:A"}, "name")
        self.refused({3: "o/r:A"}, "kernel_mapping[3]")
        self.refused({"A": {"gpu": "o/r:A"}}, "'gpu'")
        self.refused({"A": {None: "o/r:A"}}, "None")
        self.refused({"A": {Device("xpu", CUDAProperties(80, 90)): "o/r:A"}}, "'xpu'")
        self.refused({"A": {Device("cuda", CUDAProperties(90, 80)): "o/r:A"}}, "90..80")
        self.refused({"A": {Device("cuda", object()): "o/r:A"}}, "capabilities")
        self.refused({"A": {Mode.INFERENCE: "o/r:A"}}, "INFERENCE", "not a device")
        self.refused({"A": {"cuda": {"inference": "o/r:A"}}}, "'inference'")
        self.refused({"A": {"cuda": {Mode(0): "o/r:A"}}}, "mode")
        self.refused({(("A", "x.y"),): "o/r:A"}, "two modules")
        self.refused({(("A", "x.y"), "B"): "o/r:A"}, "'B'")
        self.refused({(("A", "x.y"), ("B", "z.y")): "o/r:A"}, "'x'", "'z'")

    def test_local_kernels(self):
        local = LocalLayerRepository("/k", layer_name="A")
        self.refused({"A": {"cuda": local}, "B": {"cuda": layer()}}, "kernel_mapping['B']", "kernel_mapping['A']")
        self.refused({"A": {"cuda": local}}, "inherit", inherit_mapping=True)
        self.refused({"A": {"cuda": LocalLayerRepository("some/where", layer_name="A")}}, "'some/where'")
        self.refused(KernelConfig({"A": NORM}, use_local_kernel=True), NORM)
        self.refused(KernelConfig({"A": "/k:A"}), "'/k:A'", "use_local_kernel")
        self.refused(KernelConfig({"A": ("/k:A", {"version": 1})}, use_local_kernel=True), "version")

    def test_arguments(self):
        self.refused(None, "NoneType")
        self.refused([], "list")
        self.refused(KernelConfig(), "inherit_mapping", inherit_mapping=True)
        for attention in ("flex_attention", "paged|sdpa", {"": "eager"}):
            self.refused({}, "attn_implementation", str(attention), attn_implementation=attention)


if __name__ == "__main__":
    unittest.main()
