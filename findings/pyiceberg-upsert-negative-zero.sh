#!/usr/bin/env bash
# Version: pyiceberg 0.12.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: upsert updates the row whose key equals, or inserts the new one; whether -0.0 equals 0.0 is open.
# Behaviour: of one row with the key 0.0 and a new one with -0.0 it does neither: a filter finds the old row for the new key, so that
# nothing is inserted, and a join of Arrow, for which the two differ, finds no row to update. Without an error the new row is nowhere.
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

here = os.getcwd()
catalog = SqlCatalog("here", uri=f"sqlite:///{here}/catalog.db", warehouse=f"file://{here}/warehouse")
catalog.create_namespace("n")
table = catalog.create_table("n.t", schema=pa.schema([("k", pa.float64()), ("v", pa.int64())]))
table.append(pa.table({"k": [0.0], "v": [1]}))
done = table.upsert(pa.table({"k": [-0.0], "v": [10]}), join_cols=["k"])
rows = table.scan().to_arrow().to_pylist()
print(f"updated {done.rows_updated}, inserted {done.rows_inserted}:", rows)
assert (done.rows_updated, done.rows_inserted) == (0, 0) and rows == [{"k": 0.0, "v": 1}]
END
env/bin/python -W ignore finding.py
