#!/usr/bin/env bash
# Version: PyPI daft 0.7.26, pyarrow 25.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: times before 1970 are rounded down, as dates are, or at least by one rule, and days before 1970 are negative numbers.
# Behaviour: of 1969-12-31T23:59:59.5 the date and date_trunc are right; partition_hours, to_unix_epoch and the cast to seconds give
# 0, the first moment of 1970; unix_date is unsigned, 2^64 - 1. Weeks of date_trunc begin on Thursday, as 1970 does.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install daft==0.7.26 pyarrow==25.0.1
cat >finding.py <<'END'
import datetime as dt
import os
import daft
import pyarrow as pa
from daft import DataType, col

time = dt.datetime(1969, 12, 31, 23, 59, 59, 500000)
rows = daft.from_arrow(pa.table({"t": pa.array([time], pa.timestamp("us"))}))
t = col("t")
parts = {
    "date": t.cast(DataType.date()),
    "hour": t.date_trunc("1 hour"),
    "week": t.date_trunc("1 week"),
    "partition_hours": t.partition_hours(),
    "to_unix_epoch": t.to_unix_epoch(),
    "seconds": t.cast(DataType.timestamp("s")),
    "unix_date": t.unix_date(),
}
found = {name: value[0] for name, value in rows.select(*[part.alias(name) for name, part in parts.items()]).to_pydict().items()}
for name, value in found.items():
    print(name, value)
assert found["date"] == dt.date(1969, 12, 31) and found["hour"] == dt.datetime(1969, 12, 31, 23)
assert found["week"] == dt.datetime(1969, 12, 25) and found["week"].strftime("%a") == "Thu"
assert found["partition_hours"] == found["to_unix_epoch"] == 0 and found["seconds"] == dt.datetime(1970, 1, 1)
assert found["unix_date"] == 2 ** 64 - 1
print("as expected", flush=True)
os._exit(0)  # threads of daft may end Python with an error
END
DAFT_PROGRESS_BAR=0 env/bin/python finding.py
