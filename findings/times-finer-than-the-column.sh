#!/usr/bin/env bash
# Version: PyPI datafusion 55.0.0, polars 2.1.0, duckdb 2.0.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: times of two units are compared in the finer one, so that noon in milliseconds is less than a microsecond after noon.
# Behaviour: Polars makes the finer one coarse: the two are equal, a filter with `<` loses the row and is_in does not find what
# `==` finds, for columns and for a datetime of Python, which has microseconds. DataFusion does so where the other
# side is written in the query, also 0.5 seconds beside seconds: not where it comes from a subquery. DuckDB compares in the finer one.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install datafusion==55.0.0 polars==2.1.0 duckdb==2.0.1 pyarrow==26.0.1
cat >finding.py <<'END'
import datetime as dt

import datafusion
import duckdb
import polars as pl
import pyarrow as pa

noon, later = dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 1, 12, 0, 0, 1)
pair = pa.table({"s": pa.array([noon], pa.timestamp("s")), "ms": pa.array([noon], pa.timestamp("ms"))})
frame = pl.DataFrame({"ms": [noon], "us": [later]}, schema={"ms": pl.Datetime("ms"), "us": pl.Datetime("us")})
ms, us = pl.col("ms"), pl.col("us")
by_polars = frame.select(equal=ms == later, less=ms < later, columns_equal=ms == us, columns_less=ms < us,
                         is_in=ms.is_in([later])).row(0)
print("Polars", by_polars)
assert by_polars == (True, False, True, False, False)

fusion = datafusion.SessionContext()
fusion.register_record_batches("t", [pair.to_batches()])


def rows(condition):
    return sum(batch.num_rows for batch in fusion.sql(f"select ms from t where {condition}").collect())


finer, half = f"timestamp '{later.isoformat()}'", "timestamp '2020-01-01T12:00:00.5'"
by_fusion = [rows(condition) for condition in (f"ms = {finer}", f"ms < {finer}", f"s = {half}", f"s < {half}",
                                               f"ms = (select {finer})", f"ms < (select {finer})")]
print("DataFusion", by_fusion)
assert by_fusion == [1, 0, 1, 0, 0, 1]
by_duckdb = duckdb.sql(f"select ms = {finer}, ms < {finer}, s = {half}, s < {half} from pair".replace("T", " ")).fetchall()
print("DuckDB", by_duckdb)
assert by_duckdb == [(False, True, False, True)]
END
env/bin/python finding.py
