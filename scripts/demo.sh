#!/usr/bin/env bash
# A tour: check and plan a config, look into a model, rewrite two models and verify them.
# Needs the release build (make build). Writes to demo-out/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kernelmap=build/bin/kernelmap
out=demo-out
rm -rf "$out"
mkdir -p "$out"

run() {
  printf '\n$ kernelmap %s\n' "$*"
  "$kernelmap" "$@"
}

# The parts of a report that a person looks at first.
show_report() {
  printf '\n%s\n' "$1"
  .venv/bin/python3 - "$1" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
print("  " + ", ".join(f"{n} {what}" for what, n in report["summary"].items()))
for site in report["sites"]:
    line = f"  {site['action']:9} {site['name']:15} {site['path']}"
    if site["kernel"]:
        line += f" -> {site['kernel']['ref']}"
    if site["reason"]:
        line += f": {site['reason']['text']}"
    print(line)
PYTHON
}

shopt -s nullglob
configs=(examples/*.toml examples/*.json)
for config in "${configs[@]}"; do
  run check "$config"
done
run plan "${configs[@]:0:1}"
run inspect tests/models/llama.pt
for model in llama bert; do
  run plan --model "tests/models/$model.pt"
  run apply "tests/models/$model.pt" -o "$out/$model.pt" --report "$out/$model.report.json"
  show_report "$out/$model.report.json"
  run verify "tests/models/$model.pt" "$out/$model.pt"
done
