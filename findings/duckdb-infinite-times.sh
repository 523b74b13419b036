#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1, polars 2.1.0 (Python 3.11). Source: run on 2026-11-29; Parquet's timestamps and
# dates have no infinity.
# Guess: 'infinity' is not written to Parquet, or is null there.
# Behaviour: it is the largest number of the type, and -infinity its negative, which is not the smallest; only DuckDB
# reads them as infinite. pyarrow says year 32103 and -28164, and 20599 for both infinite dates, since its years wrap
# around after 32,767 (the number is a time of the year 294247); Polars says null.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install duckdb==2.0.1 pyarrow==26.0.1 polars==2.1.0
venv/bin/python - <<'PY'
import duckdb, polars, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq

duckdb.sql("""copy (select * from (values ('infinity'::timestamp, 'infinity'::date), ('-infinity', '-infinity')) t(ts, day))
              to 'f.parquet'""")
table, frame = pq.read_table("f.parquet"), polars.read_parquet("f.parquet")
numbers = table["ts"].cast(pa.int64()).to_pylist(), table["day"].cast(pa.int32()).to_pylist()
years = pc.year(table["ts"]).to_pylist(), pc.year(table["day"]).to_pylist()
null = frame["ts"].dt.year().to_list() + frame["day"].dt.year().to_list()
duck = duckdb.sql("select isinf(ts), isinf(day) from 'f.parquet'").fetchall()
print("numbers:", numbers, "| years of pyarrow:", years, "of Polars:", null, "| isinf in DuckDB:", duck)
assert numbers == ([2**63 - 1, 1 - 2**63], [2**31 - 1, 1 - 2**31]) and duck == [(True, True)] * 2
assert years == ([32103, -28164], [20599, 20599]) and null == [None] * 4
PY
