#!/usr/bin/env bash
# Version: pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-28.
# Guess: bloom_filter_options' ndv sets the size of a Parquet Bloom filter, as in parquet-java.
# Behaviour: the writer folds filters after they are filled: 1,000 ids with ndv of a thousand, a million and ten
# million give the same 2,048 bytes. ndv 1 stays at 32 bytes, in which all bits end up set. Names of columns
# that do not exist are ignored.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install pyarrow==26.0.1
cd "$dir"
venv/bin/python - <<'PY'
import pyarrow as pa, pyarrow.parquet as pq

ids = pa.table({"id": [f"tt{i:07}" for i in range(1000)]})

def filter_bytes(options):
    """What the file grows by: header of the filter, bits, and two fields in the footer."""
    sizes = []
    for chosen in ({}, options):
        pq.write_table(ids, "a.parquet", use_dictionary=False, bloom_filter_options=chosen or None)
        sizes.append(len(open("a.parquet", "rb").read()))
    return sizes[1] - sizes[0]

grown = {ndv: filter_bytes({"id": {"ndv": ndv, "fpp": 0.01}}) for ndv in (1, 1000, 1_048_576, 10_000_000)}
unknown = filter_bytes({"no such column": {"ndv": 1000, "fpp": 0.01}})
print(f"pyarrow {pa.__version__}: bytes of the filter and its header by ndv: {grown}; unknown column: {unknown}")
assert grown[1000] == grown[1_048_576] == grown[10_000_000] and 2048 < grown[1000] < 2200
assert 32 < grown[1] < 100 and unknown == 0
PY
