"""The bytes of pages: golden/NAME.html is that of golden/NAME.json (with NAME.verify.json, if there
is one), its style and script left out; NAME.md is its Markdown. KM_UPDATE_GOLDEN=1 rewrites them."""

import base64
import copy
import hashlib
import html.parser
import json
import os
import re
import time
import unittest

from pages import EVIL, HERE, ROOT, kernelmap, layers, page, report, site

VOID = {"meta", "input", "br", "img"}


class Parser(html.parser.HTMLParser):
    """Elements, and whether they nest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts, self.comments = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        self.comments.append(data)


def short(text):
    text = re.sub(r"(<style>|<script>).*?(</style>|</script>)", r"\1…\2", text, flags=re.S)
    return re.sub(r"sha256-[A-Za-z0-9+/]{43}=", "sha256-…", text)


class Pages(unittest.TestCase):
    def test_golden(self):
        names = [path for path in sorted((HERE / "golden").glob("*.json"))
                 if ".verify" not in path.name]
        self.assertTrue(names)
        for path in names:
            verified = path.with_suffix(".verify.json")
            extra = ["--verified", str(verified)] if verified.exists() else []
            pages = {".html": short(kernelmap("report", str(path), "--format", "html",
                                              *extra).decode()),
                     ".md": kernelmap("report", str(path), "--format", "markdown").decode()}
            for suffix, found in pages.items():
                golden = path.with_suffix(suffix)
                if os.environ.get("KM_UPDATE_GOLDEN") == "1":
                    golden.write_text(found, encoding="utf-8")
                with self.subTest(golden.name):
                    self.assertEqual(golden.read_text(encoding="utf-8"), found)

    def test_nothing_from_elsewhere_and_only_its_own_script(self):
        text = page(layers(3)).decode()
        for tag, attributes in Parser(text).elements:
            self.assertNotIn(tag, ("link", "img", "iframe", "object", "embed", "base", "form"))
            for name, value in attributes.items():
                self.assertFalse(name.startswith("on") or name in ("style", "src"), (tag, name))
                self.assertFalse(name == "href" and not value.startswith("#"), value)
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        for tag in ("style", "script"):
            inside = re.findall(f"<{tag}>(.*?)</{tag}>", text, flags=re.S)
            self.assertEqual(len(inside), 1)
            digest = base64.b64encode(hashlib.sha256(inside[0].encode()).digest()).decode()
            self.assertIn(f"{tag}-src 'sha256-{digest}'", policy)
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn("url(", text)

    def test_no_text_is_markup(self):
        plain = site("a.b", "N", "fallback", "some_code", "reference: r; model: m", also=["x"])
        fused = site("c", "N+M", "fused", members=["c.a", "c.b"])
        elements = [tag for tag, _ in Parser(page(report([plain, fused])).decode()).elements]
        evil_reason = {"code": EVIL, "text": EVIL,
                       "difference": f"reference: {EVIL}; model: {EVIL}"}
        evil = site(EVIL, EVIL, "fallback", also=[EVIL], reference=EVIL, proof=EVIL,
                    model_source=EVIL, kernel={"ref": EVIL, "name": EVIL, "repo": EVIL,
                                               "revision": EVIL, "variant": EVIL, "digest": EVIL,
                                               "trust": EVIL},
                    source={"file": EVIL, "line": 1, "column": 1})
        evil["reason"] = evil_reason
        value = report([evil, copy.deepcopy(fused) | {"members": [EVIL, EVIL]}],
                       model={"file": EVIL, "sha256": EVIL})
        text = page(value).decode()
        parsed = Parser(text)
        known = set(elements)
        self.assertEqual({tag for tag, _ in parsed.elements} - known, set())
        self.assertEqual(sum(tag == "script" for tag, _ in parsed.elements), 1)
        self.assertEqual(parsed.comments, [])
        self.assertNotIn("\u202e", text)
        self.assertNotIn("\u001b", text)
        # All of it is shown.
        shown = "".join(parsed.texts)
        self.assertGreater(shown.count("document.title='evil'"), 12)

    def test_a_plan_has_its_traces(self):
        plan = kernelmap("plan", str(ROOT / "examples/trust.toml"), "--format", "json",
                         "--device", "cpu")
        direct = kernelmap("plan", str(ROOT / "examples/trust.toml"), "--format", "html",
                           "--device", "cpu")
        self.assertEqual(kernelmap("report", "-", "--format", "html", stdin=plan), direct)
        Parser(direct.decode())
        for entry in json.loads(plan)["entries"]:
            self.assertIn(entry["name"].encode(), direct)
        self.assertIn(b"! fails", direct)

    def test_other_formats_are_what_was_written(self):
        plan = kernelmap("plan", "--format", "json", "--device", "cpu")
        self.assertEqual(kernelmap("report", "-", "--format", "json", stdin=plan), plan)
        self.assertEqual(kernelmap("report", "-", stdin=plan),
                         kernelmap("plan", "--device", "cpu"))
        value = json.dumps(layers(2)).encode()
        again = json.loads(kernelmap("report", "-", "--format", "json", stdin=value))
        self.assertEqual(again["sites"], json.loads(value)["sites"])

    def test_text_does_not_steer_a_terminal(self):
        value = report([site(EVIL, EVIL, "fallback", EVIL, EVIL)], model={"file": EVIL})
        for written in ("text", "markdown"):
            found = kernelmap("report", "-", "--format", written, stdin=json.dumps(value).encode())
            self.assertNotIn("\u202e", found.decode())
            self.assertNotIn("\u001b", found.decode())

    def test_ten_thousand_sites(self):
        value = layers(1250)
        started = time.monotonic()
        first = page(value)
        self.assertLess(time.monotonic() - started, 10)  # on a busy machine; 0.3 s on an idle one
        self.assertLess(len(first), 1 << 20)
        self.assertEqual(first, page(value))
        for number, each in enumerate(value["sites"]):
            each["class"] = f"C{number}"  # no two are alike
        self.assertLess(len(page(value)), 16 << 20)

    def test_mistakes(self):
        for text, wanted in ((b"", "error"), (b"[1]", "error"), (b"{}", "format"),
                             (b'{"format": "kernelmap-check/1"}', "KM0601"),
                             (b'{"format": "kernelmap-report/2"}', "KM0602"),
                             (b'{"format": "kernelmap-report/1"}', "target")):
            with self.subTest(text):
                found = kernelmap("report", "-", "--format", "html", stdin=text, code=1)
                self.assertIn(wanted, found.decode())
        self.assertIn("nowhere.json", kernelmap("report", "nowhere.json", code=2).decode())


if __name__ == "__main__":
    unittest.main()
