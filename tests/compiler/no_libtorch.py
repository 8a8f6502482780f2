"""Fails where kernelmap is linked to libtorch, or its sources include torch or step out of a fence.

no_libtorch.py SOURCE_FOLDER KERNELMAP
"""

import pathlib
import re
import subprocess
import sys

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
problems = []

dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True)
problems += [f"kernelmap needs {library}" for library in
             re.findall(r"\(NEEDED\).*\[(lib(?:torch|c10|caffe2)[^]]*)\]", dynamic.stdout)]

# Each third party stops in one file.
fences = {"toml++": "toml_reader.cpp", "nlohmann": "json_reader.cpp", "fmt": "format.cpp",
          "re2": "version.cpp", "antlr4-runtime.h": "antlr_parse.cpp", "CLI": "args.cpp"}
for folder in ("compiler", "cli"):
    for path in sorted((root / folder).rglob("*")):
        if path.suffix not in (".cpp", ".h") or path.name == "rewrite.cpp":
            continue
        for include in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', path.read_text(), re.M):
            first = include.split("/")[0]
            if first in ("torch", "ATen", "c10", "caffe2"):
                problems.append(f"{path.relative_to(root)} includes {include}")
            if first in fences and path.name != fences[first]:
                problems.append(f"{path.relative_to(root)} includes {include}")

if problems:
    sys.exit("\n".join(problems))
