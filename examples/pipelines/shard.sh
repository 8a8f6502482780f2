#!/usr/bin/env bash
# One shard of a folder of models: those whose place in the sorted list is JOB_COMPLETION_INDEX modulo SHARDS.
# Ends with 1 when any could not be rewritten; the others are.
set -uo pipefail
models=${MODELS:-/models/stock} out=${OUT:-/models/rewritten} config=${CONFIG:-/pipeline/kernels.toml}
shards=${SHARDS:-1} shard=${JOB_COMPLETION_INDEX:-0}
mkdir -p "$out"
failed=0 i=0
shopt -s nullglob
for model in "$models"/*.pt; do
  ((i++ % shards == shard)) || continue
  name=$(basename "$model")
  kernelmap apply "$config" "$model" -o "$out/$name" --report "$out/${name%.pt}.json" --strict || failed=1
done
exit $failed
