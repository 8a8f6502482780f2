"""What the machine is like: no home folder, pipes in the place of files, a limit on sizes, a cache that is no folder or
cannot be written, a proxy that is away. test_machine.py, with KM_PROGRAM."""

import hashlib
import os
import pathlib
import resource
import socket
import stat
import subprocess
import tempfile
import unittest

from case import BIG, PROGRAM, RELU, Case
from hub_server import Answer, on
from sample import commit

BIG_REPO = "kernels--kernels-community--big"
NOBODY = 54321  # a user that the system does not know


class Home(Case):
    def setUp(self):
        super().setUp()
        for name in ("HOME", "HF_HOME"):
            self.machine.env.pop(name)
        self.folder = self.machine.folder
        # What must not be taken for the cache.
        (self.folder / "~/.cache/huggingface/hub/kernels--wrong--cache/snapshots/a/build/x").mkdir(
            parents=True)
        (self.folder / ".cache/huggingface/hub/kernels--wrong--cache/snapshots/a/build/x").mkdir(
            parents=True)

    def test_no_folder_called_tilde(self):
        for env in ({}, {"HOME": ""}):
            _, out, err = self.machine.run("kernels", "list", **env)
            self.assertNotIn("wrong/cache", out + err)

    @unittest.skipUnless(os.geteuid() == 0, "SKIPPED: only root can become another user")
    def test_a_user_without_a_home(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "kernelmap")
            program.write_bytes(pathlib.Path(PROGRAM).read_bytes())
            os.chmod(program, 0o755)
            for path in (folder, self.folder):
                os.chmod(path, 0o777)
            def run(*args, **env):
                return subprocess.run([program, *args], cwd=self.folder, user=NOBODY, text=True,
                                      env={**self.machine.env, **env}, capture_output=True)
            for args in (("fetch", "config.toml"), ("kernels", "list"),
                         ("kernels", "info", "kernels-community/relu")):
                for env in ({}, {"HOME": ""}, {"HF_HOME": "~/hf"}):
                    done = run(*args, **env)
                    self.assertEqual(done.returncode, 2, done.stdout)
                    self.assertEqual(done.stderr.count("there is no home folder"), 1, done.stderr)
                    self.assertIn("\nhelp: set HF_HOME", done.stderr)
            # Whatever needs no cache does not need a home either; what does says so.
            done = run("plan", "config.toml")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("there is no home folder", done.stdout + done.stderr)
            self.assertEqual(run("fetch", "config.toml", HF_HUB_CACHE="here").returncode, 0)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()),
                         [".cache", "config.toml", "here", "~"])


class Pipes(Case):
    """Nothing waits for a pipe, and what is no file is not taken for one."""

    def place(self, path, kind):
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "device":
            path.symlink_to("/dev/zero")
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.addCleanup(self.socket.close)
            self.socket.bind(str(path))

    def remove(self, path):
        path.rmdir() if path.is_dir() else path.unlink()

    def test_in_the_place_of_the_lock_file(self):
        lock = self.machine.folder / "kernelmap.lock"
        for kind in ("pipe", "folder", "device", "socket"):
            with self.subTest(kind):
                self.place(lock, kind)
                before = stat.S_IFMT(lock.lstat().st_mode)
                code, out, err = self.machine.run("lock", "config.toml")
                self.assertEqual((code, out), (2, ""))
                self.assertIn("cannot write `kernelmap.lock`", err)
                self.assertEqual(stat.S_IFMT(lock.lstat().st_mode), before)
                code, out, err = self.machine.run("fetch", "config.toml", "--locked")
                self.assertEqual((code, out), (2, ""))
                self.assertIn("kernelmap.lock", err)
                self.remove(lock)

    def test_in_the_place_of_a_result(self):
        path = self.machine.folder / "result"
        for kind, why in (("pipe", "nothing reads this pipe"), ("folder", "Is a directory"),
                          ("socket", "a socket")):
            with self.subTest(kind):
                self.place(path, kind)
                for args in (("plan", "config.toml", "-o", "result"),
                             ("lock", "config.toml", "-o", "result"),
                             ("fetch", "config.toml", "-o", "result")):
                    code, out, err = self.machine.run(*args)
                    self.assertEqual((code, out), (2, ""))
                    self.assertIn(f"cannot write `result`: {why}", err)
                self.remove(path)

    def test_a_pipe_that_is_read(self):
        path = self.machine.folder / "result"
        os.mkfifo(path)
        process = self.machine.start("plan", "config.toml", "-o", "result")
        text = path.read_text()
        self.assertEqual(process.communicate(timeout=60), (b"", b""))
        self.assertEqual(text, self.machine.run("plan", "config.toml")[1])
        self.assertEqual(self.machine.run("plan", "config.toml", "-o", "/dev/null"), (0, "", ""))
        self.assertEqual(self.machine.run("plan", "config.toml", "-o", "/dev/stdout"), (0, text, ""))

    def test_in_the_place_of_what_is_read(self):
        pipe = self.machine.folder / "pipe"
        os.mkfifo(pipe)
        for args, env in ((("fetch", "pipe"), {}), (("plan", "pipe"), {}),
                          (("plan", "config.toml"), {"KERNELMAP_POLICY": "pipe"}),
                          (("fetch", "config.toml"), {"SSL_CERT_FILE": "pipe"})):
            with self.subTest(args):
                code, out, err = self.machine.run(*args, **env)
                self.assertEqual((code, out), (2, ""))
                self.assertIn("`pipe`", err)
        # A token's file that is none is no token.
        self.assertFetched(HF_TOKEN_PATH=str(pipe))


class Limits(Case):
    def fetch_limited(self, size, *args):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        done = subprocess.run([PROGRAM, *args], cwd=self.machine.folder, env=self.machine.env,
                              capture_output=True, text=True, timeout=60, preexec_fn=limit)
        return done.returncode, done.stdout + done.stderr

    def test_files_may_not_be_as_long(self):
        self.add_big()
        code, text = self.fetch_limited(100_000, "fetch", "config.toml")
        self.assertEqual(code, 2, text)
        self.assertIn("File too large [cannot_write]", text)
        # Of others, which end with it, something may stay.
        blobs = self.machine.cache / BIG_REPO / "blobs"
        self.assertEqual(list(blobs.glob(hashlib.sha256(BIG).hexdigest() + "*")), [])
        self.assertFetched()

    def test_results_may_not_be_as_long(self):
        for args in (("lock", "config.toml"), ("plan", "config.toml", "-o", "plan.txt")):
            code, text = self.fetch_limited(10, *args)
            self.assertEqual(code, 2, text)
            self.assertIn("File too large", text)
        self.assertEqual(sorted(p.name for p in self.machine.folder.iterdir()), ["config.toml"])

    def test_a_ref_may_not_be_as_long(self):
        self.assertFetched()
        self.hub.repository("kernels-community/relu").branches["v7"] = commit("a")
        self.machine.write({"ReLU": "kernels-community/relu@v7:ReLU"})
        code, text = self.fetch_limited(10, "fetch", "config.toml")
        self.assertEqual(code, 2, text)
        self.assertIn("`refs/v7` of the cache cannot be written: File too large", text)
        self.assertEqual(self.leftovers(), [])
        self.assertFalse((self.machine.cache / RELU / "refs/v7").exists())


class Folders(Case):
    """A cache that is none, cannot be made or written: one error, before anything is asked."""

    def assertNoCache(self, cache, why):
        self.machine.write({"ReLU": "kernels-community/relu:ReLU", "Spec": "kernels-community/needs:ReLU"})
        code, out, err = self.machine.fetch(HF_HUB_CACHE=str(cache))
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn(f"the folder of the cache, `{cache}`, {why}", err)
        self.assertEqual(err.count("error:"), 1)
        self.assertIn("\nhelp: ", err)
        self.assertEqual(self.requests(), [])

    def test_it_is_no_folder(self):
        file = self.machine.folder / "file"
        file.write_text("")
        self.assertNoCache(file, "is no folder")
        self.assertNoCache(file / "hub", f"cannot be made: `{file}` is no folder")
        os.mkfifo(self.machine.folder / "pipe")
        self.assertNoCache(self.machine.folder / "pipe", "is no folder")
        (self.machine.folder / "link").symlink_to("nowhere")
        self.assertNoCache(self.machine.folder / "link", "is a link that leads nowhere")
        self.assertNoCache("n" * 300, "cannot be made: File name too long")

    def test_a_file_in_the_place_of_a_repository(self):
        self.machine.cache.mkdir(parents=True)
        (self.machine.cache / RELU).write_text("")
        self.assertFails("unsafe_path")

    def test_what_is_in_the_way_of_a_download(self):
        self.add_big()
        blobs = self.machine.cache / BIG_REPO / "blobs"
        (blobs / (hashlib.sha256(BIG).hexdigest() + ".incomplete") / "full").mkdir(parents=True)
        code, report, err = self.machine.report()
        self.assertEqual(code, 1)
        self.assertIn("is no folder or file of its own [unsafe_path]", err)
        self.assertIn("\nhelp: ", err)

    @unittest.skipUnless(os.geteuid() == 0, "SKIPPED: only root can mount")
    def test_a_file_system_that_is_read_only(self):
        folder = self.machine.folder / "mounted"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", folder]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            self.skipTest("SKIPPED: nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", folder], check=True)
        cache = folder / "hub"
        self.machine.env["HF_HUB_CACHE"] = str(cache)
        self.assertFetched()
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        self.assertFetched()  # all is there
        self.machine.write({"ReLU": "kernels-community/relu@v2:ReLU"})
        code, _, err = self.machine.report()
        self.assertEqual(code, 2)
        self.assertIn("Read-only file system [cannot_write]", err)
        self.hub.requests.clear()
        self.assertNoCache(folder / "other", "cannot be made: Read-only file system")


class Proxies(Case):
    SECRET = "donotshowme"

    def fails(self, proxy, name="http_proxy", **env):
        self.machine.env.pop("NO_PROXY", None)
        code, out, err = self.machine.fetch(**{name: proxy, **env})
        self.assertEqual(code, 1, out)
        self.assertNotIn(self.SECRET, out + err)
        self.assertIn("[no_connection]", err)
        self.assertEqual(self.requests(), [])
        return err

    def test_the_proxy_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
            err = self.fails(f"http://me:{self.SECRET}@127.0.0.1:{port}", name)
            self.assertIn(f"the proxy `127.0.0.1:{port}`: it does not take connections", err)
        err = self.fails(f"me:{self.SECRET}@no-such-host.invalid:3128")
        self.assertIn("the proxy `no-such-host.invalid:3128`: its name is not known", err)

    def test_one_that_does_not_open_the_way(self):
        """It answers CONNECT, as the Hub would be asked through TLS."""
        self.machine.env["HF_ENDPOINT"] = "https" + self.hub.endpoint[4:]
        port = self.hub.servers[1].server_port
        self.hub.faults = [on("any", Answer(407))]
        err = self.fails(f"http://me:{self.SECRET}@127.0.0.1:{port}", "HTTPS_PROXY")
        self.assertIn(f"the proxy `127.0.0.1:{port}`: it answers with status 501", err)

    def test_one_that_is_not_used(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        proxy = f"http://127.0.0.1:{port}"
        self.assertFetched(http_proxy=proxy, NO_PROXY="*")
        self.hub.requests.clear()
        self.machine.env["HF_ENDPOINT"] = proxy
        err = self.fails("http://localhost:1", NO_PROXY="127.0.0.1")
        self.assertIn("`127.0.0.1`: it does not take connections", err)
        self.assertNotIn("the proxy", err)


if __name__ == "__main__":
    unittest.main()
