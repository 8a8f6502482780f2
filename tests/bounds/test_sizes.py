"""Large configs: an answer, or one clear error, within limits of memory and time."""

import json
import unittest

from limited import Case, run

MEGA = 1 << 20
MANY = 200_000  # values: nearly as many as are read


def table(pairs):
    return "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"


class Sizes(Case):
    def test_a_hundred_megabytes(self):
        line = b'Name = "org/repo:Name"\n'
        for name in ("config.toml", "config.json"):
            self.assertShows(self.check(name, line * (100 * MEGA // len(line))), "KM0101")

    def test_a_hundred_megabytes_on_standard_input(self):
        self.assertShows(run("check", "-", input=b"#" * (100 * MEGA)), "KM0101")

    def test_sixteen_megabytes_are_fine(self):
        self.assertEqual(self.check("config.toml", b"#" * (16 * MEGA)).returncode, 0)
        self.assertEqual(self.check("config.toml", b"#\n" * (8 * MEGA)).returncode, 0)
        self.assertEqual(self.check("config.json", b" " * (16 * MEGA - 2) + b"{}").returncode, 0)

    def test_a_million_keys(self):
        keys = [f"k{i}" for i in range(1_000_000)]
        self.assertShows(self.check("config.toml", "".join(f"{k} = 1\n" for k in keys)), "KM0107")
        self.assertShows(self.check("config.toml", "".join(f"[{k}]\n" for k in keys)), "KM0107")
        self.assertShows(self.check("config.toml", "a = {" + ",".join(f"{k} = 1" for k in keys) + "}"), "KM0107")
        self.assertShows(self.check("config.json", table((k, 1) for k in keys)), "KM0107")
        self.assertShows(self.check("config.json", "[" + "1," * 1_000_000 + "1]"), "KM0107")

    def test_many_names(self):
        names = [f"Layer{i}" for i in range(MANY)]
        done = self.check("config.json", '{"kernel_mapping":' + table((n, '""') for n in names) + "}")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        done = self.check("config.toml", "[kernel_mapping]\n" + "".join(f'{n} = ""\n' for n in names), command="plan")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertGreater(done.stdout.count(b"\n"), MANY)

    def test_many_mistakes(self):
        def config(value):
            return '{"kernel_mapping":' + table((f"Layer{i}", value) for i in range(MANY // 4)) + "}"
        for text in (table((f"inherit_mappin{i}", "true") for i in range(MANY)),
                     table((f"k{i}", "true") for i in range(MANY)),
                     '{"kernel_mapping":{"A":{"kernel":"o/r:A",' + table((f"versio{i}", 1) for i in range(MANY))[1:] + "}}",
                     '{"kernel_mapping":{' + ",".join(['"A":""'] * MANY) + "}}",
                     '{"trusted_publishers":[' + "1," * MANY + "1]}",
                     config('"o/r:A:"'), config("1"), config('"builtin:rms_nor"'), config('{"cuda":"o"}'),
                     config('{"any":[]}'), config('{"cudaa":""}'), config('{"cuda":{"infer":""}}')):
            done = self.check("config.json", text)
            self.assertShows(done, "KM0109")
            self.assertLessEqual(done.stderr.count(b": error["), 101)
            found = json.loads(self.check("config.json", text, "--format", "json").stdout)
            self.assertGreaterEqual(found["summary"]["errors"], 10_000)
            self.assertLessEqual(len(found["diagnostics"]), 202)
            last = found["diagnostics"][-1]
            self.assertEqual(last["code"], "KM0109")
            for form in ("sarif", "github"):
                self.assertIn(b"KM0109", self.check("config.json", text, "--format", form).stdout)

    def test_many_warnings_do_not_hide_an_error(self):
        names = "".join(f'RMSNorm{i} = ""\n' for i in range(1000))
        done = self.check("config.toml", "[kernel_mapping]\n" + names + "Last = 1\n")
        self.assertShows(done, "KM0110", "KM0202")
        self.assertIn(b"1 error, 1000 warnings", done.stdout)

    def test_many_entries_of_one_name(self):
        # Intervals in intervals: none clashes with another.
        half = 4000
        selectors = [f"cuda>={i // 10}.{i % 10},<={(9900 - i) // 10}.{i % 10}" for i in range(half)]
        config = '{"kernel_mapping":{"A":' + table((s, '"o/r:A"') for s in selectors) + "}}"
        done = self.check("config.json", config, "--device", "cuda", "--capability", "300.5", command="plan")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"A", done.stdout)

    def test_lists_against_lists(self):
        # What is looked up in a list must not be looked for in all of it.
        count = MANY // 4
        config = {"trusted_publishers": [f"p{i}" for i in range(count)],
                  "kernel_mapping": {f"Layer{i}": f"q{i}/r:A" for i in range(count)}}
        self.assertEqual(self.check("config.json", json.dumps(config), command="plan").returncode, 0)
        patterns = [f"layers.*.mlp{i}" for i in range(count)]
        config = {"kernel_mapping": {"A": {"kernel": "builtin:rms_norm", "only": patterns, "except": patterns[::-1]}}}
        self.assertEqual(self.check("config.json", json.dumps(config), command="plan").returncode, 0)
        value = {"kernel": "builtin:rms_norm", "only": patterns[:1000], "except": patterns[999::-1]}
        config = {"kernel_mapping": {f"A{i}": value for i in range(100)}}
        done = self.check("config.json", json.dumps(config))
        self.assertIn(b"[KM0243]", done.stderr)  # of the first; then the pairs are used up
        self.assertEqual((done.returncode, done.stdout), (0, b"0 errors, 1 warning\n"))
        config = {"fusion": [{"kernel": "o/r:A", "modules": [["A", f"a.b{i}"] for i in range(count // 2)]}]}
        self.assertShows(self.check("config.json", json.dumps(config)), "KM0112")
        config = {"model": {"layer": [{"name": f"Laye{i}", "class": "C"} for i in range(count)]},
                  "kernel_mapping": {f"Layer{i}": "" for i in range(count // 2)}}
        self.assertShows(self.check("config.json", json.dumps(config)), "KM0246")
        config = {"model": {"layer": [{"name": f"Layer{i}", "class": "C"} for i in range(count)]},
                  "kernel_mapping": {f"Layer{i}": "" for i in range(count)}}
        self.assertEqual(self.check("config.json", json.dumps(config), command="plan").returncode, 0)

    def test_the_worst_of_dots(self):
        # Each key of the second half is looked up among all tables that the first half made.
        count = 30_000
        text = "".join(f"k{i}.a = 1\n" for i in range(count)) + "".join(f"k{i}.b = 1\n" for i in range(count, 0, -1))
        self.assertEqual(self.check("config.toml", text).returncode, 1)


class Depths(Case):
    def test_ten_thousand_levels(self):
        many = 10_000
        for text in ("a = " + "[" * many + "]" * many, "a = " + "[" * many, "a = " + "{a = " * many + "1" + "}" * many,
                     ".".join(["a"] * many) + " = 1", "[" + ".".join(["a"] * many) + "]",
                     "[[" + ".".join(["a"] * many) + "]]", "a = " + "[{b = " * many,
                     "".join(f"[{'.'.join(['a'] * i)}]\n" for i in range(1, 300))):
            self.assertShows(self.check("config.toml", text), "KM0106")
        for text in ("[" * many + "]" * many, "[" * many, '{"a":' * many + "1" + "}" * many, '[{"a":' * many):
            self.assertShows(self.check("config.json", text), "KM0106")

    def test_brackets_in_strings_are_no_levels(self):
        many = "[" * 10_000
        self.assertShows(self.check("config.toml", f'a = "{many}"\nb = \'{many}\' # {many}\nc = """{many}"""'), "KM0201")
        self.assertShows(self.check("config.json", f'{{"a": "{many}"}}'), "KM0201")


class Lengths(Case):
    def test_long_texts(self):
        # A key, a value, and a text of each small language.
        long = "x" * 100_000
        for value in (long, "漢" * 100_000, "e\u0301" * 50_000, "\u0301" * 100_000, ">" * 100_000, "a/" * 50_000, "1." * 50_000):
            for config in ({value: 1}, {"kernel_mapping": {value: ""}}, {"kernel_mapping": {"A": value}},
                           {"kernel_mapping": {"A": {value: "o/r:A"}}}, {"kernel_mapping": {"A": {"cuda": {value: ""}}}},
                           {"kernel_mapping": {"A": {"kernel": "o/r:A", "only": [value], "revision": value, value: 1}}},
                           {"target": {"device": value, "mode": value, "torch": value, "capability": value}},
                           {"attn_implementation": value, "on_fallback": value, "default_mapping": value},
                           {"trusted_publishers": [value + "/x"], "model": {"root": value, "inputs": [value]}}):
                for form in ("text", "json", "sarif", "github"):
                    done = self.check("config.json", json.dumps(config, ensure_ascii=False), "--format", form)
                    self.assertEqual(done.returncode, 1)
                    self.assertLess(len(done.stdout) + len(done.stderr), 30_000)

    def test_long_names_in_plans(self):
        names = {"x" * 1000 + str(i): "" for i in range(300)} | {"A": "o/r:A"}
        done = self.check("config.json", json.dumps({"kernel_mapping": names}), command="plan")
        self.assertEqual(done.returncode, 0)
        self.assertLess(len(done.stdout), 2 * MEGA)

    def test_long_numbers(self):
        for digits in ("9" * 100_000, "1" + "0" * 100_000 + ".5", "1e" + "9" * 100_000, "0." + "0" * 100_000 + "1", "-" + "1" * 30):
            for key in ("version", "capability"):
                self.assertEqual(self.check("config.json", f'{{"{key}": {digits}}}').returncode, 1)
                self.assertEqual(self.check("config.toml", f"{key} = {digits}").returncode, 1)
            pair = f'["o/r:A", {{"version": {digits}}}]'
            self.assertEqual(self.check("config.json", f'{{"kernel_mapping": {{"A": {pair}}}}}').returncode, 1)

    def test_a_million_lines(self):
        done = self.check("config.toml", "\n" * 1_000_000 + "x = 1")
        self.assertIn(b"config.toml:1000001:1: error", done.stderr)


if __name__ == "__main__":
    unittest.main()
