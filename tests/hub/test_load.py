"""Kernels of a Hugging Face cache: planned, written into archives, loaded and run, in C++ and Python."""

import json
import pathlib
import shutil
import tempfile
import unittest
import zipfile

import kernelmap
import km
import sample
import torch

CONFIG = """
inherit_mapping = false
trusted_publishers = ["some-org"]
[kernel_mapping]
SiluAndMul = "some-org/sample:SiluAndMul"
"""
TRUST = ["--trusted-publisher", "some-org"]


class HubTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.home = cls.root / "home"
        cls.one = sample.add_commit(cls.home, "1" * 40, sample.ONE)
        sample.add_commit(cls.home, "2" * 40, sample.TWO, refs=("v2",))
        torch.manual_seed(0)
        cls.model = sample.Gated().eval()
        cls.traced = sample.save(cls.model, cls.root / "traced.pt")
        cls.scripted = sample.save(cls.model, cls.root / "scripted.pt", scripted=True)
        cls.config = cls.root / "config.toml"
        cls.config.write_text(CONFIG)
        cls.out = cls.root / "out.pt"
        cls.report = cls.apply(cls.config, cls.traced, cls.out)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def apply(cls, config, model, out, code=0, **environment):
        """Applies; the report as JSON."""
        report = out.with_suffix(".json")
        done = km.run("apply", config, model, "-o", out, "--report", report,
                      env={"HF_HOME": str(cls.home), **environment})
        assert done.code == code, done
        return json.loads(report.read_text())

    def write(self, name, text):
        path = self.root / name
        path.write_text(text)
        return path

    def load(self, path, **options):
        options.setdefault("trusted_publishers", ["some-org"])
        return kernelmap.load(path, cache=self.home / "hub", **options)

    def test_traced_and_scripted_models_run_the_kernel(self):
        for name, archive in ("traced", self.traced), ("scripted", self.scripted):
            out = self.root / f"{name}.out.pt"
            report = self.apply(self.config, archive, out)
            self.assertEqual([s["action"] for s in report["sites"]], ["replaced"], report)
            kernel = report["sites"][0]["kernel"]
            self.assertEqual((kernel["repo"], kernel["revision"]), (sample.REPO, "1" * 40))
            loaded = self.load(out)
            self.assertIn("kernelmap_hub", str(loaded.act.graph))
            torch.testing.assert_close(loaded(sample.IDS), self.model(sample.IDS), rtol=1e-5, atol=1e-6)

    def test_cplusplus_runs_it_too(self):
        done = km.run("verify", self.traced, self.out, *TRUST, env={"HF_HOME": str(self.home)})
        self.assertEqual(done.code, 0, done)
        self.assertIn("act  SiluAndMul", done.stdout)
        done = km.run("apply", self.config, self.traced, "-o", self.root / "verified.pt", "--verify",
                      env={"HF_HOME": str(self.home)})
        self.assertEqual(done.code, 0, done)

    def test_what_an_archive_says_of_its_kernels(self):
        with zipfile.ZipFile(self.out) as archive:
            [name] = [n for n in archive.namelist() if n.endswith("kernelmap/adapters.json")]
            text = archive.read(name).decode()
        self.assertNotIn(str(self.root), text)
        kernels = json.loads(text)
        if validator := km.validator("adapters"):
            validator.validate(kernels)
        [kernel] = kernels["kernels"]
        self.assertEqual((kernel["repo"], kernel["revision"], kernel["variant"], kernel["name"]),
                         (sample.REPO, "1" * 40, sample.VARIANT, "SiluAndMul"))
        [adapter] = kernel["adapters"]
        self.assertTrue(adapter["op"].startswith("some_org_sample_11111111__SiluAndMul_"))
        self.assertEqual(adapter["schema"], "(Tensor x) -> Tensor")

    def test_the_same_inputs_give_the_same_bytes(self):
        again = self.root / "again.pt"
        self.apply(self.config, self.traced, again)
        self.assertEqual(again.read_bytes(), self.out.read_bytes())

    def test_applying_again_changes_nothing(self):
        done = km.run("apply", self.config, self.out, "-o", self.root / "twice.pt", env={"HF_HOME": str(self.home)})
        self.assertEqual(done.code, 0, done)
        self.assertIn("already", done.stdout)
        self.assertEqual((self.root / "twice.pt").read_bytes(), self.out.read_bytes())

    def test_a_loaded_model_can_be_saved_and_loaded(self):
        loaded = self.load(self.out)
        extra = {"kernelmap/adapters.json": ""}
        torch.jit.load(str(self.out), _extra_files=extra)
        saved = self.root / "saved.pt"
        torch.jit.save(loaded, str(saved), _extra_files=extra)
        self.assertTrue(torch.equal(self.load(saved)(sample.IDS), loaded(sample.IDS)))

    def test_without_kernelmap_load_the_op_is_not_known(self):
        done = sample.python(f"import torch; torch.ops.load_library({sample.RUNTIME!r}); torch.jit.load({str(self.out)!r})")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("kernelmap_hub::some_org_sample", done.stderr)

    def test_several_versions_in_one_process(self):
        config = self.write("v2.toml", CONFIG.replace("sample:", "sample@v2:"))
        out = self.root / "v2.pt"
        self.apply(config, self.traced, out)
        one, two = self.load(self.out), self.load(out)
        act = torch.randn(2, 3, 64)
        torch.testing.assert_close(two.act(act), one.act(act) + 1)  # build two adds 1
        self.assertTrue(torch.equal(self.load(self.out).act(act), one.act(act)))

    def test_gradients_are_those_of_the_stock_code(self):
        act = torch.randn(2, 3, 64, requires_grad=True)
        with torch.enable_grad():
            result = self.load(self.out).act(act)
            [gradient] = torch.autograd.grad(result.sum(), act)
            [stock] = torch.autograd.grad(sample.SiluAndMul()(act).sum(), act)
        torch.testing.assert_close(gradient, stock)

    def test_training_wants_a_kernel_that_says_so(self):
        """A class says it, as in Python, unless it says otherwise. Where a binding alone calls operations, it has to."""
        source = ("def forward(x: Tensor) -> Tensor:\n    d = x.shape[-1] // 2\n"
                  "    out = torch.empty(x.shape[:-1] + (d,), dtype=x.dtype, device=x.device)\n"
                  "    ops.silu_and_mul(out, x)\n    return out\n")
        for name, says, action in (("SiluAndMul", None, "replaced"), ("Other", "", "fallback"),
                                   ("Other", "backward = true\n", "replaced"), ("Other", "backward = false\n", "fallback")):
            with self.subTest(name=name, says=says):
                folder = self.root / "trains"
                shutil.rmtree(folder, ignore_errors=True)
                build = pathlib.Path(sample.make_folder(folder, sample.ONE), "build", sample.VARIANT)
                if says is not None:
                    (build / "kernelmap.toml").write_text(
                        'repo = "any/name"\nops = ["silu_and_mul(Tensor! out, Tensor input) -> ()"]\n'
                        f'[[kernel]]\nname = "{name}"\n{says}[[kernel.implements]]\nlayer = "SiluAndMul"\n'
                        f'references = ["slices", "slices_3d"]\nsource = {json.dumps(source)}\n')
                    (build / "metadata.json").write_text(json.dumps(
                        {k: v for k, v in json.loads((build / "metadata.json").read_text()).items() if k != "digest"}))
                config = self.write("trains.toml", 'use_local_kernel = true\n[target]\nmode = "training"\n'
                                    f'[kernel_mapping]\nSiluAndMul = "{folder}:{name}"\n')
                [site] = self.apply(config, self.traced, self.root / "trains.pt")["sites"]
                self.assertEqual(site["action"], action, site)
                if action == "fallback":
                    self.assertEqual(site["reason"]["code"], "no_backward")

    def test_a_norm_with_attributes(self):
        config = self.write("norm.toml", CONFIG.replace("SiluAndMul", "RMSNorm"))
        for name in "llama", "qwen3.bf16":
            out = self.root / f"norm.{name}.pt"
            report = self.apply(config, km.model(name), out)
            self.assertEqual({s["action"] for s in report["sites"]}, {"replaced"}, report)
            self.assertEqual(len(report["sites"]), 5 if name == "llama" else 9)
            done = km.run("verify", km.model(name), out, *TRUST, env={"HF_HOME": str(self.home)})
            self.assertEqual(done.code, 0, done)

    def test_a_function(self):
        config = self.write("rotary.toml", CONFIG.replace("SiluAndMul = ", "rotary_pos_emb = ")
                            .replace(":SiluAndMul", ":apply_rotary"))
        out = self.root / "rotary.pt"
        report = self.apply(config, km.model("llama"), out)
        self.assertEqual([s["action"] for s in report["sites"]], ["replaced"] * 2, report)
        done = km.run("verify", km.model("llama"), out, *TRUST, env={"HF_HOME": str(self.home)})
        self.assertEqual(done.code, 0, done)
        # The partial form is not what the repository's function computes.
        report = self.apply(config, km.model("gpt_neox"), self.root / "partial.pt")
        self.assertEqual({s["reason"]["code"] for s in report["sites"]}, {"other_form"}, report)

    def test_locked(self):
        folder = self.root / "locked"
        folder.mkdir()
        config, out, depfile = folder / "config.toml", folder / "out.pt", folder / "out.d"
        config.write_text(CONFIG)
        apply = ("apply", config, self.traced, "-o", out, "--locked", "--depfile", depfile)
        done = km.run(*apply, env={"HF_HOME": str(self.home)})
        self.assertEqual(done.code, 2, done)
        self.assertIn("kernelmap lock writes it", done.stderr)
        self.assertEqual(km.run("lock", config, env={"HF_HOME": str(self.home)}).code, 0)
        self.assertEqual(km.run(*apply, env={"HF_HOME": str(self.home)}).code, 0)
        lock = folder / "kernelmap.lock"
        self.assertEqual(depfile.read_text(), f"{out}: {config} {self.traced} {lock}\n")
        out.unlink()
        written = lock.read_text()
        # A commit that is not there; one that is, with other content.
        for commit, code in ("9" * 40, "KM0504"), ("2" * 40, "KM0506"):
            lock.write_text(written.replace("1" * 40, commit))
            done = km.run(*apply, env={"HF_HOME": str(self.home)})
            self.assertEqual(done.code, 1, done)
            self.assertIn(code, done.stderr)
            self.assertFalse(out.exists())

    def test_a_local_kernel(self):
        folder = sample.make_folder(self.root / "local", sample.ONE)
        config = self.write("local.toml", f'use_local_kernel = true\n[kernel_mapping]\nSiluAndMul = "{folder}:SiluAndMul"\n')
        out = self.root / "local.pt"
        report = self.apply(config, self.traced, out)
        self.assertEqual(report["sites"][0]["action"], "replaced", report)
        self.assertNotIn(str(self.root).encode(), out.read_bytes())
        with self.assertRaisesRegex(RuntimeError, "local_kernels"):
            kernelmap.load(out)
        loaded = kernelmap.load(out, local_kernels=[folder])
        torch.testing.assert_close(loaded(sample.IDS), self.model(sample.IDS), rtol=1e-5, atol=1e-6)
        done = km.run("verify", self.traced, out, "--local-kernel", folder)
        self.assertEqual(done.code, 0, done)
        done = km.run("apply", config, self.traced, "-o", self.root / "local2.pt", "--verify")
        self.assertEqual(done.code, 0, done)
        other = shutil.copytree(folder, self.root / "other")
        (other / "build" / sample.VARIANT / "layers.py").write_text("")
        done = km.run("verify", self.traced, out, "--local-kernel", other)
        self.assertEqual(done.code, 1, done)

    def test_a_local_kernel_is_loaded_for_those_who_name_it(self):
        folder = sample.make_folder(self.root / "named", sample.ONE, sample.LAYERS + "\n# another digest\n")
        config = self.write("named.toml", f'use_local_kernel = true\n[kernel_mapping]\nSiluAndMul = "{folder}:SiluAndMul"\n')
        out = self.root / "named.pt"
        self.apply(config, self.traced, out)
        kernelmap.load(out, local_kernels=[folder])
        with self.assertRaisesRegex(RuntimeError, "local_kernels"):
            kernelmap.load(out)

    def test_halves_of_another_dimension(self):
        """`x[:, :, :n]` halves the features only where there are three dimensions."""
        class Channels(torch.nn.Module):
            def forward(self, x):
                d = x.shape[1] // 2
                return torch.nn.functional.silu(x[:, :d]) * x[:, d:]

        class SiluAndMul(Channels):
            pass

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.act = SiluAndMul()

            def forward(self, x):
                return self.act(x)

        x = torch.randn(2, 6, 4)
        for made in torch.jit.trace(Net(), x), torch.jit.script(Net()):
            path, out = self.root / "channels.pt", self.root / "channels.out.pt"
            torch.jit.save(made, str(path))
            config = self.write("channels.toml", CONFIG + '[model]\ninputs = ["float32"]\n')
            self.apply(config, path, out)
            loaded = self.load(out)
            for shape in (2, 6, 4), (2, 6), (2, 6, 4, 8):
                x = torch.randn(shape)
                torch.testing.assert_close(loaded(x), Net()(x))

    IMPLEMENTS = '''[[kernel.implements]]
layer = "SiluAndMul"
references = ["slices"]
source = """
def forward(x: Tensor) -> Tensor:
    d = x.shape[-1] // 2
    out = torch.empty(x.shape[:-1] + (d,), dtype=x.dtype, device=x.device)
    ops.silu_and_mul(out, x)
    return out
"""
'''

    def bound(self, name, text):
        """A config that maps `name` to that of a local kernel with a binding of its own."""
        folder = self.root / "bound"
        shutil.rmtree(folder, ignore_errors=True)
        build = pathlib.Path(sample.make_folder(folder, sample.ONE), "build", sample.VARIANT)
        (build / "kernelmap.toml").write_text(text)
        (build / "metadata.json").write_text(json.dumps(
            {k: v for k, v in json.loads((build / "metadata.json").read_text()).items() if k != "digest"}))
        return self.write("bound.toml", f'use_local_kernel = true\n[kernel_mapping]\n{name} = "{folder}:{name}"\n')

    def test_the_binding_of_causal_conv1d(self):
        """The binding as it stands, with an operation of the same schema on the CPU."""
        text = (pathlib.Path(__file__).parents[2] / "kernels/bindings/causal_conv1d.toml").read_text()
        config = self.bound("causal_conv1d_fn", text.replace('["cuda", "xpu"]', '["cpu"]'))
        torch.manual_seed(1)
        for width, bias, silu, dtype in [(4, True, True, torch.float32), (2, True, False, torch.bfloat16),
                                         (3, False, True, torch.float32), (5, False, False, torch.float32)]:
            model = sample.CausalMixer(width, bias, silu).eval().to(dtype)
            for scripted in False, True:
                path = sample.save(model, self.root / "mixer.pt", scripted)
                out = self.root / "mixer.out.pt"
                [site] = self.apply(config, path, out)["sites"]
                self.assertEqual(site["action"], "replaced", site)
                loaded = self.load(out, local_kernels=[self.root / "bound"])
                self.assertIn("kernelmap_hub", str(loaded.inlined_graph))
                for ids in sample.IDS, sample.IDS[:, :3], sample.IDS[:1, :1]:
                    torch.testing.assert_close(loaded(ids), model(ids))
        # One position later, or with another dilation, it is another function.
        for late, dilation in (1, 1), (0, 2):
            path = sample.save(sample.CausalMixer(4, True, True, late, dilation).eval(), self.root / "mixer.pt")
            sites = self.apply(config, path, self.root / "mixer.out.pt")["sites"]
            self.assertNotIn("replaced", {site["action"] for site in sites}, sites)

    def test_a_library_for_another_processor(self):
        folder, library = self.root / "foreign", self.root / pathlib.Path(sample.ONE).name
        data = bytearray(pathlib.Path(sample.ONE).read_bytes())
        data[18:20] = (243).to_bytes(2, "little")  # RISC-V
        library.write_bytes(data)
        sample.make_folder(folder, library)
        config = self.write("foreign.toml",
                            f'use_local_kernel = true\n[kernel_mapping]\nSiluAndMul = "{folder}:SiluAndMul"\n')
        report = self.apply(config, self.traced, self.root / "foreign.pt")
        self.assertIn("bad_metadata", {site["reason"]["code"] for site in report["sites"]})
        self.assertIn("is for riscv64", str(report))
        # A folder whose name says no processor.
        build = folder / "build"
        (build / sample.VARIANT).rename(build / "torch-cpu")
        self.apply(config, self.traced, self.root / "foreign.pt")
        done = sample.python(f"""
            import kernelmap
            kernelmap.load({str(self.root / "foreign.pt")!r}, local_kernels=[{str(folder)!r}])
        """)
        self.assertIn("is built for another processor", done.stderr)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_a_local_kernel_that_is_not_there(self):
        with self.assertRaisesRegex(RuntimeError, "no folder `/nonexistent`"):
            self.load(self.traced, local_kernels=["/nonexistent"])
        done = km.run("verify", self.traced, self.traced, "--local-kernel", "/nonexistent")
        self.assertEqual(done.code, 2, done)
        self.assertIn("/nonexistent", done.stderr)
        self.load(self.traced, local_kernels=["/nonexistent"], on_missing="stock")

    def test_paths_and_messages_that_are_not_utf8(self):
        with self.assertRaisesRegex(ValueError, "is not UTF-8"):
            self.load(self.traced, local_kernels=[b"/nonexistent\xff"])
        folder, library = self.root / "needs", self.root / "needs.so"
        data = pathlib.Path(sample.ONE).read_bytes()
        self.assertIn(b"libc10.so", data)
        library.write_bytes(data.replace(b"libc10.so", b"lib\xff\x1b0.so"))
        sample.make_folder(folder, library)
        config = self.write("needs.toml",
                            f'use_local_kernel = true\n[kernel_mapping]\nSiluAndMul = "{folder}:SiluAndMul"\n')
        self.apply(config, self.traced, self.root / "needs.pt")
        done = sample.python(f"""
            import warnings, kernelmap, sample
            with warnings.catch_warnings(record=True) as seen:
                model = kernelmap.load({str(self.root / "needs.pt")!r}, local_kernels=[{str(folder)!r}], on_missing="stock")
            print([str(w.message) for w in seen], model(sample.IDS).shape)
        """)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(r"lib\\xff\\x1b0.so", done.stdout)

    def test_a_layer_of_a_layer_is_one_site(self):
        class Only(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.act = sample.SiluAndMul()

            def forward(self, x):
                return self.act(x)

        stock, out, again = self.root / "only.pt", self.root / "only.out.pt", self.root / "only.again.pt"
        torch.jit.save(torch.jit.trace(Only(), torch.ones(2, 8)), str(stock))
        config = self.write("only.toml", CONFIG + '[model]\ninputs = ["float32"]\n')
        self.assertEqual([s["path"] for s in self.apply(config, stock, out)["sites"]], ["act"])
        sites = self.apply(config, out, again)["sites"]
        self.assertEqual([(s["path"], s["action"]) for s in sites], [("act", "already")])

    def test_a_name_that_no_reference_is_known_of(self):
        class MyThing(sample.SiluAndMul):
            pass

        model = sample.Gated()
        model.act = MyThing()
        stock = sample.save(model, self.root / "thing.pt")
        config = self.write("thing.toml", CONFIG.replace("SiluAndMul =", "MyThing ="))
        [site] = self.apply(config, stock, self.root / "thing.out.pt")["sites"]
        self.assertEqual((site["reason"]["code"], site["reason"]["difference"]),
                         ("no_reference", "the catalogue has no layer `MyThing`"))

    def test_a_tolerance_decides_nothing_by_itself(self):
        class SiluAndMul(sample.SiluAndMul):
            def forward(self, x):
                d = x.shape[-1] // 2
                return torch.nn.functional.silu(x[..., :d]) * x[..., d:] * 1.5

        model = sample.Gated()
        model.act = SiluAndMul()
        stock = sample.save(model, self.root / "times.pt")
        for tolerance in "nan", "inf", "-1.0", "1e6", "0.0", "1e-5":
            config = self.bound("SiluAndMul", 'repo = "any/name"\n[[kernel]]\nname = "SiluAndMul"\n'
                                f'tolerance = {{ float32 = {tolerance} }}\n' + self.IMPLEMENTS)
            config.write_text(config.read_text().replace(
                '= "', '= { guard = "numeric", kernel = "').replace('SiluAndMul"\n', 'SiluAndMul" }\n'))
            [site] = self.apply(config, stock, self.root / "times.out.pt")["sites"]
            self.assertIn((site["reason"] or {}).get("code"), ("different_result", "bad_metadata"), (tolerance, site))

    def test_a_binding_that_does_not_fit(self):
        def problem(text):
            config = self.bound("SiluAndMul", text)
            [site] = self.apply(config, self.traced, self.root / "bound.pt")["sites"]
            return (site["reason"] or {}).get("code"), (site["reason"] or {}).get("text")

        def binding(layer="SiluAndMul", reference="slices", source="def forward(x: Tensor) -> Tensor:\n    return ops.f(x)\n"):
            return (f'repo = "any/name"\n[[kernel]]\nname = "SiluAndMul"\n[[kernel.implements]]\nlayer = "{layer}"\n'
                    f'references = ["{reference}"]\nsource = {json.dumps(source)}\n')

        for text, message in [
                (binding(layer="Nothing"), "no layer is called `Nothing`"),
                (binding(reference="nothing"), "SiluAndMul has no form that is called `nothing`"),
                (binding(source="x = 1\n"), "its code has no `forward`"),
                (binding(source="def forward(x: Tensor, y: Tensor) -> Tensor:\n    return x\n"), "the parameters and results"),
                (binding(source="def forward(x: Tensor, y: int = 1) -> Tensor:\n    return x\n"), "the parameters and results"),
                (binding(source="def forward(x: Tensor) -> Tuple[Tensor, Tensor]:\n    return x, x\n"), "the parameters and results"),
                (binding(source="def forward(x: Tensor) -> Tensor:\n    if 0 < x.dim() < 2:\n        return x\n    return x\n"),
                 "a chained comparison"),
        ]:
            code, found = problem(text)
            self.assertEqual(code, "bad_metadata", found)
            self.assertIn(message, found)

    def test_what_cannot_be_used_stays_with_a_reason(self):
        def reason(name, config=CONFIG):
            path = self.write("reason.toml", config.replace(":SiluAndMul", ":" + name))
            [site] = self.apply(path, self.traced, self.root / "reason.pt")["sites"]
            self.assertEqual(site["action"], "fallback")
            return site["reason"]["code"], site["reason"].get("difference", "") + site["reason"]["text"]

        line = sample.LAYERS[:sample.LAYERS.index("**kwargs")].count("\n") + 1
        self.assertEqual(reason("Kwargs"), ("python_only", f"its layers.py has `**kwargs` (line {line})"))
        code, text = reason("Uncompilable")
        self.assertEqual(code, "python_only")
        self.assertIn("undefined value helper", text)
        self.assertEqual(reason("Nothing")[0], "no_implementation")
        self.assertEqual(reason("SiluAndMul", CONFIG.replace('["some-org"]', "[]"))[0], "not_trusted")

    def test_code_that_fails_when_it_is_loaded(self):
        for name, message in ("Impure", "changes `x.*in place"), ("UnknownOperation", "no operation nothing"):
            config = self.write("bad.toml", CONFIG.replace(":SiluAndMul", ":" + name))
            out = self.root / f"{name}.pt"
            self.apply(config, self.traced, out)
            with self.assertRaisesRegex(RuntimeError, f"some-org/sample:{name}`.*{message}"):
                self.load(out)
            with self.assertWarnsRegex(UserWarning, name):
                loaded = self.load(out, on_missing="stock")
            self.assertTrue(torch.equal(loaded(sample.IDS), torch.jit.load(str(self.traced))(sample.IDS)))


if __name__ == "__main__":
    unittest.main()
