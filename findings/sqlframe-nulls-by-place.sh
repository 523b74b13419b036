#!/usr/bin/env bash
# Version: PyPI sqlframe 4.10.0, duckdb 2.0.1 (Python 3.11). Source: run on 2026-12-01; https://spark.apache.org/docs/4.0.0/api/sql/ (collect_list leaves null out; isnan of null is false; array_max skips null; log of 0 is null),
# and sqlframe's README: the API of PySpark's DataFrame on other engines, "no Spark".
# Guess: where the DataFrame sorts nulls first, as Spark does, a window that is ordered by the same column does, too; functions with PySpark's names leave out nulls as there.
# Behaviour: orderBy("v") has null first, and row_number() over a window ordered by "v" has it last, so that the row numbers of one order are another. collect_list and collect_set keep nulls; array_max of
# [1, null] is null; isnan(null) is null; log(0) is -infinity. substring from 0 with 2 characters gives one. percentile_approx gives a value
# between: 3.0 of 1, 2, 4, 9, where Spark takes one that is there.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install sqlframe==4.10.0 duckdb==2.0.1 pandas==3.1.1
env/bin/python -W ignore - <<'PY'
import math

from sqlframe.duckdb import DuckDBSession, Window, functions as F

session = DuckDBSession()
frame = session.createDataFrame([(1,), (2,), (None,)], "v int")


def rows(frame):
    return [tuple(row) for row in frame.collect()]


ordered = [v for v, in rows(frame.orderBy("v"))]
numbers = sorted(rows(frame.select(F.row_number().over(Window.orderBy("v")), "v")))
lists = rows(frame.select(F.collect_list("v"), F.collect_set("v")))[0]
print("ordered", ordered, "numbers", numbers, "lists", lists)
assert ordered == [None, 1, 2] and numbers == [(1, 1), (2, 2), (3, None)]
assert None in lists[0] and None in lists[1]
got = rows(session.createDataFrame([([1, None],)], "a array<int>").select(F.array_max("a")))
got += rows(session.createDataFrame([(None,)], "a double").select(F.isnan("a")))
got += rows(session.createDataFrame([(0.0,)], "a double").select(F.log("a")))
got += rows(session.createDataFrame([("hello",)], "a string").select(F.substring("a", 0, 2)))
print(got)
assert got == [(None,), (None,), (-math.inf,), ("h",)]
(median,), = rows(session.createDataFrame([(1.0,), (2.0,), (9.0,), (4.0,)], "a double").select(F.percentile_approx("a", 0.5)))
print("median", median)
assert median == 3.0
PY
