"""Large, hostile and equal inputs of kernelmap diff."""

import json
import os
import pathlib
import pty
import random
import re
import subprocess
import tempfile
import time
import unittest
from html.parser import HTMLParser

PROGRAM = os.path.abspath(os.environ["KM_PROGRAM"])
MAX_COMMENT = 65536
FORMATS = ("text", "markdown", "html", "json")


def site(path, action="replaced", ref="builtin:rms_norm", name="RMSNorm"):
    kernel = {"ref": ref, "repo": None, "revision": None, "variant": None, "name": "rms_norm", "digest": None,
              "trust": "builtin"}
    return {"path": path, "class": name, "name": name, "action": action, "kernel": kernel, "members": [], "also": [],
            "proof": None, "reason": {"code": "different_code", "text": ""} if action == "fallback" else None,
            "source": {"file": "k.toml", "line": 1, "column": 1}, "model_source": None}


def report(sites):
    target = {"device": "cpu", "capability": None, "mode": "inference", "torch": "2.13", "cuda": None}
    return json.dumps({"format": "kernelmap-report/1", "target": target, "model": {"file": "m.pt", "sha256": "0" * 64},
                       "summary": {"replaced": 0, "fused": 0, "fallback": 0}, "sites": sites}, indent=1)


class Limits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def diff(self, old, new, *args):
        for name, text in (("old.json", old), ("new.json", new)):
            (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return subprocess.run([PROGRAM, "diff", "old.json", "new.json", *args], cwd=self.folder, capture_output=True,
                              text=True, timeout=120, check=False, env={"HF_HOME": "/nowhere"})

    def test_ten_thousand_sites(self):
        n = 10_000
        old = report([site(f"layers.{i}.norm") for i in range(n)])
        new = report([site(f"layers.{i}.norm", "fallback" if i % 2 else "replaced") for i in range(n)])
        start = time.monotonic()
        text = self.diff(old, new).stdout
        self.assertLess(time.monotonic() - start, 30)  # 0.4 s on a machine of its own
        self.assertIn("layers.*.norm (5000 of 10000)", text)
        self.assertLess(len(text.splitlines()), 10)
        sites = json.loads(self.diff(old, new, "--format", "json").stdout)["targets"][0]["sites"]
        self.assertEqual([s["path"] for s in sites], [f"layers.{i}.norm" for i in range(1, n, 2)])

    def test_a_comment_is_never_too_long(self):
        # Each site its own shape, and its own change; names as long as they come.
        for n, width in ((10_000, 1), (3000, 2000), (10, 200_000)):
            sites = [site(f"m{i}x" + "|" * width) for i in range(n)]
            text = self.diff(report(sites[: n // 2]), report(sites[n // 2:]), "--format", "markdown").stdout
            self.assertLess(len(text.encode()), MAX_COMMENT)
            rows = len(re.findall(r"(?m)^\| (added|removed) \|", text))
            left_out = re.search(r"(?m)^(\d+) rows? not shown", text)
            self.assertEqual(rows + (int(left_out[1]) if left_out else 0), n)
            self.assertEqual(text.count("<details>"), text.count("</details>"))

    def test_long_text_lists_the_first(self):
        old, new = report([]), report([site(f"m{i}x") for i in range(100)])
        text = self.diff(old, new).stdout
        self.assertIn("… 80 more lines: --format json lists each site", text)
        self.assertEqual(len(self.diff(old, new, "--format", "html").stdout.split("<code>m")), 101)

    def test_order_and_a_second_run_change_nothing(self):
        names = [f"l.{i % 7}.n{i}" for i in range(300)]
        old = [site(p) for p in names]
        new = [site(p, random.Random(p).choice(["replaced", "fallback", "already"])) for p in names[:250]]
        for form in FORMATS:
            first = self.diff(report(old), report(new), "--format", form)
            again = self.diff(report(old), report(new), "--format", form)
            self.assertEqual(first.stdout, again.stdout)
            self.assertEqual((first.returncode, first.stderr), (0, ""))
        shuffled = random.Random(0).sample(old, len(old))
        self.assertIn("no difference", self.diff(report(old), report(shuffled)).stdout)

    def test_colour_on_a_terminal_only(self):
        new = report([site("a", "fallback")])
        self.assertNotIn("\033", self.diff(report([site("a")]), new).stdout)
        for variables, coloured in (({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)):
            ours, theirs = pty.openpty()
            done = subprocess.run([PROGRAM, "diff", "old.json", "new.json"], cwd=self.folder, stdout=theirs, check=False,
                                  timeout=60, env={"HF_HOME": "/nowhere", **variables})
            os.close(theirs)
            out = os.read(ours, 10000).decode()
            os.close(ours)
            self.assertEqual(done.returncode, 0)
            self.assertEqual("\033[1;31m!\033[0m RMSNorm" in out, coloured)
            self.assertEqual("\033" in out, coloured)

    def test_too_large_and_too_many(self):
        good = report([])
        for text, code in ((b" " * ((64 << 20) + 1), "KM0101"),
                           (b'{"format": "kernelmap-report/1", "sites": [' + b"1," * 2_000_000 + b"1]}", "KM0107"),
                           (b"[" * 100_000, "KM0106"), (b'{"format": "kernelmap-report/1", "a": "\xff"}', "KM0102"),
                           (b'{"format": "kernelmap-report/1\0"}', "KM0103")):
            done = self.diff(good, text)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(re.findall(r"KM\d{4}", done.stderr), [code])

    def test_every_cut_and_many_changed_bytes_end_in_a_diff_or_an_error(self):
        text = report([site("a.0.b"), site("a.1.b", "fallback")]).encode()
        rng = random.Random(1)
        changed = [text[:i] for i in range(0, len(text), 37)]
        for _ in range(60):
            at = rng.randrange(len(text))
            changed.append(text[:at] + bytes([rng.randrange(256)]) + text[at + 1:])
        for other in changed:
            done = self.diff(text, other)
            self.assertIn(done.returncode, (0, 1), other)
            self.assertEqual(bool(done.stdout), done.returncode == 0)
            self.assertEqual(bool(done.stderr), done.returncode == 1)

    def test_nothing_of_a_name_is_markup(self):
        evil = ['</code></td><img src=x onerror=alert(1)>', "`a` | b", "@user", "a\nb", "\u202eabc", "<!--", "&lt;", "\\|",
                "[x](javascript:1)", "]]>", "x" * 5000, " a ", "'\"", "\x1b[31m", "<details>", "```"]
        sites = [site(e, "fallback", e, e) for e in evil]
        done = self.diff(report([site(e, "replaced", e, e) for e in evil]), report(sites), "--format", "html")

        class Tags(HTMLParser):
            tags, text = set(), ""

            def handle_starttag(self, tag, attrs):
                self.tags.add(tag)
                for name, _ in attrs:
                    assert not name.startswith("on"), name

            def handle_data(self, data):
                self.text += data

        page = Tags()
        page.feed(done.stdout)
        self.assertLessEqual(page.tags, set("html head meta title style body h1 h2 h3 p strong section table thead tbody "
                                            "tr th td code ul li".split()))
        for e in evil:
            if e.isprintable():
                self.assertIn(e, page.text)
        for form in ("html", "markdown", "text"):
            out = self.diff(report([]), report(sites), "--format", form).stdout
            self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\u202e]")
        text = self.diff(report([]), report(sites), "--format", "markdown").stdout
        for line in text.splitlines():
            if line.startswith(("| added", "| fallback")):
                self.assertEqual(line.count("|"), 6, line)
                # Outside code spans there are only our own words.
                outside = re.sub(r"`[^`]*`|<code>[^<]*</code>", "", line)
                self.assertRegex(outside, r"^[| a-z()0-9]*$")


if __name__ == "__main__":
    unittest.main()
