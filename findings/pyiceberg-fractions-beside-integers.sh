#!/usr/bin/env bash
# Version: pyiceberg 0.12.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: on a column of integers `x = 1.5` finds no row, or is an error, and a date is compared with a time as its midnight.
# Behaviour: the fraction is rounded to the type of the column, away from zero: `x = 1.5` finds 2, `x > 1.5` does not, and
# delete("x = 1.5") deletes the row 2. A float beside a decimal is rounded to its scale, 1.004 finds 1.00, though the same number as
# a text is an error. A time beside a date loses its hours: no row is before 2020-01-01 12:00 of the dates 1st and 2nd.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install "pyiceberg[pyarrow,pyiceberg-core,sql-sqlite]==0.12.0" pyarrow==26.0.1
cat >finding.py <<'END'
import datetime as dt
import decimal
import os
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo, LessThan

here = os.getcwd()
catalog = SqlCatalog("here", uri=f"sqlite:///{here}/catalog.db", warehouse=f"file://{here}/warehouse")
catalog.create_namespace("n")


def table_of(name, array):
    table = catalog.create_table(f"n.{name}", schema=pa.schema([("x", array.type)]))
    table.append(pa.table({"x": array}))
    return table


def found(table, condition):
    return table.scan(condition).to_arrow()["x"].to_pylist()


numbers = table_of("numbers", pa.array([1, 2, -1, -2]))
for condition in "x = 1.5", "x > 1.5", "x <= 1.5", "x = -1.5":
    print(condition, found(numbers, condition))
assert found(numbers, "x = 1.5") == [2] and found(numbers, "x = -1.5") == [-2]
assert found(numbers, "x > 1.5") == [] and found(numbers, "x <= 1.5") == [1, 2, -1, -2]
numbers.delete("x = 1.5")
assert numbers.scan().to_arrow()["x"].to_pylist() == [1, -1, -2]

decimals = table_of("decimals", pa.array([decimal.Decimal("1.00")], pa.decimal128(9, 2)))
assert found(decimals, EqualTo("x", 1.004)) == [decimal.Decimal("1.00")]
try:
    found(decimals, "x = 1.004")
    raise SystemExit("1.004 of a text is taken")
except ValueError as error:
    print(error)

dates = table_of("dates", pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 2)]))
noon = dt.datetime(2020, 1, 1, 12)
print(found(dates, LessThan("x", noon)), found(dates, EqualTo("x", noon)))
assert found(dates, LessThan("x", noon)) == [] and found(dates, EqualTo("x", noon)) == [dt.date(2020, 1, 1)]
END
env/bin/python -W ignore finding.py
