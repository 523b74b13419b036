#!/usr/bin/env bash
# Version: pyiceberg 0.12.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; Iceberg's specification leaves NaN out of
# the bounds of a file, and counts it apart.
# Guess: delete(FILTER) deletes the rows that scan(FILTER) gives.
# Behaviour: of [0.5, NaN], scan("x < 1") gives 0.5 and delete("x < 1") leaves nothing: the file has bounds, but no count of
# NaN, so the bounds decide that all of it goes. With 3.0 in the file, too, its rows are looked at, and NaN stays.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install "pyiceberg[pyarrow,pyiceberg-core,sql-sqlite]==0.12.0" pyarrow==26.0.1
cat >finding.py <<'END'
import math
import os
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

here = os.getcwd()
catalog = SqlCatalog("here", uri=f"sqlite:///{here}/catalog.db", warehouse=f"file://{here}/warehouse")
catalog.create_namespace("n")


def delete(name, values):
    """What the scan finds, and what the deletion of the same leaves."""
    table = catalog.create_table(f"n.{name}", schema=pa.schema([("x", pa.float64())]))
    table.append(pa.table({"x": values}))
    found = table.scan(row_filter="x < 1").to_arrow()["x"].to_pylist()
    table.delete("x < 1")
    return str(found), str(table.scan().to_arrow()["x"].to_pylist())


got = {name: delete(name, values) for name, values in {
    "two": [0.5, math.nan], "three": [0.5, math.nan, 3.0], "null": [0.5, None]}.items()}
print("found by x < 1, left after its deletion:", got)
assert got == {"two": ("[0.5]", "[]"), "three": ("[0.5]", "[nan, 3.0]"), "null": ("[0.5]", "[None]")}
END
env/bin/python -W ignore finding.py
