"""One cache for kernelmap and the Python libraries: what either fetched, the other uses. test_live.py, with KM_PROGRAM
and a Python that has kernels and huggingface_hub."""

import importlib.metadata
import json
import subprocess
import sys
import unittest

try:
    versions = [int(importlib.metadata.version(name).split(".")[at])
                for name, at in (("huggingface_hub", 0), ("kernels", 1))]
    missing = "" if versions >= [1, 17] else "kernels or huggingface_hub is too old"
    import kernels  # noqa: F401
except Exception as error:  # whatever stands in the way
    missing = str(error)
if missing:
    print(f"SKIPPED: {missing}. Configure with -DKM_HF_PYTHON=… naming a Python that has kernels 0.17.")
    sys.exit(77)

from case import Case
from sample import VARIANT, build, commit, in_build

INSTALL = """
import json, sys
from kernels.install import install_kernel
wanted = json.loads(sys.argv[1])
print(install_kernel(**wanted, backend="cpu", trust_remote_code=True))
"""

SNAPSHOT = """
import sys
from huggingface_hub import snapshot_download
print(snapshot_download(sys.argv[1], repo_type="kernel", revision=sys.argv[2]))
"""

SCAN = """
import json
from huggingface_hub import scan_cache_dir
found = scan_cache_dir()
print(json.dumps({"warnings": [str(w) for w in found.warnings],
                  "repos": {r.repo_id: sorted(ref for v in r.revisions for ref in v.refs)
                            for r in found.repos}}))
"""


SHARE = """
import os, sys
from huggingface_hub.utils._shared_blobs import publish_blob_to_shared_store
blob = sys.argv[1]
cache = os.path.dirname(os.path.dirname(os.path.dirname(blob)))
print(publish_blob_to_shared_store(blob_path=blob, xet_hash="ab" * 32, cache_dir=cache,
                                   expected_size=os.path.getsize(blob)))
"""


class Live(Case):
    def setUp(self):
        super().setUp()
        self.machine.write({"ReLU": "kernels-community/relu:ReLU",
                            "Spec": "kernels-community/relu@>=2,<3:ReLU",
                            "Needs": "kernels-community/needs:ReLU"})
        self.snapshot = (self.machine.cache / "kernels--kernels-community--relu" / "snapshots"
                         / commit("a") / "build" / VARIANT)

    def python(self, code, *args, start=False, **env):
        process = subprocess.Popen([sys.executable, "-c", code, *args], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env={**self.machine.env,
                                        "HF_HUB_DISABLE_PROGRESS_BARS": "1", **env})
        return process if start else self.end(process)

    def end(self, process):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        return out.strip()

    def install(self, offline=False, start=False, **wanted):
        wanted = {"repo_id": "kernels-community/relu", "version": 1, **wanted,
                  **({"local_files_only": True} if offline else {})}
        env = {"HF_HUB_OFFLINE": "1"} if offline else {}
        return self.python(INSTALL, json.dumps(wanted), start=start, **env)

    def fetch(self, *args):
        code, report, err = self.machine.report(*args)
        self.assertEqual((code, err), (0, ""))
        return report

    def test_python_uses_what_kernelmap_fetched(self):
        self.fetch()
        self.hub.requests.clear()
        self.assertEqual(self.install(offline=True), str(self.snapshot))
        self.assertIn(commit("a"), self.install(offline=True, repo_id="kernels-community/needs"))
        self.assertIn(commit("b"), self.install(offline=True, version=None, revision="v2.1.0"))
        self.assertIn(commit("a"), self.install(offline=True, version=None, revision=commit("a")))
        self.assertEqual(self.hub.requests, [])
        # With the network Python has nothing to download either.
        self.assertEqual(self.install(), str(self.snapshot))
        self.assertEqual([r for r in self.hub.requests
                          if r.method == "GET" and r.route in ("resolve", "cdn")], [])

    def test_what_python_sees_in_the_cache(self):
        self.fetch()
        found = json.loads(self.python(SCAN))
        self.assertEqual(found["warnings"], [])
        self.assertEqual(found["repos"], {"kernels-community/relu": ["v1", "v2.1.0"],
                                          "kernels-community/needs": ["v1"]})

    def test_kernelmap_uses_what_python_fetched(self):
        for revision in ("v1", "v2.1.0"):
            self.install(version=None, revision=revision)
        self.install(version=None, revision="v1", repo_id="kernels-community/needs")
        plan = self.machine.plan()
        # Python resolves revisions itself, and its cache has the ref only of what it was asked by.
        self.assertEqual({n for n, e in plan.items() if e["decision"] == "kernel"}, set(plan))
        code, _, err = self.machine.run("lock", "config.toml")
        self.assertEqual((code, err), (0, ""))
        self.hub.requests.clear()
        report = self.fetch()
        self.assertEqual(report["summary"]["files"], 0)
        self.assertEqual([r for r in self.hub.requests if r.route in ("resolve", "cdn")], [])
        self.assertEqual(self.machine.run("plan", "config.toml", "--locked")[0], 0)

    def test_what_python_fetched_by_version_needs_only_the_ref(self):
        self.install()
        self.machine.write({"ReLU": "kernels-community/relu:ReLU"})
        self.hub.requests.clear()
        self.assertEqual(self.fetch()["summary"]["files"], 0)
        self.assertEqual([r for r in self.hub.requests if r.route in ("resolve", "cdn")], [])
        self.assertEqual(self.machine.plan()["ReLU"]["decision"], "kernel")

    def test_the_whole_of_a_repository(self):
        self.python(SNAPSHOT, "kernels-community/relu", "v1")
        self.machine.write({"ReLU": "kernels-community/relu:ReLU"})
        self.assertEqual(self.fetch("--all-variants")["summary"]["files"], 0)

    def test_blobs_that_python_shares(self):
        """Python's own function moves a blob to where all repositories share it."""
        self.install()
        self.machine.write({"ReLU": f"kernels-community/relu@{commit('a')}:ReLU"})
        blob = (self.snapshot / "_relu_1.abi3.so").resolve()
        self.assertEqual(self.python(SHARE, str(blob)), "True")
        self.assertTrue(blob.is_symlink())
        self.assertEqual(self.machine.plan()["ReLU"]["decision"], "kernel")
        self.hub.requests.clear()
        self.assertEqual(self.fetch()["summary"]["files"], 0)
        self.assertEqual(self.hub.requests, [])
        self.assertTrue(blob.is_symlink())
        # Python takes it for whole as well.
        self.assertEqual(self.install(), str(self.snapshot))
        self.assertEqual([r for r in self.hub.requests
                          if r.method == "GET" and r.route in ("resolve", "cdn")], [])

    def test_both_at_once(self):
        files = {path: text.encode() for path, text in in_build(build(digest=None)).items()}
        files[f"build/{VARIANT}/_relu_1.abi3.so"] = bytes(range(256)) * 8000
        self.hub.repository("kernels-community/big").add(commit("a"), files, "v1")
        self.machine.write({"ReLU": "kernels-community/big:ReLU"})
        wanted = {"repo_id": "kernels-community/big", "version": None, "revision": "v1"}
        pythons = [self.install(start=True, **wanted) for _ in range(3)]
        ours = [self.machine.start("fetch", "config.toml") for _ in range(4)]
        for process in pythons:
            self.end(process)
        for process in ours:
            out, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, err), (0, b""), out)
        blobs = self.machine.cache / "kernels--kernels-community--big" / "blobs"
        self.assertEqual(sorted(p.read_bytes() for p in blobs.iterdir()), sorted(files.values()))
        self.assertEqual(self.machine.plan()["ReLU"]["decision"], "kernel")
        self.assertIn(commit("a"), self.install(**wanted))


if __name__ == "__main__":
    unittest.main()
