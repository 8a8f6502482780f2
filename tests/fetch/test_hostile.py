"""Servers that lie: names, sizes, endless answers, redirects. test_hostile.py, with KM_PROGRAM."""

import json
import pathlib
import resource
import shutil
import ssl
import subprocess
import tempfile
import time
import unittest

import sample
from case import PROGRAM, Case
from hub_server import Answer, Hub, git_digest, on
from sample import VARIANT, Machine, build, commit, in_build

NUMBER = "0" * 40


class Hostile(Case):
    def outside(self):
        """What is on the machine beside the cache and the config."""
        return sorted(str(p.relative_to(self.machine.folder)) for p in self.machine.folder.rglob("*")
                      if self.machine.cache not in (p, *p.parents)
                      and p not in self.machine.cache.parents and p.name != "config.toml")

    def assertRefused(self, *codes, seconds=30):
        """Fetching ends soon, with one of the reasons, and writes nothing where it must not."""
        start = time.monotonic()
        code, report, err = self.machine.report()
        self.assertLess(time.monotonic() - start, seconds)
        self.assertEqual(code, 1, err)
        self.assertIn(report["repositories"][0]["reason"]["code"], codes)
        self.assertEqual(self.outside(), [])
        self.assertTrue(all(" " <= c or c == "\n" for c in err), repr(err))
        self.assertEqual(list(self.machine.cache.glob("kernels--*/refs/*")), [])
        return report

    def list_of(self, *entries):
        return on("tree", Answer(200, {}, json.dumps(list(entries)).encode()))

    @staticmethod
    def entry(path, **more):
        return {"type": "file", "oid": NUMBER, "size": 1, "path": path, **more}

    def test_names(self):
        build_folder = f"build/{VARIANT}/"
        for path in ("/etc/passwd", "../evil", "build/../../evil", build_folder + "../../../../evil",
                     build_folder + "a/./b", build_folder + "a//b", build_folder, "", ".", "..",
                     build_folder + "a\nb", build_folder + "\x1b[31m", build_folder + "a\x7f",
                     build_folder + "n" * 256, build_folder + "d/" * 50 + "x", "x" * 5000):
            with self.subTest(path):
                self.hub.extra_files = [self.entry(path)]
                self.assertRefused("unsafe_path")
        self.hub.extra_files = [self.entry(build_folder + "nul\0")]
        self.assertRefused("bad_response", "unsafe_path")

    def test_a_file_that_is_also_a_folder(self):
        data = b"x"
        entries = [self.entry(f"build/{VARIANT}/{name}", oid=git_digest(data))
                   for name in ("a", "a/b", "a/b/c")]
        self.hub.faults = [self.list_of(*entries), on("resolve", Answer(200, {}, data))]
        self.assertRefused("unsafe_path", "cannot_write")

    def test_a_list_that_is_none(self):
        for body in ('{"error": 1}', "null", "[1]", '[{"type": "file"}]', "[" * 100_000, '"' * 9,
                     '[{"type": "file", "path": 1, "oid": 2, "size": 3}]', "\xff", "",
                     json.dumps([self.entry("a"), self.entry("a")]),
                     *(json.dumps([self.entry("a", **wrong)]) for wrong in (
                         {"size": -1}, {"size": 1.5}, {"size": "1"}, {"size": 10**30}, {"oid": "../x"},
                         {"oid": "A" * 40}, {"oid": "0" * 64}, {"lfs": {"oid": "/x", "size": 1}},
                         {"lfs": {"oid": "0" * 64}}, {"lfs": {}}))):
            with self.subTest(body[:60]):
                self.hub.faults = [on("tree", Answer(200, {}, body.encode("latin-1")))]
                self.assertRefused("bad_response")

    def test_refs_that_are_none(self):
        bad = {"branches": [{"name": "../../evil", "targetCommit": commit("a")},
                            {"name": "v1", "targetCommit": "../../x"}, 7, {}], "tags": 3}
        for value, code in ((bad, "not_on_hub"), ({}, "bad_response"), ([], "bad_response")):
            self.hub.faults = [on("refs", Answer(200, {}, json.dumps(value).encode()))]
            self.assertRefused(code)

    def test_a_commit_that_is_none(self):
        self.machine.write({"ReLU": "kernels-community/relu@branch:ReLU"})
        for sha in ("../../evil", "a" * 39, None, 5):
            self.hub.faults = [on("revision", Answer(200, {}, json.dumps({"sha": sha}).encode()))]
            self.assertRefused("bad_response")

    def test_sizes(self):
        for size in (5 << 30, 1 << 62):
            self.hub.faults = [self.list_of(
                self.entry(f"build/{VARIANT}/huge.so", lfs={"oid": "0" * 64, "size": size}))]
            self.assertRefused("too_many_files")
        self.hub.faults = [self.list_of(self.entry(f"build/{VARIANT}/metadata.json", size=1 << 29))]
        self.assertRefused("too_many_files")

    def test_many_files(self):
        entries = [self.entry(f"build/{VARIANT}/{i}", oid=git_digest(b"x")) for i in range(30_000)]
        self.hub.faults = [self.list_of(*entries)]
        self.assertRefused("too_many_files")

    def test_lists_without_end(self):
        page = Answer(200, {"Link": '</api/kernels/kernels-community/relu/tree/next>; rel="next"'},
                      b"[]")
        self.hub.faults = [on("tree", page)]
        self.assertRefused("bad_response")
        self.assertLess(len(self.hub.requests), 2000)
        for to in ("file:///etc/passwd", "http://[", "ftp://localhost/"):
            self.hub.faults = [on("tree", Answer(200, {"Link": f'<{to}>; rel="next"'}, b"[]"))]
            self.assertRefused("bad_response")

    def test_lists_that_lead_elsewhere(self):
        tree = "/api/kernels/{}/tree/" + commit("a")
        good, evil = tree.format("kernels-community/relu"), tree.format("somebody/relu")
        self.hub.repository("somebody/relu").add(commit("a"), in_build(build()), "v1")
        for to, why in ((self.hub.cdn + good, "to another server"),
                        (evil, "another publisher"), (evil.replace("kernels", "kernel%73"), "another publisher"),
                        (evil.replace("/somebody", "%2Fsomebody"), "another publisher"),
                        (good + "?recursive=true&expand=false", "in a circle"),
                        (good + "/%2e%2e/%2e%2e/%2e%2e/somebody/relu/tree/main", "another publisher")):
            with self.subTest(to):
                self.hub.requests.clear()
                self.hub.faults = [on("tree", Answer(200, {"Link": f'<{to}>; rel="next"'}, b"[]"))]
                report = self.assertRefused("bad_response")
                self.assertIn(why, report["repositories"][0]["reason"]["text"])
                self.assertLess(len(self.hub.requests), 4)
                self.assertEqual([r.path for r in self.hub.requests if "somebody" in r.path], [])

    def test_redirects_to_another_publisher(self):
        self.hub.repository("somebody/relu").add(commit("a"), in_build(build()), "v1")
        for change in (lambda p: p, lambda p: p.replace("/kernels/", "/kernel%73/"),
                       lambda p: p.replace("kernels/somebody", "kernels%2Fsomebody"),
                       lambda p: p.replace("/kernels/", "/kernels//"),
                       lambda p: p.replace("/kernels/", "/kernels/kernels-community/..%2f"),
                       lambda p: p.replace("/kernels/", "/kernels/kernels-community/%2e%2e/"),
                       lambda p: p.replace("/kernels/", "/models/"),
                       lambda p: p.replace("/api/kernels/", "/").replace("/kernels/", "/")):
            for route in ("refs", "tree", "resolve"):
                with self.subTest(route + change("/kernels/somebody/x")):
                    def moved(request):
                        to = request.path.replace("kernels-community/relu", "somebody/relu")
                        return Answer(307, {"Location": change(to)})
                    self.hub.requests.clear()
                    self.hub.faults = [on(route, lambda r: moved(r) if "somebody" not in r.path else None)]
                    report = self.assertRefused("bad_response")
                    self.assertIn("another publisher", report["repositories"][0]["reason"]["text"])
                    self.assertEqual([r.path for r in self.hub.requests if "somebody" in r.path], [])

    def test_bodies_without_end(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        for route in ("refs", "tree", "resolve", "cdn"):
            with self.subTest(route):
                self.hub.faults = [on(route, Answer(200, {}, b" " * (1 << 16), endless=True))]
                done = subprocess.run([PROGRAM, "fetch", "config.toml"], cwd=self.machine.folder,
                                      env=self.machine.env, capture_output=True, timeout=60,
                                      preexec_fn=limit)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr.decode(), r"\[(bad_response|wrong_content)\]")

    def test_headers_without_end(self):
        self.hub.faults = [on("refs", Answer(200, {f"X-{i}": "x" * 8000 for i in range(90)}, b"{}"))]
        self.assertRefused("bad_response", "no_connection")

    def test_an_error_with_a_long_body(self):
        self.hub.faults = [on("refs", Answer(404, {}, b"x" * (10 << 20)))]
        self.assertRefused("not_on_hub")

    def test_redirects(self):
        for to in ("file:///etc/passwd", "ftp://localhost/x", "gopher://localhost/x", "//", "http://",
                   "http://user:password@localhost/x", "data:,x", "", "http://[", "ldap://x/y",
                   f"https://{'a' * 300}.invalid/"):
            for route in ("refs", "cdn"):
                with self.subTest(f"{route} {to}"):
                    self.hub.faults = [on(route, Answer(302, {"Location": to}))]
                    self.assertRefused("bad_response", "no_connection")

    def test_a_redirect_in_a_circle(self):
        self.hub.faults = [on("cdn", lambda r: Answer(307, {"Location": r.path})),
                           on("refs", lambda r: Answer(302, {"Location": r.path}))]
        self.assertRefused("bad_response")
        self.assertLess(len(self.hub.requests), 20)

    def test_no_http_at_all(self):
        self.hub.faults = [on("refs", Answer(204)), ]
        self.assertRefused("bad_response")

    def test_metadata_that_depends_on_hostile_names(self):
        for repo in ("../../evil", "kernels-community/../x", "kernels-community/a b", "x", "/x/y",
                     "kernels-community/" + "n" * 5000):
            with self.subTest(repo):
                files = in_build(build(**{"kernel-depends": [{"repo-id": repo, "version": 1}]}))
                self.hub.repository("kernels-community/bad").add(commit("a"), files, "v1")
                self.machine.write({"ReLU": "kernels-community/bad:ReLU"})
                self.assertRefused("not_trusted", "bad_metadata")

    def test_redirects_of_repositories_to_hostile_revisions(self):
        for revision in ("../../evil", "-x", "a..b", "v1/", "x" * 3000):
            with self.subTest(revision):
                text = (f'kind = "redirect"\ndestination = "kernels-community/relu"\n'
                        f'revision = "{revision}"\n')
                self.hub.repository("kernels-community/bad").add(
                    commit("a"), {"kernel-status.toml": text}, "v1")
                self.machine.write({"ReLU": "kernels-community/bad:ReLU"})
                self.assertRefused("bad_ref", "bad_redirect")

    def test_metadata_without_sense(self):
        # The first is how git writes a link where there can be none.
        for text in ("../../../../blobs/" + "0" * 40, "{", "[" * 1000, "\xff", json.dumps({"name": 1})):
            files = in_build(build()) | {f"build/{VARIANT}/metadata.json": text}
            self.hub.repository("kernels-community/bad").add(commit("a"), files, "v1")
            self.machine.write({"ReLU": "kernels-community/bad:ReLU"})
            code, report, _ = self.machine.report()
            self.assertEqual(code, 1)
            self.assertEqual(report["repositories"][0]["reason"]["code"], "bad_metadata")


@unittest.skipUnless(shutil.which("openssl"), "SKIPPED: no openssl to make a certificate with")
class Https(unittest.TestCase):
    """The Hub speaks TLS, its CDN does not."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", "key", "-out", "crt"],
                       cwd=self.folder, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "crt", self.folder / "key")
        self.hub = self.enterContext(Hub())
        server = self.hub.servers[0]
        server.socket = context.wrap_socket(server.socket, server_side=True)
        self.hub.endpoint = "https" + self.hub.endpoint[4:]
        sample.fill(self.hub)
        self.machine = Machine(PROGRAM, folder.name, self.hub)

    def test_never_from_https_to_http(self):
        code, report, _ = self.machine.report(SSL_CERT_FILE=str(self.folder / "crt"))
        self.assertEqual(code, 1)
        reason = report["repositories"][0]["reason"]
        self.assertEqual(reason["code"], "bad_response")
        self.assertIn("from https to http", reason["text"])
        self.assertEqual([r for r in self.hub.requests if r.server == "cdn"], [])

    def test_a_certificate_that_nobody_trusts(self):
        code, report, _ = self.machine.report()
        self.assertEqual(code, 1)
        self.assertIn("certificate", report["repositories"][0]["reason"]["text"])
        self.assertEqual(self.hub.requests, [])


if __name__ == "__main__":
    unittest.main()
