#!/usr/bin/env bash
# Version: pyiceberg 0.12.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; Iceberg allows the type of a column to go from float
# to double, with the files as they are.
# Guess: after that the column is one of doubles: 0.1 of an old file, 0.10000000149 as the scan shows it, is greater than 0.1.
# Behaviour: in an old file the filter is rounded to a float: `x > 0.1` loses that row and `x = 0.1` finds it, unless it is
# the smallest of its file, whose bounds are compared as doubles. The same rows, written again as doubles, are found and not found.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install "pyiceberg[pyarrow,pyiceberg-core,sql-sqlite]==0.12.0" pyarrow==26.0.1
cat >finding.py <<'END'
import os
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import DoubleType

here = os.getcwd()
catalog = SqlCatalog("here", uri=f"sqlite:///{here}/catalog.db", warehouse=f"file://{here}/warehouse")
catalog.create_namespace("n")


def table_of(name, values):
    table = catalog.create_table(f"n.{name}", schema=pa.schema([("x", values.type)]))
    table.append(pa.table({"x": values}))
    return table


def found(table, condition):
    return table.scan(condition).to_arrow()["x"].to_pylist()


tenth = pa.scalar(0.1, pa.float32()).as_py()
old = table_of("old", pa.array([-5, 0.1, 7], pa.float32()))
least = table_of("least", pa.array([0.1, 7], pa.float32()))
for table in old, least:
    with table.update_schema() as update:
        update.update_column("x", DoubleType())
new = table_of("new", old.scan().to_arrow()["x"])
for condition in "x > 0.1", "x = 0.1":
    print(condition, found(old, condition), found(least, condition), found(new, condition))
assert old.scan().to_arrow()["x"].to_pylist() == [-5, tenth, 7] and tenth > 0.1
assert found(old, "x > 0.1") == found(least, "x > 0.1") == [7] and found(new, "x > 0.1") == [tenth, 7]
assert found(old, "x = 0.1") == [tenth] and found(least, "x = 0.1") == found(new, "x = 0.1") == []
END
env/bin/python -W ignore finding.py
