"""`kernelmap fetch` against a server that behaves as the Hub does: test_fetch.py, with KM_PROGRAM."""

import fcntl
import hashlib
import os
import pathlib
import subprocess
import tempfile
import unittest

import hub_server
import sample
from hub_server import Answer, Hub, on, once
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


class Cache(Case):
    def test_the_layout_is_that_of_python(self):
        self.assertFetched()
        files = {p: t.encode() for p, t in in_build(build()).items()}
        blobs = {hub_server.digest(p, t): t for p, t in files.items()}
        expected = {f"{RELU}/blobs/{name}": text for name, text in blobs.items()}
        expected[f"{RELU}/refs/v1"] = commit("a").encode()
        for path, text in files.items():
            expected[f"{RELU}/snapshots/{commit('a')}/{path}"] = (
                "-> ../../../../blobs/" + hub_server.digest(path, text))
        expected.update({f".locks/{RELU}/{name}.lock": b"" for name in blobs})
        self.assertEqual(self.machine.tree(), expected)
        self.assertEqual(self.machine.plan()["ReLU"]["kernel"]["revision"], commit("a"))

    def test_what_is_there_is_not_fetched_again(self):
        self.assertFetched()
        before = self.machine.tree()
        self.hub.requests.clear()
        report = self.assertFetched()
        self.assertEqual(report["summary"]["present"], 1)
        self.assertEqual({r.route for r in self.requests()}, {"refs", "tree"})
        self.assertEqual(self.machine.tree(), before)

    def test_a_full_commit_needs_no_request(self):
        self.machine.write({"ReLU": f"kernels-community/relu@{commit('a')}:ReLU"})
        self.assertFetched()
        self.hub.requests.clear()
        report = self.assertFetched()
        self.assertEqual(report["repositories"][0]["status"], "present")
        self.assertEqual(len(report["repositories"][0]["files"]), 4)
        self.assertEqual(self.requests(), [])

    def test_a_cache_that_cannot_be_written_is_enough_when_all_is_there(self):
        self.assertFetched()
        for path in [*self.machine.cache.rglob("*"), self.machine.cache]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o555)
        try:
            self.assertFetched()
        finally:
            subprocess.run(["chmod", "-R", "u+w", self.machine.cache], check=True)

    def test_a_branch_that_moved(self):
        self.assertFetched()
        self.hub.repository("kernels-community/relu").branches["v1"] = commit("b")
        self.assertFetched()
        self.assertEqual(self.machine.plan()["ReLU"]["kernel"]["revision"], commit("b"))

    def test_a_damaged_blob_comes_again(self):
        self.assertFetched()
        blob = (self.machine.cache / RELU / "snapshots" / commit("a") / PLACE).resolve()
        blob.write_bytes(b"x" * blob.stat().st_size)
        report = self.assertFetched()
        self.assertEqual([f["path"] for f in report["repositories"][0]["files"] if f["fetched"]],
                         [PLACE])
        self.assertEqual(hashlib.sha256(blob.read_bytes()).hexdigest(), blob.name)

    def test_a_build_that_lacks_files_is_completed(self):
        self.assertFetched()
        snapshot = self.machine.cache / RELU / "snapshots" / commit("a")
        (snapshot / PLACE).unlink()
        report = self.assertFetched()
        self.assertEqual(report["summary"]["files"], 0)  # its blob was there
        self.assertTrue((snapshot / PLACE).exists())

    def test_the_older_folder_of_python_counts(self):
        self.assertFetched()
        (self.machine.cache / RELU).rename(self.machine.cache / RELU.replace("kernels", "models", 1))
        self.hub.requests.clear()
        self.assertEqual(self.assertFetched()["summary"]["present"], 1)
        self.assertEqual(self.requests("resolve"), [])
        self.assertFalse((self.machine.cache / RELU).exists())

    def test_links_lead_nothing_out_of_the_cache(self):
        for place in (RELU, f"{RELU}/blobs", f"{RELU}/snapshots", f"{RELU}/snapshots/{commit('a')}",
                      f"{RELU}/refs", ".locks", f".locks/{RELU}"):
            with self.subTest(place), tempfile.TemporaryDirectory() as folder:
                machine = Machine(PROGRAM, folder, self.hub)
                outside = pathlib.Path(folder, "outside")
                outside.mkdir()
                link = machine.cache / place
                link.parent.mkdir(parents=True)
                link.symlink_to(outside)
                code, report, _ = machine.report()
                self.assertEqual(code, 1)
                self.assertEqual(report["repositories"][0]["reason"]["code"], "unsafe_path")
                self.assertEqual(list(outside.iterdir()), [])

    def test_a_link_in_the_place_of_a_blob_or_a_half_one_is_not_followed(self):
        name = hashlib.sha256(build()["_relu_1.abi3.so"].encode()).hexdigest()
        blobs = self.machine.cache / RELU / "blobs"
        blobs.mkdir(parents=True)
        target = self.machine.folder / "outside"
        for link in (blobs / name, blobs / (name + ".incomplete")):
            target.write_text("mine")
            link.symlink_to(target)
        os.link(target, blobs / (hub_server.git_digest(build()["layers.py"].encode()) + ".incomplete"))
        self.assertFetched()
        self.assertEqual(target.read_text(), "mine")
        self.assertFalse((blobs / name).is_symlink())
        self.assertEqual(self.leftovers(), [])


class Token(Case):
    SECRET = "hf_donotshowme"

    def fetch_with_token(self, **env):
        self.hub.token = self.SECRET
        code, out, err = self.machine.fetch(**env)
        self.assertNotIn(self.SECRET, out + err)
        for request in self.requests("cdn"):
            self.assertNotIn("authorization", request.headers)
            self.assertNotIn(self.SECRET, str(request))
        return code

    def test_from_each_place(self):
        file = self.machine.folder / "my-token"
        file.write_text(self.SECRET + "\n")
        home = pathlib.Path(self.machine.env["HF_HOME"])
        for env in ({"HF_TOKEN": self.SECRET}, {"HUGGING_FACE_HUB_TOKEN": f" {self.SECRET} "},
                    {"HF_TOKEN_PATH": "~/my-token"}, {}):
            with self.subTest(env):
                if not env:
                    home.mkdir(exist_ok=True)
                    (home / "token").write_text(self.SECRET)
                self.hub.requests.clear()
                subprocess.run(["rm", "-rf", self.machine.cache], check=True)
                self.assertEqual(self.fetch_with_token(**env), 0)
                self.assertTrue(self.requests("cdn"))
                sent = {r.headers.get("authorization") for r in self.requests() if r.route != "cdn"}
                self.assertEqual(sent, {"Bearer " + self.SECRET})

    def test_not_sent_when_that_is_turned_off(self):
        self.assertEqual(self.fetch_with_token(HF_TOKEN=self.SECRET,
                                               HF_HUB_DISABLE_IMPLICIT_TOKEN="1"), 1)
        self.assertFalse([r for r in self.requests() if "authorization" in r.headers])

    def test_not_sent_to_another_host_by_any_redirect_or_next_page(self):
        self.hub.token = self.SECRET
        for route in ("refs", "tree", "resolve"):
            with self.subTest(route):
                self.hub.faults = [on(route, Answer(307, {"Location": self.hub.cdn + "/else"}))]
                self.fetch_with_token(HF_TOKEN=self.SECRET)
        page = Answer(200, {"Link": f'<{self.hub.cdn}/page>; rel="next"'}, b"[]")
        self.hub.faults = [on("tree", page)]
        self.fetch_with_token(HF_TOKEN=self.SECRET)
        self.assertIn("/page", [r.path for r in self.requests("cdn")])

    def test_a_token_that_would_be_a_header_is_refused(self):
        for token in ("a\r\nX-Evil: 1", "a b", "ä"):
            code, out, err = self.machine.fetch(HF_TOKEN=token)
            self.assertEqual(code, 2)
            self.assertNotIn(token, out + err)
        self.assertEqual(self.requests(), [])


class Offline(Case):
    def test_nothing_is_requested(self):
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
            self.assertFails("offline", **{name: "1"})
        self.assertEqual(self.requests(), [])
        self.assertEqual(self.machine.tree(), {})

    def test_what_is_there_is_fine(self):
        self.machine.write({"ReLU": "kernels-community/relu@>=2,<3:ReLU",
                            "Moved": "kernels-community/moved:ReLU",
                            "Python": "kernels-community/python:ReLU"})
        self.assertFetched()
        self.hub.requests.clear()
        report = self.assertFetched(HF_HUB_OFFLINE="1")
        self.assertEqual(report["summary"]["present"], 3)
        self.assertEqual(self.requests(), [])


class Locked(Case):
    def lock(self):
        self.assertEqual(self.machine.run("lock", "config.toml")[0], 0)

    def test_the_locked_commit_though_the_branch_moved(self):
        self.machine.write({"ReLU": "kernels-community/relu:ReLU",
                            "Spec": "kernels-community/relu@>=2,<3:ReLU",
                            "Moved": "kernels-community/moved:ReLU"})
        self.assertFetched()
        self.lock()
        subprocess.run(["rm", "-rf", self.machine.cache], check=True)
        relu = self.hub.repository("kernels-community/relu")
        relu.branches["v1"] = commit("d")
        relu.add(commit("e"), in_build(build(version=3)), "v2.9.0")
        self.assertFetched("--locked")
        self.assertEqual(self.machine.run("plan", "config.toml", "--locked")[0], 0)
        self.hub.requests.clear()
        self.assertFetched("--locked")
        self.assertEqual({r.route for r in self.requests()} - {"refs", "tree"}, set())
        # Without the lock what is newest comes.
        self.assertFetched()
        plan = self.machine.plan()
        self.assertEqual(plan["ReLU"]["kernel"]["revision"], commit("d"))
        self.assertEqual(plan["Spec"]["kernel"]["revision"], commit("e"))

    def test_no_request_when_the_locked_commit_is_there(self):
        self.assertFetched()
        self.lock()
        self.hub.requests.clear()
        self.assertFetched("--locked")
        self.assertEqual(self.requests(), [])

    def test_a_commit_that_is_gone(self):
        self.assertFetched()
        self.lock()
        subprocess.run(["rm", "-rf", self.machine.cache], check=True)
        self.hub.repositories["kernels-community/relu"].commits.pop(commit("a"))
        self.assertFails("not_on_hub", "--locked")


class Downloads(Case):
    def test_a_cut_off_download_goes_on(self):
        self.add_big()
        self.hub.faults = [once(on("cdn", lambda r: Answer(200, {}, BIG, cut=600_000)))]
        self.assertFetched()
        ranges = [r.headers.get("range") for r in self.requests("cdn")]
        self.assertEqual(len(ranges), 2)
        self.assertIsNone(ranges[0])
        self.assertRegex(ranges[1], r"^bytes=[1-9]\d{4,}-$")

    def test_it_goes_on_in_another_process(self):
        self.add_big()
        self.hub.faults = [on("cdn", lambda r: Answer(200, {}, BIG, cut=600_000)
                              if "range" not in r.headers else Answer(500))]
        self.assertFails("server_error")
        partial = [n for n in self.machine.tree() if n.endswith(".incomplete")]
        self.assertEqual(len(partial), 1)
        self.hub.faults = []
        self.hub.requests.clear()
        self.assertFetched()
        self.assertRegex(self.requests("cdn")[0].headers["range"], r"^bytes=[1-9]\d{4,}-$")
        self.assertEqual(self.leftovers(), [])

    def test_a_server_without_ranges(self):
        self.add_big()
        cut = once(on("cdn", lambda r: Answer(200, {}, BIG, cut=600_000)))
        self.hub.faults = [cut, on("cdn", lambda r: Answer(200, {}, BIG))]
        self.assertFetched()

    def test_another_range_than_was_asked_for(self):
        self.add_big()
        self.hub.faults = [
            once(on("cdn", lambda r: Answer(200, {}, BIG, cut=600_000))),
            on("cdn", lambda r: Answer(206, {"Content-Range": f"bytes 0-{len(BIG) - 1}/{len(BIG)}"}, BIG))]
        self.assertFails("wrong_content")

    def test_half_a_file_of_something_else(self):
        self.add_big()
        blobs = self.machine.cache / "kernels--kernels-community--big" / "blobs"
        blobs.mkdir(parents=True)
        name = hashlib.sha256(BIG).hexdigest()
        for junk in (b"junk" * 1000, b"x" * len(BIG), b"x" * (len(BIG) + 1)):
            (blobs / (name + ".incomplete")).write_bytes(junk)
            self.assertFetched()
            self.assertEqual((blobs / name).read_bytes(), BIG)
            subprocess.run(["rm", "-rf", blobs / name], check=True)
        self.assertEqual(self.leftovers(), [])

    def test_wrong_content_leaves_nothing(self):
        self.add_big()
        for body in (BIG[:-1] + b"!", BIG[:-1], BIG + b"!", b""):
            self.hub.faults = [on("cdn", Answer(200, {}, body))]
            self.assertFails("wrong_content")
            # Of others, which end with it, something may stay.
            blobs = self.machine.cache / "kernels--kernels-community--big" / "blobs"
            self.assertEqual(list(blobs.glob(hashlib.sha256(BIG).hexdigest() + "*")), [])

    def test_too_many_requests_then_fine(self):
        self.hub.faults = [once(on("any", Answer(429, {"Retry-After": "1"})), 2),
                           once(on("cdn", Answer(503)), 2), once(on("resolve", Answer(500)))]
        self.assertFetched()

    def test_waiting_is_bounded(self):
        self.hub.faults = [on("any", Answer(429, {"Retry-After": "100000"}))]
        report = self.assertFails("rate_limited")
        self.assertIn("100000 seconds", report["repositories"][0]["reason"]["text"])

    def test_a_body_that_stands_still(self):
        self.add_big()
        slow = Answer(200, {}, BIG, drip=0.3, piece=10)
        self.hub.faults = [on("cdn", slow)]
        self.assertFails("no_connection")
        self.hub.faults = [once(on("cdn", slow))]
        self.assertFetched()

    def test_no_answer_at_all(self):
        self.hub.faults = [on("refs", Answer(200, {}, b"", wait=30))]
        self.assertFails("no_connection")

    def test_a_connection_that_ends_before_the_answer(self):
        self.machine.env["HF_ENDPOINT"] = "https" + self.hub.endpoint[4:]  # no TLS there
        self.assertFails("no_connection")


class Busy(Case):
    def test_a_lock_that_another_process_holds(self):
        name = hub_server.git_digest(build()["metadata.json"].encode())
        lock = self.machine.cache / ".locks" / RELU / (name + ".lock")
        lock.parent.mkdir(parents=True)
        with open(lock, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            waiting = self.machine.start("fetch", "config.toml")
            with self.assertRaises(subprocess.TimeoutExpired):
                waiting.wait(1)
            self.assertFails("busy")
            self.assertEqual(waiting.communicate(timeout=30)[1].count(b"[busy]"), 1)
        self.assertFetched()


if __name__ == "__main__":
    unittest.main()
