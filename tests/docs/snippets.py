"""Writes the C++ of pages into files: snippets.py OUT PAGE... prints their names, one a line.

A page's blocks become OUT/PAGE_N.cpp, a whole program where the block has `int main`. Files that
would not change stay as they are.
"""

import pathlib
import re
import sys


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for page in map(pathlib.Path, sys.argv[2:]):
        for number, text in enumerate(re.findall(r"^```cpp\n(.*?)^```$", page.read_text(), re.M | re.S), 1):
            path = out / f"{page.stem.lower()}_{number}.cpp"
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
            print(path)


if __name__ == "__main__":
    main()
