"""Explains every code: nothing of the title is a raw placeholder, and examples show their code.

explain_all.py SOURCE_FOLDER KERNELMAP
"""

import pathlib
import re
import subprocess
import sys

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]


def names(path, macro):
    found = re.findall(rf"^{macro}\((\w+),", (root / path).read_text(encoding="utf-8"), re.M)
    assert found, path
    return found


codes = (names("compiler/diagnostics.def", "KM_DIAGNOSTIC")
         + names("compiler/archive/errors.def", "KM_ARCHIVE_ERROR")
         + names("compiler/reasons.def", "KM_REASON"))
examples = names("cli/examples.def", "KM_EXAMPLE")
failures = [f"{code}: an example of a code that is none" for code in set(examples) - set(codes)]
failures += [f"{code}: two examples" for code in examples if examples.count(code) > 1]
for code in codes:
    done = subprocess.run([program, "explain", code.lower()], capture_output=True, check=False,
                          timeout=60)
    text = done.stdout.decode()
    title = text.split("\n", 1)[0]
    if done.returncode or done.stderr or not re.match(rf"{code}: (error|warning|reason): \S", title):
        failures.append(f"{code}: {done.returncode} {title} {done.stderr.decode()}")
    if "{" in title or title.endswith(":"):
        failures.append(f"{code}: a raw title: {title}")
    if max(map(len, text.partition("For example:")[0].split("\n")[1:]), default=0) > 80:
        failures.append(f"{code}: a long line")
    if code in examples and f"[{code}]: " not in text.partition("For example:")[2]:
        failures.append(f"{code}: the example does not show it: {text}")
if failures:
    sys.exit("\n".join(failures))
print(f"{len(codes)} codes, {len(examples)} examples")
