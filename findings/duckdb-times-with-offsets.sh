#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-29.
# Guess: a TIMETZ, 12:00:00+02, leaves DuckDB as the same time by every way: as written, or in UTC.
# Behaviour: in Parquet it is 10:00 (in UTC), in Arrow 12:00 (the offset is dropped), both as a time64[us] for pyarrow. So
# one query gives two answers, by file and in memory.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyarrow==26.0.1 duckdb==2.0.1
venv/bin/python - <<'PY'
import duckdb, pyarrow.parquet as pq

for text, in_file, in_memory in (("12:00:00+02", "10:00:00", "12:00:00"), ("23:30:00-05", "04:30:00", "23:30:00")):
    query = duckdb.sql(f"select '{text}'::timetz as x")
    query.write_parquet("time.parquet")
    seen = [str(t["x"][0]) for t in (pq.read_table("time.parquet"), query.to_arrow_table())]
    kinds = {str(t["x"].type) for t in (pq.read_table("time.parquet"), query.to_arrow_table())}
    print(text, "by Parquet and by Arrow:", seen, kinds)
    assert seen == [in_file, in_memory] and kinds == {"time64[us]"}
PY
