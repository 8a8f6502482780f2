#!/usr/bin/env bash
# Runs libFuzzer on every target of tests/fuzz/, JOBS of them at a time, for a number of seconds each.
# What a target fails on stays in build-fuzz/crashes/; with a fix it belongs in tests/fuzz/crashers/.
#
# fuzz.sh SECONDS [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=$1
shift

# clang++, or the newest clang++-N.
CXX=${CXX:-$(compgen -c clang++ | grep -E '^clang\+\+(-[0-9]+)?$' | sort -V | tail -1)}
[[ $CXX ]] || { echo "fuzz: libFuzzer needs clang: apt-get install clang" >&2; exit 1; }
export CXX
cmake --preset fuzz ${KM_TORCH_DIR:+-DTorch_DIR=$KM_TORCH_DIR} >/dev/null
cmake --build --preset fuzz --parallel "${JOBS:-1}"
python3 tests/fuzz/seeds.py . build-fuzz/seeds

targets=("$@")
if ((${#targets[@]} == 0)); then
  mapfile -t targets < <(ls build-fuzz/seeds)
fi

# What earlier runs have found is in found/ and goes on from there; -detect_leaks finds ANTLR's own caches.
run() {
  local target=$1 seconds=$2
  mkdir -p "build-fuzz/found/$target" build-fuzz/crashes
  if "build-fuzz/bin/fuzz_$target" "-max_total_time=$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
    -dict=tests/fuzz/config.dict "-artifact_prefix=build-fuzz/crashes/$target-" \
    "build-fuzz/found/$target" "build-fuzz/seeds/$target" >"build-fuzz/$target.log" 2>&1; then
    echo "$target: $(grep -c . <(ls "build-fuzz/found/$target")) inputs found, nothing wrong"
  else
    echo "$target: FAILED, see build-fuzz/$target.log"
    return 1
  fi
}
export -f run
printf '%s\n' "${targets[@]}" | xargs -P "${JOBS:-1}" -I{} bash -c 'run {} '"$seconds"
