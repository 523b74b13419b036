#!/usr/bin/env bash
# Version: pyiceberg 0.12.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; a partition may be by the identity of any
# primitive type.
# Guess: a table partitioned by a column of doubles takes each row once; 0.0 and -0.0 are one partition, or two.
# Behaviour: they are two, and each gets the rows of both: appending 0.0 and -0.0 gives four rows, with the values twice, without
# an error. Of a partition of its own, NaN, none are written: the append ends with a division by zero.
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
from pyiceberg.transforms import IdentityTransform

here = os.getcwd()
catalog = SqlCatalog("here", uri=f"sqlite:///{here}/catalog.db", warehouse=f"file://{here}/warehouse")
catalog.create_namespace("n")


def table_of(name, values):
    rows = pa.table({"x": values, "row": list(range(len(values)))})
    table = catalog.create_table(f"n.{name}", schema=rows.schema)
    with table.update_spec() as update:
        update.add_field("x", IdentityTransform(), "part")
    table.append(rows)
    return sorted(table.scan().to_arrow()["row"].to_pylist())


assert table_of("numbers", [1.5, 2.5, None]) == [0, 1, 2]
zeros = table_of("zeros", [0.0, -0.0, 1.5])
print("rows of 0.0, -0.0 and 1.5:", zeros)
assert zeros == [0, 0, 1, 1, 2]
try:
    print(table_of("nan", [math.nan, 1.5]))
    raise SystemExit("NaN is a partition")
except ZeroDivisionError as error:
    print("NaN:", error)
END
env/bin/python -W ignore finding.py
