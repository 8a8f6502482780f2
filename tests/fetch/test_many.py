"""Many processes on one cache, and processes that are killed: test_many.py, with KM_PROGRAM."""

import os
import random
import shutil
import signal
import tempfile
import time
import unittest

import sample
from hub_server import Hub, on
from sample import VARIANT, Machine, build, commit, in_build

PROGRAM = os.environ["KM_PROGRAM"]
SEED = int(os.environ.get("KM_SEED", random.randrange(1 << 30)))
PROCESSES = 16
KILLS = 30


class Many(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.hub = self.enterContext(Hub())
        sample.fill(self.hub)
        files = in_build(build())
        # Several files of some size, two of them equal.
        for name in ("a.so", "b.so", "c.so"):
            files[f"build/{VARIANT}/{name}"] = bytes(range(256)) * (800 if name < "c" else 900)
        files[f"build/{VARIANT}/below/d.py"] = "d = 1\n"
        metadata = build(digest=None)["metadata.json"]
        files[f"build/{VARIANT}/metadata.json"] = metadata
        needs = build(**{"kernel-depends": [{"repo-id": "kernels-community/relu", "version": 1}]})
        self.hub.repository("kernels-community/many").add(commit("a"), files, "v1")
        self.hub.repository("kernels-community/asks").add(commit("a"), in_build(needs), "v1")
        self.machine = Machine(PROGRAM, folder.name, self.hub)
        self.machine.write({"Many": "kernels-community/many:ReLU",
                            "Asks": "kernels-community/asks:ReLU",
                            "Moved": "kernels-community/moved:ReLU"})
        self.hub.faults = [on("cdn", self.slowly)]

    def slowly(self, request):
        answer = self.hub.answer(request)
        answer.drip, answer.piece = 0.01, 20_000
        return answer

    def good(self):
        """What a cache holds after one undisturbed fetch."""
        code, out, err = self.machine.fetch()
        self.assertEqual((code, err), (0, ""), out)
        tree = self.machine.tree()
        shutil.rmtree(self.machine.cache)
        self.hub.requests.clear()
        return tree

    def test_many_at_once_end_with_one_good_copy(self):
        good = self.good()
        processes = [self.machine.start("fetch", "config.toml") for _ in range(PROCESSES)]
        for process in processes:
            out, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, err), (0, b""), out)
        self.assertEqual(self.machine.tree(), good)
        # Each file was asked for once: the others waited for it.
        paths = [r.path for r in self.hub.requests if r.route == "resolve"]
        self.assertEqual(sorted(paths), sorted(set(paths)))

    def test_killed_at_any_moment(self):
        print("seed", SEED, flush=True)
        chance = random.Random(SEED)
        started = time.monotonic()
        good = self.good()
        whole = time.monotonic() - started
        for kill in range(KILLS):
            processes = [self.machine.start("fetch", "config.toml") for _ in range(2)]
            time.sleep(chance.uniform(0, whole))
            for process in processes:
                process.send_signal(signal.SIGKILL)
                process.communicate()
            self.check_after_kill(good)
            if chance.random() < 0.3:
                shutil.rmtree(self.machine.cache, ignore_errors=True)
        code, out, err = self.machine.fetch()
        self.assertEqual((code, err), (0, ""), out)
        self.compare(self.machine.tree(), good)
        for entry in self.machine.plan().values():
            self.assertEqual(entry["decision"], "kernel", entry["reason"])

    def check_after_kill(self, good):
        """Nothing that is there is wrong, and no ref means what is not there."""
        tree = self.machine.tree()
        for name, content in tree.items():
            if name.endswith((".incomplete", ".tmp", ".link")) or ".tmp/" in name:
                continue
            self.assertEqual(content, good.get(name), name)
        for name in tree:
            folder, slash, ref = name.partition("/refs/")
            if slash:
                snapshot = f"{folder}/snapshots/{commit('a')}/"
                self.assertEqual({n for n in tree if n.startswith(snapshot)},
                                 {n for n in good if n.startswith(snapshot)})
        # A build that can be seen is whole.
        for build_folder in self.machine.cache.glob("*/snapshots/*/build/*"):
            prefix = str(build_folder.relative_to(self.machine.cache)) + "/"
            self.assertEqual({n for n in tree if n.startswith(prefix)},
                             {n for n in good if n.startswith(prefix)})
        for entry in self.machine.plan().values():
            self.assertIn((entry["reason"] or {"code": ""})["code"], ("", "not_found", "dependency"))

    def compare(self, tree, good):
        left = {n: c for n, c in tree.items()
                if not n.endswith((".incomplete", ".tmp", ".link")) and ".tmp/" not in n}
        self.assertEqual(left, good)


if __name__ == "__main__":
    unittest.main()
