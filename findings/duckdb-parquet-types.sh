#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-29.
# Guess: DuckDB refuses to write a type that Parquet lacks, and the schema of a file follows from the types.
# Behaviour: a HUGEINT becomes a DOUBLE without a word: 2^127 - 1 comes back as 1.7014118346046923e+38. Whether a
# column of a table is required or optional in the file depends on whether its rows have nulls now: the same query
# over other rows gives another schema.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install duckdb==2.0.1 pyarrow==26.0.1
venv/bin/python - <<'PY'
import duckdb, pyarrow.parquet as parquet

duckdb.sql("copy (select 170141183460469231731687303715884105727::hugeint h) to 'h' (format parquet)")
back = duckdb.sql("from read_parquet('h')").fetchall()[0][0]
print("hugeint:", repr(back), parquet.ParquetFile("h").schema.column(0).physical_type)
duckdb.sql("create table t (i bigint)")
optional = []
for row in ("1", "null"):
    duckdb.sql(f"insert into t values ({row})")
    duckdb.sql("copy (select i from t) to 't' (format parquet)")
    optional.append(parquet.ParquetFile("t").schema_arrow.field("i").nullable)
print("optional, before and after a null was inserted:", optional)
assert back == 2.0**127 and isinstance(back, float)
assert optional == [False, True]
PY
