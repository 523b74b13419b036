#!/usr/bin/env bash
# Version: PyPI kuzu 0.11.3, pyarrow 25.0.1 (Python 3.11). Source: run on 2026-11-30; https://docs.kuzudb.com/import/parquet/ and https://docs.kuzudb.com/import/copy-from-dataframe/
# (a table is scanned from a Parquet file, or from memory as Arrow).
# Guess: LOAD FROM gives the same values for a table in memory and for the Parquet file that pyarrow makes of it, or refuses the column.
# Behaviour: a time in nanoseconds and a duration are such from memory and plain integers from the file. A time of day and a half float are refused in memory, and from the
# file an integer and, for 1.5, the bytes 00 3e; a decimal is read from memory and "Unsupported converted type" in the file. COPY writes these columns back as integers and bytes, so that a
# file changes its types on its way.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install kuzu==0.11.3 pyarrow==25.0.1 pandas==3.1.1 numpy==2.4.6
env/bin/python - <<'PY'
import datetime
import decimal

import kuzu
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

connection = kuzu.Connection(kuzu.Database(":memory:"))
columns = {"ns": pa.array([1_000_000_000], pa.timestamp("ns")), "us": pa.array([1_000_000], pa.timestamp("us")), "clock": pa.array([datetime.time(1, 2, 3)]),
           "duration": pa.array([datetime.timedelta(seconds=1.5)]), "half": pa.array(np.array([1.5], np.float16)),
           "decimal": pa.array([decimal.Decimal("1.28")], pa.decimal128(9, 2))}
second, got = datetime.datetime(1970, 1, 1, 0, 0, 1), {}
for name, column in columns.items():
    table = pa.table({"x": column})
    pq.write_table(table, f"{name}.parquet")
    got[name] = []
    for query, arguments in ("LOAD FROM $t RETURN x", {"t": table}), (f"LOAD FROM '{name}.parquet' RETURN x", {}):
        try:
            got[name].append(connection.execute(query, arguments).get_next()[0])
        except RuntimeError as error:
            got[name].append(str(error)[:60])
    print(name, got[name])
assert got["us"] == [second, second] and got["ns"] == [second, 1_000_000_000]
assert got["duration"] == [datetime.timedelta(seconds=1.5), 1_500_000] and got["clock"][1] == 3_723_000_000
assert got["half"][1] == b"\x00>" and got["decimal"][0] == decimal.Decimal("1.28") and "Unsupported" in got["decimal"][1]
connection.execute("COPY (LOAD FROM 'ns.parquet' RETURN x) TO 'back.parquet'")
assert pq.read_schema("back.parquet").field("x").type == pa.int64()
PY
