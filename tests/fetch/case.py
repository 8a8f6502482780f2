"""What the tests of fetch share: a server with its repositories, a machine, and checks."""

import os
import tempfile
import unittest

import sample
from hub_server import Hub
from sample import VARIANT, Machine, build, commit, in_build

PROGRAM = os.environ["KM_PROGRAM"]
RELU = "kernels--kernels-community--relu"
BIG = bytes(range(256)) * 4000  # a library of a megabyte
PLACE = f"build/{VARIANT}/_relu_1.abi3.so"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.hub = self.enterContext(Hub())
        sample.fill(self.hub)
        self.machine = Machine(PROGRAM, folder.name, self.hub)

    def add_big(self):
        """A repository with a large library; kernels of it have no digests in their metadata."""
        files = in_build(build(digest=None))
        files[PLACE] = BIG
        self.hub.repository("kernels-community/big").add(commit("a"), files, "v1")
        self.machine.write({"ReLU": "kernels-community/big:ReLU"})

    def requests(self, route=None):
        return [r for r in self.hub.requests if route in (None, r.route)]

    def assertFetched(self, *args, **env):
        code, report, err = self.machine.report(*args, **env)
        self.assertEqual((code, err), (0, ""))
        return report

    def assertFails(self, code, *args, **env):
        """Fetching fails for one reason."""
        status, report, err = self.machine.report(*args, **env)
        reasons = {one["reason"]["code"] for one in report["repositories"] if one["reason"]}
        self.assertEqual((status, reasons), (1, {code}), err)
        self.assertIn(f"[{code}]", err)
        return report

    def leftovers(self):
        """What the cache has beside blobs, links, refs and locks."""
        return [name for name in self.machine.tree()
                if name.endswith((".incomplete", ".tmp", ".link"))]
