"""`kernelmap fetch` against a server that behaves as the Hub does: test_fetch.py, with KM_PROGRAM."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

import hub_server
from case import PLACE, PROGRAM, RELU, Case
from hub_server import Answer, on
from sample import VARIANT, Machine, build, commit, in_build


class OpenFolder:
    """A folder's descriptor."""

    def __init__(self, path):
        self.number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def fileno(self):
        return self.number

    def close(self):
        os.close(self.number)


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
        expected["CACHEDIR.TAG"] = self.machine.tree()["CACHEDIR.TAG"]
        self.assertTrue(expected["CACHEDIR.TAG"].startswith(
            b"Signature: 8a477f597d28d172789f06886806bc55\n"))
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

    def test_half_a_file_of_something_else_needs_no_request(self):
        """A build that lists its files is whole where they are there, whatever lies beside them."""
        self.machine.write({"ReLU": f"kernels-community/relu@{commit('a')}:ReLU"})
        self.assertFetched()
        stale = self.machine.cache / RELU / "blobs" / ("0" * 40 + ".incomplete")
        stale.write_text("x")
        self.hub.requests.clear()
        self.assertFetched()
        self.assertEqual(self.requests(), [])
        # Where it does not list them, one of them may be the half one: not if it is there too.
        files = in_build(build(digest=None))
        self.hub.repository("kernels-community/plain").add(commit("a"), files, "v1")
        self.machine.write({"ReLU": f"kernels-community/plain@{commit('a')}:ReLU"})
        self.assertFetched()
        blobs = self.machine.cache / "kernels--kernels-community--plain" / "blobs"
        (blobs / (next(blobs.iterdir()).name + ".incomplete")).write_text("x")
        self.hub.requests.clear()
        self.assertFetched()
        self.assertEqual(self.requests(), [])
        (blobs / stale.name).write_text("x")
        self.assertFetched()
        self.assertEqual({r.route for r in self.requests()}, {"tree"})

    def test_a_cache_that_cannot_be_written_is_enough_when_all_is_there(self):
        self.assertFetched()
        for path in [*self.machine.cache.rglob("*"), self.machine.cache]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o555)
        try:
            self.assertFetched()
        finally:
            subprocess.run(["chmod", "-R", "u+w", self.machine.cache], check=True)

    def test_names_of_files_and_branches(self):
        files = in_build(build(digest=None))
        for name in ("a b", "#", "?x=1", "%2e%2e", "ünï", "empty", "c/d/e", "same", "+&"):
            files[f"build/{VARIANT}/{name}"] = "" if name == "empty" else "same\n"
        self.hub.repository("kernels-community/odd").add(commit("a"), files, "feature/x-1")
        self.machine.write({"ReLU": "kernels-community/odd@feature/x-1:ReLU"})
        self.assertFetched()
        tree = self.machine.tree()
        folder = "kernels--kernels-community--odd"
        self.assertEqual(tree[f"{folder}/refs/feature/x-1"], commit("a").encode())
        snapshot = self.machine.cache / folder / "snapshots" / commit("a")
        self.assertEqual({p: (snapshot / p).read_text() for p in files}, files)
        self.assertEqual(self.machine.plan()["ReLU"]["decision"], "kernel")

    def test_a_repository_that_moved(self):
        """Within its publisher the Hub may send elsewhere; to another publisher it may not."""
        def moved(owner):
            def fault(request):
                path = request.path.replace("kernels-community/old", f"{owner}/relu")
                return Answer(307, {"Location": path}) if path != request.path else None
            return fault
        self.machine.write({"ReLU": "kernels-community/old:ReLU"})
        self.hub.faults = [moved("somebody")]
        report = self.assertFails("bad_response")
        self.assertIn("another publisher", report["repositories"][0]["reason"]["text"])
        self.hub.faults = [moved("kernels-community")]
        self.assertFetched()

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

    def test_blobs_that_repositories_share(self):
        """As newer Python libraries lay them out; one that lies is not taken."""
        self.assertFetched()
        self.assertEqual(self.machine.run("lock", "config.toml")[0], 0)
        blob = (self.machine.cache / RELU / "snapshots" / commit("a") / PLACE).resolve()
        shared = self.machine.cache / "blobs" / "ab" / ("ab" + "0" * 62)
        shared.parent.mkdir(parents=True)
        for content, requests in ((blob.read_bytes(), 0), (b"x" * blob.stat().st_size, 1)):
            shared.write_bytes(content)
            blob.unlink()
            blob.symlink_to("../../blobs/ab/" + shared.name)
            if not requests:
                self.assertEqual(self.machine.plan("--locked")["ReLU"]["decision"], "kernel")
            self.hub.requests.clear()
            self.assertFetched()
            self.assertEqual(len(self.requests("cdn")), requests)
            self.assertEqual(blob.is_symlink(), not requests)
            self.assertEqual(hashlib.sha256(blob.read_bytes()).hexdigest(), blob.name)
            self.assertEqual(shared.read_bytes(), content)

    def test_a_shared_blob_that_no_snapshot_has(self):
        self.assertFetched()
        snapshot = self.machine.cache / RELU / "snapshots"
        blob = (snapshot / commit("a") / PLACE).resolve()
        shared = self.machine.cache / "blobs" / "ab" / ("ab" + "0" * 62)
        shared.parent.mkdir(parents=True)
        blob.rename(shared)
        blob.symlink_to("../../blobs/ab/" + shared.name)
        subprocess.run(["rm", "-rf", snapshot], check=True)
        self.hub.requests.clear()
        self.assertEqual(self.assertFetched()["summary"]["files"], 0)
        self.assertEqual(self.requests("cdn"), [])
        self.assertTrue(blob.is_symlink())
        self.assertEqual(self.machine.plan()["ReLU"]["decision"], "kernel")

    def test_what_killed_processes_left_is_swept(self):
        blobs = self.machine.cache / RELU / "blobs"
        digest = "0" * 64
        def make(name, old=True):
            path = blobs / name
            if name.endswith(".link") or ".shared" in name:
                path.symlink_to("../../x")
            elif name.startswith("build"):
                (path / "below").mkdir(parents=True)
                (path / "below" / "link").symlink_to("/")
            else:
                path.write_text("x")
            if old:
                then = time.time() - 7200
                os.utime(path, (then, then), follow_symlinks=False)
            return path
        self.assertFetched()
        swept = [make(name) for name in ("build.0123abcd.tmp", "ref.0123abcd.tmp",
                                         f"{digest}.0123abcd.link", f"{digest[:40]}.0123abcd.link")]
        young = [make(name, old=False) for name in ("build.0123abce.tmp", "ref.0123abce.tmp",
                                                    f"{digest}.0123abce.link")]
        # Of others, or to be gone on with.
        others = [make(name) for name in (
            f"{digest}.incomplete", f"{digest}.0123abcd.incomplete", f".{digest}.0123abcd.shared",
            "x.tmp", "ref.tmp", "build.0123abcd.tmp2", "build.0123ABCD.tmp", "ref.0123abcd5.tmp",
            "x.0123abcd.link", digest)]
        others.append(make("ref.0123abcf.tmp"))
        held = make("build.0123abcf.tmp")
        wrong = make("ref.01234567.tmp")  # a folder where a file was
        wrong.unlink()
        (wrong / "full").mkdir(parents=True)
        os.utime(wrong, (0, 0))
        with open(others[-1]) as file, contextlib.closing(OpenFolder(held)) as folder:
            for one in (file, folder):
                fcntl.flock(one, fcntl.LOCK_EX)
            self.machine.write({"ReLU": "kernels-community/relu@v2:ReLU"})
            self.assertFetched()
            self.assertEqual([p.name for p in swept if os.path.lexists(p)], [])
            for path in (*young, *others, held, wrong):
                self.assertTrue(os.path.lexists(path), path.name)
        self.machine.write({"ReLU": "kernels-community/relu@v2.0.0:ReLU"})
        self.assertFetched()
        self.assertFalse(held.exists() or others[-1].exists())

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
        self.assertNotIn("/page", [r.path for r in self.requests("cdn")])  # not even without it

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

    def test_kernels_that_the_lock_file_does_not_have(self):
        self.lock()  # of an empty cache
        report = self.assertFails("not_locked", "--locked")
        self.assertEqual(report["repositories"][0]["status"], "skipped")
        self.assertEqual(self.requests(), [])

    def test_a_commit_that_is_gone(self):
        self.assertFetched()
        self.lock()
        subprocess.run(["rm", "-rf", self.machine.cache], check=True)
        self.hub.repositories["kernels-community/relu"].commits.pop(commit("a"))
        self.assertFails("not_on_hub", "--locked")


if __name__ == "__main__":
    unittest.main()
