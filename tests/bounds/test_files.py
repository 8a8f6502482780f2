"""What a path may lead to, and where outputs may go."""

import os
import pathlib
import socket
import subprocess
import threading
import time
import unittest

from limited import PROGRAM, Case, run

FINE = 'kernel_mapping.RMSNorm = "builtin:rms_norm"\n'


class Inputs(Case):
    def assertRefused(self, done, reason):
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, b"")
        self.assertRegex(done.stderr.decode(), rf"^kernelmap: error: cannot read `.*`: {reason}\n$")

    def both(self, path, reason, **options):
        """As a config, and as the policy."""
        self.assertRefused(run("check", path, folder=self.folder, **options), reason)
        self.assertRefused(run("plan", folder=self.folder, env={"KERNELMAP_POLICY": str(path)}, **options), reason)

    def test_folders_devices_and_sockets(self):
        self.both("/", "Is a directory")
        for device in ("/dev/zero", "/dev/urandom", "/dev/full"):
            self.both(device, "neither a file nor a pipe")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / "socket"))
            self.both("socket", "neither a file nor a pipe")

    def test_paths_that_lead_nowhere(self):
        (self.folder / "file").write_text(FINE)
        (self.folder / "loop").symlink_to("loop")
        (self.folder / "dangling").symlink_to("nothing")
        self.both("missing", "No such file or directory")
        self.both("dangling", "No such file or directory")
        self.both("file/config.toml", "Not a directory")
        self.both("loop", "Too many levels of symbolic links")
        self.both("x" * 5000, "File name too long")
        self.assertRefused(run("check", "", folder=self.folder), "No such file or directory")

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_unreadable(self):
        (self.folder / "secret").write_text(FINE)
        (self.folder / "secret").chmod(0)
        self.both("secret", "Permission denied")

    def test_the_empty_device_is_an_empty_config(self):
        self.assertEqual(run("check", "/dev/null").returncode, 0)

    def test_standard_input(self):
        self.assertEqual(run("check", "-", input=FINE.encode()).returncode, 0)
        self.assertEqual(run("check", "/dev/stdin", input=FINE.encode()).returncode, 0)
        folder = os.open(self.folder, os.O_RDONLY)
        self.assertRefused(run("check", "-", stdin=folder), "Is a directory")
        os.close(folder)
        closed = subprocess.run(["sh", "-c", '"$0" check - <&-', PROGRAM], capture_output=True, timeout=60, check=False)
        self.assertRefused(closed, "Bad file descriptor")

    def test_process_substitution(self):
        for command, code in (("echo '" + FINE.strip() + "'", 0), ("true", 0), ("sleep 1; echo x = 1", 1)):
            done = subprocess.run(["bash", "-c", f'"$0" check <({command})', PROGRAM], capture_output=True, timeout=60,
                                  check=False)
            self.assertEqual(done.returncode, code, done)

    def test_pipe_without_a_writer(self):
        os.mkfifo(self.folder / "pipe")
        self.both("pipe", "nothing writes to this pipe")

    def test_pipe_with_a_late_and_slow_writer(self):
        path = self.folder / "pipe"
        os.mkfifo(path)

        def write():
            time.sleep(0.2)
            with path.open("w") as pipe:
                for part in (FINE[:10], FINE[10:], "x = 1\n"):
                    pipe.write(part)
                    pipe.flush()
                    time.sleep(0.3)
        writer = threading.Thread(target=write)
        writer.start()
        done = run("check", "pipe", folder=self.folder)
        writer.join()
        self.assertIn(b"pipe:2:1: error[KM0201]", done.stderr)

    def test_file_that_changes(self):
        path, stop = self.folder / "config.toml", threading.Event()
        path.write_text(FINE)

        def change():
            size = 0
            while not stop.is_set():
                size = (size + 7919) % 500_000
                with path.open("r+b") as file:
                    file.write(b"x = 1 # \xe6\xbc\xa2\n" * (size // 12))
                    file.truncate(size)
        writer = threading.Thread(target=change)
        writer.start()
        try:
            for _ in range(20):
                self.assertIn(run("check", "config.toml", folder=self.folder).returncode, (0, 1))
        finally:
            stop.set()
            writer.join()

    def test_many_files(self):
        (self.folder / "a.toml").write_text("x = 1\n")
        done = run("check", *["a.toml"] * 300, folder=self.folder)
        self.assertIn(b"300 errors, 0 warnings", done.stdout)


class Outputs(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "config.toml").write_text("[kernel_mapping]\n" + "".join(f'Layer{i} = ""\n' for i in range(9000)))

    def test_broken_pipe(self):
        for args in (["plan", "config.toml"], ["check", "--format", "json", "config.toml"], ["--help"]):
            reader, writer = os.pipe()
            os.close(reader)
            done = run(*args, folder=self.folder, stdout=writer)
            os.close(writer)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr, b"kernelmap: error: cannot write `standard output`: Broken pipe\n")

    def test_reader_that_stops(self):
        done = subprocess.run(["bash", "-c", '"$0" plan config.toml | head -1; echo ${PIPESTATUS[0]}', PROGRAM],
                              cwd=self.folder, capture_output=True, timeout=60, check=False)
        self.assertRegex(done.stdout.decode(), r"^config.toml for .*\n2\n$")

    def test_closed_and_full(self):
        done = subprocess.run(["sh", "-c", '"$0" plan config.toml >&-', PROGRAM], cwd=self.folder, capture_output=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        with pathlib.Path("/dev/full").open("wb") as full:
            done = run("plan", "config.toml", folder=self.folder, stdout=full)
        self.assertEqual(done.stderr, b"kernelmap: error: cannot write `standard output`: No space left on device\n")

    def test_diagnostics_that_nobody_reads(self):
        (self.folder / "wrong.toml").write_text("x = 1\n")
        reader, writer = os.pipe()
        os.close(reader)
        done = run("check", "wrong.toml", folder=self.folder, stderr=writer)
        os.close(writer)
        self.assertEqual((done.returncode, done.stdout), (1, b"1 error, 0 warnings\n"))


if __name__ == "__main__":
    unittest.main()
