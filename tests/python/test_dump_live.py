"""kernelmap.dump with the classes of transformers and kernels themselves: for every name and target, the plan
wants the very kernel that their own code picks. Nothing is downloaded. Skipped (77) where they are missing.
"""

import pathlib
import sys
import tempfile
import unittest
import unittest.mock

try:
    import kernels.layer.layer
    import kernels.layer.repos
    import transformers.utils.kernel_config
    from kernels import (CUDAProperties, Device, LayerRepository, LocalLayerRepository, LockedLayerRepository, Mode,
                         ROCMProperties, use_kernel_mapping)
    from kernels.layer.globals import _KERNEL_MAPPING
    from transformers import KernelConfig
except ImportError as missing:
    print(f"SKIPPED: {missing}. Configure with -DKM_HF_PYTHON=… naming a Python that has transformers and kernels.")
    sys.exit(77)

try:
    from transformers.integrations.hub_kernels import get_kernel_mapping_transformers
except ImportError:  # transformers takes only some versions of kernels: 5.17 those from 0.16.0 and before 0.17
    get_kernel_mapping_transformers = None

import compiled
import kernelmap

needs_transformers_mapping = unittest.skipUnless(
    get_kernel_mapping_transformers, "transformers does not take this version of kernels: no mapping to inherit")
NORMS = "kernels-community/norms"
TARGETS = [("cuda", "7.5"), ("cuda", "8.6"), ("cuda", "9.0"), ("cuda", "12.1"), ("rocm", "9.4"), ("xpu", None),
           ("npu", None)]
MODES = {"inference": Mode.INFERENCE, "inference|torch_compile": Mode.INFERENCE | Mode.TORCH_COMPILE,
         "training": Mode.TRAINING, "training|torch_compile": Mode.TRAINING | Mode.TORCH_COMPILE}
FUSED = (("RMSNorm", "model.layers.*.post_attention_layernorm"), ("MLP", "model.layers.*.mlp"))


def layer(name, repo=NORMS, **more):
    return LayerRepository(repo, layer_name=name, **(more or {"version": 3}))


def python_picks(mapping, inherit, device, capability, mode):
    """(repository, revision, name) by name, as kernelize would choose; None where it keeps the stock code."""
    tens = None if capability is None else int(capability.replace(".", ""))
    picks = {}
    with unittest.mock.patch.object(kernels.layer.repos, "_find_capability", lambda: tens), \
            use_kernel_mapping(get_kernel_mapping_transformers() if inherit else {}, inherit_mapping=False), \
            use_kernel_mapping(mapping):
        for name, devices in _KERNEL_MAPPING.get().items():
            repos = devices[device].repos if device in devices else None
            found = kernels.layer.repos._select_repository(repos, mode=MODES[mode]) if repos else None
            picks[name] = None
            if found:
                repo = found[0]
                revision = repo._revision or f"v{repo._version}"
                picks[name] = (repo._repo_id, revision, repo.layer_name)
    return picks


def config_picks(config, device, capability, mode):
    """The same for a KernelConfig, which transformers turns into a mapping for one device first."""
    model = unittest.mock.Mock(training="training" in mode)
    copy = KernelConfig(dict(config.kernel_mapping), config.use_local_kernel, config.inherit_mapping)
    with unittest.mock.patch.object(transformers.utils.kernel_config, "infer_device", lambda model: device):
        copy.create_compatible_mapping(model, compile="torch_compile" in mode)
    return python_picks(copy.kernel_mapping, copy.inherit_mapping and not copy.use_local_kernel, device, capability,
                        mode)


class Live(unittest.TestCase):
    def same_picks(self, text, picks):
        self.assertEqual(compiled.check(text)[0], [])
        for device, capability in TARGETS:
            for mode in MODES:
                entries = compiled.plan(text, device, capability, mode)
                wanted = picks(device, capability, mode)
                self.assertLessEqual(set(wanted), set(entries))
                for name, entry in entries.items():
                    with self.subTest(name=name, device=device, capability=capability, mode=mode):
                        self.assertEqual(compiled.chosen(entry), wanted.get(name))

    MAPPING = {
        "RMSNorm": {
            Device("cuda", CUDAProperties(75, 89)): layer("B"),
            Device("cuda", CUDAProperties(80, 89)): layer("A", revision="ef12347"),
            Device("cuda", CUDAProperties(90, sys.maxsize)): {Mode.INFERENCE: layer("C", version=0)},
            Device("rocm", ROCMProperties(90, 94)): layer("D"),
            "rocm": layer("E"),
            "xpu": {Mode.TRAINING | Mode.TORCH_COMPILE: layer("F"), Mode.FALLBACK: layer("G")},
            "cuda": layer("H"),
            Device("cuda"): {Mode.TRAINING: layer("I")},
        },
        "Mine": {"npu": layer("J"), "cpu": layer("K"), "mps": layer("L")},
    }

    def mapping_keeps_its_picks(self, inherit):
        text = kernelmap.dump(self.MAPPING, inherit_mapping=inherit, allow_all_kernels=True)
        self.same_picks(text, lambda *target: python_picks(self.MAPPING, inherit, *target))

    def test_mapping(self):
        self.mapping_keeps_its_picks(inherit=False)

    @needs_transformers_mapping
    def test_mapping_that_inherits(self):
        self.mapping_keeps_its_picks(inherit=True)

    @needs_transformers_mapping
    def test_the_mapping_of_transformers(self):
        # Dumped whole, and as kernelmap carries it itself.
        picks = lambda *target: python_picks({}, True, *target)
        self.same_picks(kernelmap.dump(get_kernel_mapping_transformers(), allow_all_kernels=True), picks)
        self.same_picks(kernelmap.dump(KernelConfig(), allow_all_kernels=True), picks)

    def config_keeps_its_picks(self, inherit):
        config = KernelConfig({
            "RMSNorm": f"{NORMS}:RMSNorm",
            "SwiGLUMLP": {"cuda": (f"{NORMS}:Mine", {"version": 2}), "xpu": "o/r:Other"},
            "rotary_pos_emb": {"npu": ("o/rotary:R", {"revision": "main", "trust_remote_code": True})},
            "Unheard": ("o/r:U", {"version": 7}),
        }, inherit_mapping=inherit)
        text = kernelmap.dump(config, allow_all_kernels=True)
        self.same_picks(text, lambda *target: config_picks(config, *target))

    def test_kernel_config(self):
        self.config_keeps_its_picks(inherit=False)

    @needs_transformers_mapping
    def test_kernel_config_that_inherits(self):
        self.config_keeps_its_picks(inherit=True)

    def test_after_a_model_has_used_it(self):
        config = KernelConfig({"RMSNorm": "o/r:A", "SiLU": {"rocm": "o/r:B"}}, inherit_mapping=False)
        with unittest.mock.patch.object(transformers.utils.kernel_config, "infer_device", lambda model: "cuda"):
            config.create_compatible_mapping(unittest.mock.Mock(training=False))
        self.assertIn('["RMSNorm", {"cuda": {"inference": ["o/r:A", {"version": 1}]}}]', kernelmap.dump(config))

    def test_update_kernel(self):
        config = KernelConfig()
        config.update_kernel("o/r", "RMSNorm", "A", "cuda", Mode.INFERENCE, revision="main", version=None)
        self.assertIn('["RMSNorm", {"cuda": {"inference": ["o/r:A", {"revision": "main"}]}}]', kernelmap.dump(config))

    def test_local_kernels(self):
        for config in (KernelConfig({"RMSNorm": "/opt/k:A"}, use_local_kernel=True),
                       {"RMSNorm": {"cuda": LocalLayerRepository(pathlib.Path("/opt/k"), layer_name="A")}}):
            text = kernelmap.dump(config)
            self.assertEqual(compiled.check(text), ([], []))
            self.assertEqual(list(compiled.plan(text, "cuda", "9.0")), ["RMSNorm"])

    def test_locked(self):
        with tempfile.TemporaryDirectory() as folder:
            lock = pathlib.Path(folder) / "kernels.lock"
            new = hasattr(kernels.layer.layer, "KernelLocks")  # since 0.17
            lock.write_text(('[{"dependency": {"repo-id": "o/r", "version": 1}, "lock": {"commit": "%s"}}]' if new else
                             '[{"repo_id": "o/r", "sha": "%s", "variants": {}}]') % ("a" * 40))
            repository = LockedLayerRepository("o/r", layer_name="A", lockfile=lock)
        self.assertIn('["o/r:A", {"revision": "%s"}]' % ("a" * 40), kernelmap.dump({"A": {"cuda": repository}}))

    def test_fusion(self):
        text = kernelmap.dump(KernelConfig({FUSED: "owner/fused:RMSNormMLP"}))
        self.assertIn('[[["RMSNorm", "model.layers.*.post_attention_layernorm"], ["MLP", "model.layers.*.mlp"]], '
                      '"owner/fused:RMSNormMLP"]', text)
        self.assertEqual(compiled.check(text)[0], [])


if __name__ == "__main__":
    unittest.main()
