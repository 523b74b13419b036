#!/usr/bin/env bash
# Version: pyarrow 26.0.1, duckdb 2.0.1, polars 2.1.0 (Python 3.11). Source: run on 2026-11-30.
# Guess: a time with a fraction becomes the second or millisecond that it is in, as dates do, in all three.
# Behaviour: pyarrow cuts towards 1970: 1969-12-31T23:59:59.9995 is 1970-01-01T00:00:00 in seconds and in milliseconds, and in a
# Parquet file with coerce_timestamps, though its date is 1969-12-31. DuckDB rounds, so that 2020-01-01T00:00:00.9995 is a second
# later. Polars cuts down always.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0
cat >finding.py <<'END'
import datetime as dt
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

old, new = dt.datetime(1969, 12, 31, 23, 59, 59, 999500), dt.datetime(2020, 1, 1, 0, 0, 0, 999500)
times = pa.array([old, new], pa.timestamp("us"))
epoch, start = dt.datetime(1970, 1, 1), dt.datetime(2020, 1, 1)
old_ms, new_ms = old.replace(microsecond=999000), new.replace(microsecond=999000)

by_arrow = [times.cast(pa.timestamp(unit), safe=False).to_pylist() for unit in ("s", "ms")]
print("pyarrow", by_arrow)
assert by_arrow == [[epoch, start], [epoch, new_ms]]
assert times.cast(pa.date32())[0].as_py() == dt.date(1969, 12, 31)
pq.write_table(pa.table({"t": times}), "t.parquet", coerce_timestamps="ms", allow_truncated_timestamps=True)
assert pq.read_table("t.parquet")["t"].to_pylist() == [epoch, new_ms]

query = "select timestamp {}::timestamp_s, timestamp {}::timestamp_ms"
by_duckdb = [duckdb.sql(query.replace("{}", f"'{time}'")).fetchall()[0] for time in (old, new)]
print("DuckDB", by_duckdb)
assert by_duckdb == [(epoch, old_ms), (start.replace(second=1), start.replace(second=1))]

by_polars = pl.from_arrow(times).cast(pl.Datetime("ms")).to_list(), pl.from_arrow(times).dt.truncate("1s").to_list()
print("Polars", by_polars)
assert by_polars == ([old_ms, new_ms], [old.replace(microsecond=0), start])
END
env/bin/python finding.py
