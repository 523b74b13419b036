#!/usr/bin/env bash
# Version: PyPI arcticdb 6.28.2, pandas 2.3.3, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://docs.arcticdb.io/latest/api/processing/ (groupby and resample of a
# QueryBuilder).
# Guess: groupby of times leaves a missing one out, as it does with NaN and as resample does with times.
# Behaviour: groupby takes it for a time, the least: of 2020-01-01 and a missing one, both twice, the mean is in 1848, the count 4 and the minimum missing; resample gives 2020-01-01 and 1 of each pair. A
# sum of uint64 and int64 columns is int64 and wraps: 2^64 - 1 plus -1 is -2, and 2^64 - 1 minus 1 as well, though uint64 is compared with int64 by its value, and 8-bit integers widen:
# 100 * 100 is 10000.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install arcticdb==6.28.2 pandas==2.3.3 numpy==2.4.6
env/bin/python -W ignore - <<'PY'
import arcticdb
import numpy as np
import pandas as pd

library = arcticdb.Arctic("lmdb://here?map_size=64MB").create_library("l")
rows = pd.DataFrame({"k": ["a"] * 4, "t": pd.to_datetime(["2020-01-01", None] * 2), "f": [1.0, np.nan] * 2, "u": np.full(4, 2**64 - 1, "uint64"),
                     "i": np.full(4, -1), "byte": np.full(4, 100, "int8")}, index=pd.date_range("2020-01-01", periods=4))
library.write("rows", rows)


def ask(name, query, column):
    got = library.read("rows", query_builder=query).data[column].tolist()
    print(name, got)
    return got


def both(column, how):
    grouped = ask(f"groupby {how}", arcticdb.QueryBuilder().groupby("k").agg({column: how}), column)
    return grouped[0], ask(f"resample {how}", arcticdb.QueryBuilder().resample("2D").agg({column: how}), column)[0]


day = pd.Timestamp("2020-01-01")
assert both("f", "count")[0] == 2 and both("f", "mean") == (1, 1)
assert both("t", "count") == (4, 1)
group, resampled = both("t", "mean")
assert group.year < 1900 and resampled == day
group, resampled = both("t", "min")
assert pd.isna(group) and resampled == day
query = arcticdb.QueryBuilder()
assert ask("u + i", query.apply("z", query["u"] + query["i"]), "z")[0] == -2
query = arcticdb.QueryBuilder()
assert ask("u - 1", query.apply("z", query["u"] - 1), "z")[0] == -2
query = arcticdb.QueryBuilder()
assert ask("byte * byte", query.apply("z", query["byte"] * query["byte"]), "z")[0] == 10000
query = arcticdb.QueryBuilder()
assert len(ask("u > i", query[query["u"] > query["i"]], "u")) == 4
PY
