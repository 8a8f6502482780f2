"""What cannot be read or written: one clear error, the right exit code, and OUT as it was."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest
import zipfile

import torch

import km

CODE = r"error\[KM08\d\d\]: "
CUTS = 20


class BadInput(km.Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.pt"
        self.report = self.folder / "report.json"

    def refuse(self, model, code, *flags, config=None):
        """Applies in vain; returns the error."""
        before = self.out.read_bytes() if self.out.exists() else None
        there = set(self.folder.iterdir())
        done = km.run("apply", *([config] if config else []), model, "-o", self.out, *flags)
        error = self.assert_one_error(done, code)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.out.read_bytes() if self.out.exists() else None, before)
        self.assertEqual(set(self.folder.iterdir()) - {self.report}, there - {self.report})
        return error

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_not_an_archive(self):
        plain = self.folder / "plain.zip"
        with zipfile.ZipFile(plain, "w") as archive:
            archive.writestr("a.txt", "a")
        saved = self.folder / "saved.pt"
        torch.save({"weight": torch.ones(3)}, saved)
        for path, text in ((self.file("text.pt", b"no zip\n" * 100), "text file"),
                           (self.file("empty.pt", b""), "empty"),
                           (plain, "plain zip"), (saved, "torch.save"),
                           (self.file("zeros.pt", bytes(5000)), "not a zip file")):
            with self.subTest(file=path.name):
                error = self.refuse(path, 1)
                self.assertRegex(error, CODE)
                self.assertIn(text, error)
                self.assertTrue(error.startswith(str(path)))

    def test_no_file(self):
        self.assertRegex(self.refuse(self.folder / "missing.pt", 2), CODE)
        self.assertIn("directory", self.refuse(self.folder, 2))
        self.out.write_bytes(b"before")
        self.refuse(self.folder / "missing.pt", 2)

    def test_truncated(self):
        data = km.model("llama").read_bytes()
        self.out.write_bytes(b"before")
        for i in range(CUTS):
            with self.subTest(cut=i):
                self.assertRegex(self.refuse(self.file("cut.pt", data[:len(data) * i // CUTS]), 1), CODE)
        self.assertRegex(self.refuse(self.file("cut.pt", data[:-1]), 1), CODE)

    def test_damaged(self):
        """A byte of each kind of entry: an error, or a model that computes something; never a crash."""
        path = km.model("own_classes.scripted")
        data = path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            places = [i.header_offset + 60 + i.file_size // 2 for i in archive.infolist()]
        for place in places[::max(1, len(places) // 15)]:
            with self.subTest(byte=place):
                broken = bytearray(data)
                broken[place] ^= 0x5A
                model = self.file("broken.pt", bytes(broken))
                done = km.run("apply", model, "-o", self.out)
                self.assertIn(done.code, (0, 1), done.stderr)
                if done.code:
                    self.assert_one_error(done, 1)
                    self.assertFalse(self.out.exists())
                self.out.unlink(missing_ok=True)

    def test_other_commands(self):
        """verify, bench and plan read archives too."""
        good, bad = km.model("bert"), self.file("text.pt", b"no zip\n")
        missing = self.folder / "missing.pt"
        for path, code in ((bad, 1), (missing, 2)):
            for command in (["verify", path, good], ["verify", good, path], ["bench", good, path],
                            ["plan", "--model", path], ["plan", "--model", path, "--prove"],
                            ["inspect", path]):
                with self.subTest(command=command[0], code=code):
                    self.assertRegex(self.assert_one_error(km.run(*command), code), CODE)

    def test_config(self):
        model = km.model("bert")
        for text, code in (("[kernel_mapping]\nRMSNorm = 3\n", 1), ("[kernel_mapping\n", 1),
                           ('inherit_maping = true\n', 1)):
            error = self.refuse(model, code, config=self.config(text))
            self.assertRegex(error, r"config\.toml:\d+:\d+: error")
        self.refuse(model, 2, config=self.folder / "missing.toml")
        # All mistakes at once.
        two = self.config('[kernel_mapping]\nRMSNorm = 3\nA = "o/r@>=x:A"\n')
        done = km.run("apply", two, model, "-o", self.out)
        self.assertEqual(done.code, 1)
        self.assertEqual(len(re.findall(r"config\.toml:\d+:\d+: error", done.stderr)), 2, done.stderr)
        self.assertFalse(self.out.exists())

    def test_usage(self):
        for args in (["apply", km.model("bert")], ["apply", "-o", self.out],
                     ["apply", km.model("bert"), "-o", "-"],
                     ["apply", km.model("bert"), "-o", self.out, "--device", "gpu"]):
            done = km.run(*args)
            self.assertEqual(done.code, 2, args)
            self.assertIn("error", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_out_cannot_be_written(self):
        """The report is written all the same."""
        model = km.model("bert")
        for out in (self.folder / "no/such/folder/out.pt", self.folder, pathlib.Path("/dev/full"),
                    self.folder / ("x" * 300)):
            with self.subTest(out=out.name):
                self.report.unlink(missing_ok=True)
                there = set(self.folder.iterdir())
                done = km.run("apply", model, "-o", out, "--report", self.report)
                self.assertIn("cannot write", self.assert_one_error(done, 2))
                self.assertIn('"kernelmap-report/1"', self.report.read_text())
                self.assertEqual(set(self.folder.iterdir()), there | {self.report})

    def test_report_cannot_be_written(self):
        for report in (self.folder / "no/report.json", "/dev/full"):
            done = km.run("apply", km.model("bert"), "-o", self.out, "--report", report)
            self.assertIn("cannot write", self.assert_one_error(done, 2))

    def test_standard_output_is_full(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([km.PROGRAM, "apply", km.model("bert"), "-o", self.out], check=False,
                                  stdout=full, stderr=subprocess.PIPE, env=km.ENVIRONMENT, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"standard output", done.stderr)

    def test_folder_without_permission(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        locked = self.folder / "locked"
        locked.mkdir(mode=0o500)
        done = km.run("apply", km.model("bert"), "-o", locked / "out.pt", "--report", self.report)
        self.assertIn("cannot write", self.assert_one_error(done, 2))
        self.assertTrue(self.report.exists())

    def test_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        try:
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk],
                                     capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            mounted = False
        if not mounted:
            self.skipTest("cannot mount a small disk here")
        try:
            out = disk / "out.pt"
            for before in (None, b"before"):
                if before:
                    out.write_bytes(before)
                done = km.run("apply", km.model("llama"), "-o", out, "--report", self.report)
                self.assertIn("No space left", self.assert_one_error(done, 2))
                self.assertTrue(self.report.exists())
                self.assertEqual(out.read_bytes() if before else None, before)
                self.assertEqual([p.name for p in disk.iterdir()], ["out.pt"] if before else [])
        finally:
            subprocess.run(["umount", disk], check=True)


class Interrupted(km.Case):
    """An interrupt at any time: exit 130, OUT as it was, and no temporary file."""

    def interrupt(self, delay, number, *flags):
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        out = self.folder / "out.pt"
        out.write_bytes(b"before")
        process = subprocess.Popen([km.PROGRAM, "apply", km.model("llama"), "-o", out, *flags],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env={**km.ENVIRONMENT, "TMPDIR": str(temporary)})
        with contextlib.closing(process.stderr):
            time.sleep(delay)
            process.send_signal(number)
            code = process.wait(60)
        # It may have been ready, or not have come to its first line: then the shell says 130, too.
        self.assertIn(code, (0, 130, -number))
        if code:
            self.assertEqual(out.read_bytes(), b"before")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["out.pt", "tmp"])
        self.assertEqual(list(temporary.iterdir()), [])
        return code

    def test_interrupt(self):
        start = time.monotonic()
        km.run("apply", km.model("llama"), "-o", self.folder / "out.pt", "--verify")
        whole = time.monotonic() - start
        codes = []
        for i in range(12):
            number = signal.SIGTERM if i % 4 == 3 else signal.SIGINT
            codes.append(self.interrupt(whole * (i + 1) / 14, number, *["--verify"] * (i % 2)))
        self.assertIn(130, codes)
        self.assertLessEqual(sum(c < 0 for c in codes), 1)


if __name__ == "__main__":
    unittest.main()
