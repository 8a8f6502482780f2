#!/usr/bin/env bash
# Times stock against rewritten models (kernelmap bench), with the default mapping on this machine.
#
#   scripts/bench.sh [MODEL ...]     default: tests/models/{llama,qwen3,gemma,gpt2}.pt
#
# Those are tiny: what they show is overhead. Give models of your own for more.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kernelmap=build/bin/kernelmap
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

models=("$@")
if ((${#models[@]} == 0)); then
  models=(tests/models/{llama,qwen3,gemma,gpt2}.pt)
fi
for model in "${models[@]}"; do
  rewritten="$out/$(basename "$model")"
  printf '\n%s\n' "$model"
  "$kernelmap" apply "$model" -o "$rewritten" >/dev/null
  "$kernelmap" bench "$model" "$rewritten"
done
