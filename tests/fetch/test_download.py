"""Downloads that are cut off, slow, wrong or waited for: test_download.py, with KM_PROGRAM."""

import fcntl
import hashlib
import os
import subprocess
import unittest

import hub_server
from case import BIG, PROGRAM, RELU, Case
from hub_server import Answer, on, once
from sample import build


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


class Terminal(Case):
    def test_progress_on_a_terminal_alone(self):
        ours, theirs = os.openpty()
        process = subprocess.Popen([PROGRAM, "fetch", "config.toml"], cwd=self.machine.folder,
                                   env=self.machine.env, stdout=subprocess.PIPE, stderr=theirs)
        out = process.communicate(timeout=60)[0]
        os.close(theirs)
        shown = os.read(ours, 10_000).decode()
        self.assertIn("4 of 4 files", shown)
        self.assertTrue(shown.endswith("\r\x1b[K"))
        self.assertNotIn(b"\x1b", out)


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
