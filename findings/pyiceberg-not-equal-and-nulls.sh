#!/usr/bin/env bash
# Version: pyiceberg 0.12.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: nulls are in the result of `!=` and `not in`, or not, for both and all files; a longer list of `not in` gives fewer rows.
# Behaviour: `x != 1` and `x not in (1)` leave nulls out, `x not in (1, 2)` has them, so that the longer list gives more rows. Rows of
# files that are older than the column, which are null, too, are in the result of all three, and delete("x != 1") keeps them.
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
from pyiceberg.types import LongType

here = os.getcwd()
catalog = SqlCatalog("here", uri=f"sqlite:///{here}/catalog.db", warehouse=f"file://{here}/warehouse")
catalog.create_namespace("n")
table = catalog.create_table("n.t", schema=pa.schema([("name", pa.string())]))
table.append(pa.table({"name": ["old"]}))
with table.update_schema() as update:
    update.add_column("x", LongType())
table.append(pa.table({"name": ["null", "one", "nine"], "x": [None, 1, 9]}))


def names(condition="true"):
    return sorted(table.scan(condition).to_arrow()["name"].to_pylist())


found = {condition: names(condition) for condition in ("x is null", "x != 1", "x not in (1)", "x not in (1, 2)")}
for condition, rows in found.items():
    print(condition, rows)
assert found["x is null"] == ["null", "old"]
assert found["x != 1"] == found["x not in (1)"] == ["nine", "old"]
assert found["x not in (1, 2)"] == ["nine", "null", "old"]
table.delete("x != 1")
print("after the delete of x != 1:", names())
assert names() == ["null", "old", "one"]
END
env/bin/python -W ignore finding.py
