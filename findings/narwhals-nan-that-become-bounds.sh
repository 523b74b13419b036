#!/usr/bin/env bash
# Version: PyPI narwhals 2.29.0 with polars 2.1.0, pyarrow 26.0.1, pandas 3.1.1 and duckdb 2.0.1 (Python 3.11). Source: run on 2026-11-30;
# https://narwhals-dev.github.io/narwhals/api-reference/expr/ (clip, cast) and https://narwhals-dev.github.io/narwhals/pandas_like_concepts/null_handling/.
# Guess: backends differ in where NaN and null are one, and otherwise one expression gives one answer; clip(0, 1) leaves NaN alone, as numpy does.
# Behaviour: clip(0, 1) makes NaN 1.0, the upper bound, in pyarrow, in pandas with Arrow's types, and in DuckDB; in Polars it stays. 7 / 2 as an integer is
# 3 in Polars and pandas, 4 in DuckDB, and an error in pyarrow. Of an int8 7 * 100 is -68 in Polars and pandas, 700 in pyarrow, and an error in DuckDB. The
# square root of -1 is null in pandas with Arrow's types alone.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install narwhals==2.29.0 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1 duckdb==2.0.1
cat >finding.py <<'END'
import math

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa

rows = pa.table({"f": [0.5, math.nan], "i": [7, -1]})
frames = {"polars": pl.from_arrow(rows), "pandas": rows.to_pandas(), "pyarrow": rows, "duckdb": duckdb.sql("from rows"),
          "pandas-pyarrow": rows.to_pandas(types_mapper=pd.ArrowDtype)}


def answer(frame, expression, row):
    try:
        answers = nw.from_native(frame).select(x=expression)
        answers = answers.collect() if isinstance(answers, nw.LazyFrame) else answers
        value = answers.get_column("x").to_list()[row]
        return "null" if value is None or value is pd.NA else str(value)
    except (pa.ArrowInvalid, duckdb.Error):
        return "error"


i, f = nw.col("i"), nw.col("f")
got = {name: [answer(frame, f.clip(0, 1), 1), answer(frame, (i / 2).cast(nw.Int64), 0), answer(frame, i.cast(nw.Int8) * nw.lit(100), 0),
              answer(frame, i.sqrt(), 1)] for name, frame in frames.items()}
print("clip, 7 / 2, 7 * 100, root of -1:", got)
assert got == {"polars": ["nan", "3", "-68", "nan"], "pandas": ["nan", "3", "-68", "nan"], "pyarrow": ["1.0", "error", "700", "nan"],
               "duckdb": ["1.0", "4", "error", "nan"], "pandas-pyarrow": ["1.0", "error", "700", "null"]}
END
env/bin/python -W ignore finding.py
