#!/usr/bin/env bash
# Version: PyPI dask 2026.8.0, pandas 3.1.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: read_parquet(filters=) of dask and pandas, which both hand the filters to pyarrow, give the same rows, and `!=` of one value those of `not in`.
# Behaviour: pandas leaves rows with a null out for `!=` and has them for `not in` of the same value; dask has them for both, so that
# a list with one `!=` gives more rows in parallel. Of [1.0, NaN] in a file neither gives NaN for `!=` 1: bounds hide it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install dask[dataframe]==2026.8.0 pandas==3.1.1 pyarrow==26.0.1
cat >finding.py <<'END'
import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

dask.config.set(scheduler="sync")
pq.write_table(pa.table({"i": [1, 2, 3], "n": pa.array([None, 1, 2], pa.int64()), "s": [None, "a", "b"]}), "t.parquet")
pq.write_table(pa.table({"i": [1, 2], "x": [1.0, float("nan")]}), "nan.parquet")


def rows(name, column, operator, value):
    filters = [(column, operator, value)]
    return (pd.read_parquet(name, filters=filters).i.tolist(), dd.read_parquet(name, filters=filters).compute().i.tolist())


for column, value in (("n", 1), ("s", "a")):
    unequal, not_in = rows("t.parquet", column, "!=", value), rows("t.parquet", column, "not in", [value])
    print(column, "pandas and dask: !=", unequal, "not in", not_in)
    assert unequal == ([3], [1, 3]) and not_in == ([1, 3], [1, 3])
hidden = rows("nan.parquet", "x", "!=", 1)
print("NaN", hidden)
assert hidden == ([], [])
END
env/bin/python finding.py
