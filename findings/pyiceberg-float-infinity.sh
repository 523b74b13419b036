#!/usr/bin/env bash
# Version: pyiceberg 0.12.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: a filter on a column of 32-bit floats means what it means on one of doubles.
# Behaviour: infinity is compared with the largest float and taken for a number that no float can be: `x = inf` finds nothing,
# and `x < inf` finds every row, infinity and NaN included. On doubles, 1 row and 2.
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
from pyiceberg.expressions import EqualTo, LessThan

here = os.getcwd()
catalog = SqlCatalog("here", uri=f"sqlite:///{here}/catalog.db", warehouse=f"file://{here}/warehouse")
catalog.create_namespace("n")
found = {}
for kind in (pa.float32(), pa.float64()):
    table = catalog.create_table(f"n.{kind}", schema=pa.schema([("x", kind)]))
    table.append(pa.table({"x": pa.array([0.5, 1.0, math.inf, math.nan], kind)}))
    found[str(kind)] = [str(table.scan(row_filter=test("x", math.inf)).to_arrow()["x"].to_pylist())
                        for test in (EqualTo, LessThan)]
print("found by x = inf and x < inf:", found)
assert found == {"float": ["[]", "[0.5, 1.0, inf, nan]"], "double": ["[inf]", "[0.5, 1.0]"]}
END
env/bin/python -W ignore finding.py
