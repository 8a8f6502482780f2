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

run check examples/*.toml examples/*.json
run plan examples/quickstart.toml --device cpu
run inspect tests/models/llama.pt
for model in llama bert; do
  run plan --model "tests/models/$model.pt" --device cpu
  run apply "tests/models/$model.pt" -o "$out/$model.pt" --device cpu \
    --report "$out/$model.report.json"
  run verify "tests/models/$model.pt" "$out/$model.pt"
done
printf '\nthe rewritten models and their reports: %s/\n' "$out"
