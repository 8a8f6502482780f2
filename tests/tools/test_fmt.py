"""fmt over random configs: the same meaning, the same comments, and nothing more to do the second time."""

import os
import pathlib
import random
import re
import subprocess
import tempfile
import tomllib
import unittest

from program import ROOT, ToolTest

MESSY = b"""

  # top
a=1   # behind
b   =   [1,2 , 3]


c = [ # first
  "x",# of x
      # above y
  'y'
 # at the end
 ]
[ target ]  # header
device="cpu"
# right above
[[ model . layer ]]
name='#no comment'


class = \"\"\"a
  # text \"\"\"\"
[kernel_mapping]
"long" = { any = ["kernels-community/long-enough:NameOne", "kernels-community/long-enough:NameTwo", "builtin:x"] }
"""
TIDY = b"""# top
a = 1  # behind
b = [1, 2, 3]

c = [
  # first
  "x",  # of x
  # above y
  'y',
  # at the end
]

[target]  # header
device = "cpu"

# right above
[[model.layer]]
name = '#no comment'

class = \"\"\"a
  # text \"\"\"\"

[kernel_mapping]
"long" = { any = [
  "kernels-community/long-enough:NameOne",
  "kernels-community/long-enough:NameTwo",
  "builtin:x",
] }
"""


class Random:
    """TOML with all that people do to it."""

    def __init__(self, seed):
        self.pick = random.Random(seed)
        self.comments = 0

    def space(self):
        return self.pick.choice(["", "", " ", "  ", "\t"])

    def comment(self):
        self.comments += 1
        return f"#{self.space()}{self.comments} {self.pick.choice(['', '[x]', chr(34), 'é = 1', '# no'])}{self.space()}"

    def key(self):
        return self.pick.choice(["a", "b_c", "d-e", '"f g"', "'h.i'", '"#"', '"cuda>=8.0"', '"é"', "1"]) + str(
            self.pick.randrange(100)) if self.pick.random() < 0.5 else "k" + str(self.pick.randrange(1000))

    def bare(self):
        return "k" + str(self.pick.randrange(100000))

    def string(self):
        return self.pick.choice(['""', "''", '"a # b"', "'c \"'", '"\\"]"', '"""x\n # y\n"""', "'''\nz'''", '"""q""""',
                                 '"long ' + "x" * self.pick.randrange(60) + '"', "'\\'", '"ü, ["'])

    def value(self, depth=0, table=False):
        kind = self.pick.randrange(10 if depth < 3 else 6)
        if kind < 3:
            return self.string()
        if kind < 6:
            return self.pick.choice(["1", "-0", "1_000", "0x1F", "1.5e3", "true", "1979-05-27", "1979-05-27 07:32:00",
                                     "07:32:00", "inf", "1979-05-27T07:32:00Z"])
        if kind < 9:
            return self.list(depth)
        members = {self.bare(): self.value(depth + 1, True) for _ in range(self.pick.randrange(3))}
        space = self.space()
        return "{" + space + ("," + space).join(f"{k}{space}={space}{v}{space}" for k, v in members.items()) + "}"

    def gap(self):
        return "".join(self.pick.choice(["", " ", "\n", "\n\n", "\r\n", " " + self.comment() + "\n"])
                       for _ in range(self.pick.randrange(3)))

    def list(self, depth):
        gap = self.gap if self.pick.random() < 0.5 else self.space
        items = [self.value(depth + 1) for _ in range(self.pick.randrange(4))]
        text = "".join(gap() + item + gap() + "," for item in items[:-1])
        if items:
            text += gap() + items[-1] + gap() + self.pick.choice(["", "," + gap()])
        return "[" + text + gap() + "]"

    def text(self):
        out, end = "", self.pick.choice(["\n", "\r\n"])
        for _ in range(self.pick.randrange(12)):
            kind = self.pick.randrange(8)
            if kind == 0:
                out += end * self.pick.randrange(4)
            elif kind == 1:
                out += self.space() + self.comment() + end
            elif kind == 2:
                name = self.space() + self.bare() + self.space()
                header = self.pick.choice([f"[{name}]", f"[[{name}]]", f"[{name}.{self.space()}'x.y']"])
                out += self.space() + header + self.tail() + end
            else:
                dotted = self.space() + "." + self.space() + '"z"' if self.pick.random() < 0.1 else ""
                out += f"{self.space()}{self.bare()}{dotted}{self.space()}={self.space()}{self.value()}{self.tail()}{end}"
        return out.rstrip("\r\n") if self.pick.random() < 0.2 else out

    def tail(self):
        return self.space() + (self.comment() if self.pick.random() < 0.3 else "")


class Fmt(ToolTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.config = self.folder / "kernelmap.toml"

    def test_layout(self):
        self.assertEqual(self.run_it("fmt", "-", stdin=MESSY).decode(), TIDY.decode())
        self.assertEqual(self.run_it("fmt", "-", stdin=TIDY), TIDY)
        self.assertEqual(self.run_it("fmt", "-", stdin=MESSY.replace(b"\n", b"\r\n").replace(b"a\r\n  #", b"a\n  #")), TIDY)
        self.assertEqual(self.run_it("fmt", "-", stdin=b"\xef\xbb\xbfa=1"), b"a = 1\n")
        self.assertEqual(self.run_it("fmt", "-", stdin=b" \n\n"), b"")

    def test_random(self):
        files = []
        for seed in range(600):
            path = self.folder / f"{seed}.toml"
            made = Random(seed).text()
            try:
                tomllib.loads(made)
            except tomllib.TOMLDecodeError:
                continue
            path.write_bytes(made.encode())
            files.append((path, made))
        self.assertGreater(len(files), 400)
        self.run_it("fmt", *[path for path, _ in files])
        changed = 0
        for path, made in files:
            with self.subTest(seed=path.stem):
                text = path.read_bytes().decode()
                self.assertEqual(tomllib.loads(text), tomllib.loads(made))
                changed += text != made
                numbers = [int(n) for n in re.findall(r"#[ \t]*(\d+)\b", text)]
                self.assertEqual(numbers, [int(n) for n in re.findall(r"#[ \t]*(\d+)\b", made)])
                self.assertNotRegex(text, r"\A\n|\n\n\Z")
        self.assertGreater(changed, 300)
        self.assertEqual(self.run_it("fmt", *[path for path, _ in files]), b"")

    def test_examples_plan_the_same(self):
        for example in sorted((ROOT / "examples").rglob("*.toml")):
            with self.subTest(example=example.name):
                self.config.write_bytes(example.read_bytes())
                self.run_it("fmt", self.config)
                self.run_it("diff", "--exit-code", example, self.config)

    def test_check_and_diff_write_nothing(self):
        self.config.write_bytes(MESSY)
        self.assertIn(b"kernelmap.toml: not formatted", self.run_it("fmt", "--check", self.config, code=1))
        patch = self.run_it("fmt", "--diff", "kernelmap.toml", cwd=self.folder)
        self.run_it("fmt", "--diff", "--check", self.config, code=1)
        self.assertEqual(self.config.read_bytes(), MESSY)
        subprocess.run(["git", "apply", "-p0"], input=patch, cwd=self.folder, check=True)
        self.assertEqual(self.config.read_bytes(), TIDY)
        self.assertEqual(self.run_it("fmt", "--check", "--diff", self.config), b"")

    def test_what_is_not_toml_is_not_touched(self):
        for text, code in ((b"a = [1\n", "KM0104"), (b"a = 1\na = 2\n", "KM0108"), (b"a = \xff\n", "KM"), (b"\0", "KM")):
            self.config.write_bytes(text)
            self.run_it("fmt", self.config, code=1)
            self.assertIn(code, self.errors)
            self.assertEqual(self.config.read_bytes(), text)
        json = self.folder / "config.json"
        json.write_bytes(b'{"a": 1}')
        self.run_it("fmt", json, code=2)
        self.run_it("fmt", "-", code=2, stdin=b'{"a": 1}')
        self.run_it("fmt", self.folder, code=2)
        self.run_it("fmt", self.folder / "gone.toml", code=2)
        self.config.write_bytes(b"a = " + b"[" * 100000)
        self.run_it("fmt", self.config, code=1)

    def test_one_wrong_file_does_not_keep_others(self):
        other = self.folder / "other.toml"
        self.config.write_bytes(b"a = [1\n")
        other.write_bytes(b"a=1\n")
        self.run_it("fmt", self.config, other, code=1)
        self.assertEqual(other.read_bytes(), b"a = 1\n")

    def test_links_and_rights_stay(self):
        link = self.folder / "link.toml"
        self.config.write_bytes(b"a=1\n")
        os.chmod(self.config, 0o600)
        link.symlink_to(self.config)
        self.run_it("fmt", link)
        self.assertTrue(link.is_symlink())
        self.assertEqual(self.config.read_bytes(), b"a = 1\n")
        self.assertEqual(self.config.stat().st_mode & 0o777, 0o600)

    def test_many_lines_in_little_time(self):
        self.config.write_bytes(b"".join(b"k%d=[%d,#x\n2]\n" % (i, i) for i in range(20000)))
        self.run_it("fmt", self.config)
        self.run_it("fmt", "--check", self.config)


if __name__ == "__main__":
    unittest.main()
