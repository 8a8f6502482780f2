"""`kernelmap check` of configs of many entries, each run as a whole process, against a Python that does no
more than parse the same file with tomllib, interleaved. The ratio is Python's time over ours.

usage: check.py [--runs N]
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNELMAP = f"{ROOT}/build/bin/kernelmap"
PARSE = "import sys, tomllib; tomllib.load(open(sys.argv[1], 'rb'))"
ENTRIES = {
    "references": 'Layer{i}Norm = "kernels-community/norms:Norm{i}"\n',
    "versions": 'Layer{i}Norm = {{ kernel = "kernels-community/norms:Norm{i}", version = 2 }}\n',
    "specifiers": 'Layer{i}Norm = "kernels-community/norms@>=1,<2:Norm{i}"\n',
    "devices": 'Layer{i}Norm = {{ "cuda>=8.0,<9.0" = "kernels-community/norms:Norm{i}", cuda = "" }}\n',
}


def seconds(command, expected):
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    took = time.perf_counter() - start
    if done.returncode != expected:
        sys.exit(f"{command} exits {done.returncode}")
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    print(f"{'check':34} {'ours ms':>9} {'tomllib ms':>11} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for count, mistake in ((1000, ""), (10000, "Last = 3\n")):
            for kind, entry in ENTRIES.items():
                path = os.path.join(folder, "config.toml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write("[kernel_mapping]\n" + "".join(entry.format(i=i) for i in range(count)) + mistake)
                ours, theirs = [], []
                for _ in range(runs):
                    ours.append(seconds([KERNELMAP, "check", path], 1 if mistake else 0))
                    theirs.append(seconds([sys.executable, "-c", PARSE, path], 0))
                a, b = statistics.median(ours), statistics.median(theirs)
                name = f"{count} {kind}" + (", one mistake" if mistake else "")
                print(f"{name:34} {1000 * a:9.1f} {1000 * b:11.1f} {b / a:6.2f}", flush=True)


if __name__ == "__main__":
    main()
