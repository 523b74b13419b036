#!/usr/bin/env bash
# Version: PyPI pylance 14.0.2 (lance), pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; https://lance.org/guide/read_and_write/ (to_table(filter=SQL), delete(SQL) and
# sql()).
# Guess: one condition finds the same rows as filter= of to_table, as WHERE of sql() and in delete(); of the three, all are SQL of one library.
# Behaviour: filter= and delete() first cast a literal to the type of the column: of 32-bit floats x = 0.1 finds 0.1 and x > 0.1 does not, in sql() the other way round. Of times in seconds x = 00:00:00.9
# finds midnight in both, and before 1970 a fraction is cut upwards, so that x > 23:59:58.5 does not find 23:59:59. Of integers x = 1.5 is an error in filter= and no row in sql(). x + 2^63 - 1 > 0 wraps in both.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pylance==14.0.2 pyarrow==26.0.1
env/bin/python -W ignore - <<'PY'
import datetime

import lance
import pyarrow as pa


def both(values, condition):
    data = lance.write_dataset(pa.table({"i": range(len(values)), "x": values}), "t", mode="overwrite")
    batches = data.sql(f"select i from dataset where {condition}").build().to_batch_records()
    by_sql = sorted(row for batch in batches for row in batch.column(0).to_pylist())
    try:
        by_filter = data.to_table(filter=condition)["i"].to_pylist()
    except (OSError, ValueError) as error:
        by_filter = type(error).__name__
    print(values.type, condition, "filter", by_filter, "sql", by_sql)
    return by_filter, by_sql


floats = pa.array([0.1, 16777216.0], pa.float32())
assert both(floats, "x = 0.1") == ([0], []) and both(floats, "x > 0.1") == ([1], [0, 1])
times = pa.array([datetime.datetime(1969, 12, 31, 23, 59, 59), datetime.datetime(2020, 1, 1)], pa.timestamp("s"))
assert both(times, "x = timestamp '2020-01-01 00:00:00.9'") == ([1], [1])
assert both(times, "x > timestamp '1969-12-31 23:59:58.5'") == ([1], [1])
found, by_sql = both(pa.array([1, 2]), "x = 1.5")
assert found in ("OSError", "ValueError") and by_sql == []
assert both(pa.array([1, 2]), "x + 9223372036854775807 > 0") == ([], [])
data = lance.write_dataset(pa.table({"x": floats}), "t", mode="overwrite")
data.delete("x = 0.1")
assert data.to_table()["x"].to_pylist() == [16777216.0]
PY
