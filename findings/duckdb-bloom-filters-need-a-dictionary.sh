#!/usr/bin/env bash
# Version: duckdb 2.0.1 (Python 3.11). Source: run on 2026-11-28.
# Guess: DuckDB writes Bloom filters into Parquet files, or at least with WRITE_BLOOM_FILTER true.
# Behaviour: only for chunks that are dictionary-encoded: 1,000 different ids in 4,999 rows have none, in 5,000 rows
# they have one. A column of unique ids, where a Bloom filter would help most, never has one.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install duckdb==2.0.1
cd "$dir"
venv/bin/python - <<'PY'
import duckdb

def has_filter(rows):
    duckdb.sql(f"copy (select 'tt' || (i % 1000) id from range({rows}) t(i)) to 'a.parquet' "
               "(format parquet, write_bloom_filter true)")
    return duckdb.sql("select bloom_filter_offset from parquet_metadata('a.parquet')").fetchall()[0][0] is not None

found = {rows: has_filter(rows) for rows in (1000, 4999, 5000)}
print(f"duckdb {duckdb.__version__}: 1,000 different ids, a filter by number of rows: {found}")
assert list(found.values()) == [False, False, True]
PY
