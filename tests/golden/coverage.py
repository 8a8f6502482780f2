"""Fails for a diagnostic code that no golden case shows, and for a reason that the resolver gives
and neither a golden case nor a test in tests/compiler/ or tests/fetch/ shows.

coverage.py SOURCE_FOLDER
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
shown = "".join(
    path.read_text(encoding="utf-8").partition("=== exit")[2]
    for folder in ("tests/golden", "tests/archive/golden")
    for path in (root / folder).glob("**/*.golden"))
codes = re.findall(r"KM_DIAGNOSTIC\((KM\d+),", (root / "compiler/diagnostics.def").read_text())
missing = [code for code in codes if f"[{code}]" not in shown]
if len(codes) != len(set(codes)):
    missing += ["a code is declared twice"]

reasons = re.findall(r"KM_REASON\((\w+),", (root / "compiler/reasons.def").read_text())
resolver = "".join(path.read_text() for path in
                   (root / "compiler/resolve.cpp", root / "compiler/candidate.cpp",
                    *(root / "compiler/store").glob("*.cpp"),
                    *(root / "compiler/hub").glob("*.cpp")))
given = [reason for reason in reasons if f'"{reason}"' in resolver]
tests = "".join(path.read_text() for path in (*(root / "tests/compiler").glob("*_test.cpp"),
                                              *(root / "tests/fetch").glob("test_*.py")))
missing += [reason for reason in given
            if f"[{reason}]" not in shown and f'"{reason}"' not in tests]

if missing or not codes or not given:
    sys.exit("shown by no golden case: " + ", ".join(missing))
