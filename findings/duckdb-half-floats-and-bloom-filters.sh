#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-29; Parquet hashes the bytes that are
# stored, 2 of a FLOAT16.
# Guess: a Bloom filter in a file changes how much is read, not which rows are found.
# Behaviour: DuckDB reads half floats as FLOAT and looks for the hash of the 4 bytes: x = 1.5 finds no row in a file with
# a filter of pyarrow, and the row in the same file without one. Floats, doubles, decimals, times and integers of all
# sizes are found.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyarrow==26.0.1 duckdb==2.0.1
venv/bin/python - <<'PY'
import duckdb, pyarrow as pa, pyarrow.parquet as pq

found = {}
for kind in (pa.float16(), pa.float32(), pa.float64(), pa.uint8(), pa.decimal128(12, 2)):
    table = pa.table({"x": pa.array([4, 5, 7], pa.int32()).cast(kind)})
    pq.write_table(table, "plain.parquet", write_statistics=False)
    pq.write_table(table, "filter.parquet", write_statistics=False, bloom_filter_options={"x": {"ndv": 100}})
    found[str(kind)] = [len(duckdb.sql(f"from '{f}.parquet' where x = 5").fetchall()) for f in ("plain", "filter")]
print("rows found without and with a Bloom filter:", found)
assert found.pop("halffloat") == [1, 0], found
assert set(map(tuple, found.values())) == {(1, 1)}, found
PY
