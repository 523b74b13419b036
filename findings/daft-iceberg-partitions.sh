#!/usr/bin/env bash
# Version: PyPI daft 0.7.26, pyiceberg 0.12.0, pyarrow 25.0.1 (Python 3.11). Source: run on 2026-11-30; Iceberg's specification has the
# value of each transform, and readers leave out files by it.
# Guess: a table that daft's write_iceberg partitions by hour or bucket is read by pyiceberg with the same rows.
# Behaviour: a time before 1970 goes into the hour after its own, and the decimals 0.00, -0.01 and -1.28 into wrong buckets: all
# rows are there without a condition, and with `x = VALUE` they are not found, by pyiceberg and by daft. In the right partitions
# that pyiceberg writes daft does not find these rows. Days and integers are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install "pyiceberg[pyarrow,pyiceberg-core,sql-sqlite]==0.12.0" daft==0.7.26 pyarrow==25.0.1
cat >finding.py <<'END'
import datetime as dt
import decimal
import os
import daft
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.transforms import BucketTransform, DayTransform, HourTransform

here = os.getcwd()
catalog = SqlCatalog("here", uri=f"sqlite:///{here}/catalog.db", warehouse=f"file://{here}/warehouse")
catalog.create_namespace("n")


def found(values, transform, writer):
    count = found.count = getattr(found, "count", 0) + 1
    rows = pa.table({"x": values})
    table = catalog.create_table(f"n.t{count}", schema=rows.schema)
    with table.update_spec() as update:
        update.add_field("x", transform, "part")
    if writer == "daft":
        daft.from_arrow(rows).write_iceberg(table)
    else:
        table.append(rows)
    table = catalog.load_table(f"n.t{count}")
    assert sorted(table.scan().to_arrow()["x"].to_pylist()) == sorted(values.to_pylist())
    result = []
    for value in values.to_pylist():
        text = value.isoformat() if isinstance(value, dt.datetime) else value
        by_pyiceberg = table.scan(EqualTo("x", text)).to_arrow().num_rows
        by_daft = len(daft.read_iceberg(table).where(daft.col("x") == value).to_pydict()["x"])
        result.append((by_pyiceberg, by_daft))
    print(writer, transform, dict(zip(map(str, values.to_pylist()), result)))
    return result


times = pa.array([dt.datetime(1960, 2, 29, 12, 30), dt.datetime(2020, 1, 1, 12, 30)], pa.timestamp("us"))
numbers = [decimal.Decimal(text) for text in ("0.00", "-0.01", "-1.28", "9.99", "12345.67")]
decimals = pa.array(numbers, pa.decimal128(9, 2))
assert found(times, HourTransform(), "daft") == [(0, 0), (1, 1)]
assert found(times, HourTransform(), "pyiceberg") == [(1, 0), (1, 1)]
assert found(times, DayTransform(), "daft") == [(1, 1), (1, 1)]
assert found(decimals, BucketTransform(16), "daft") == [(0, 0), (0, 0), (0, 0), (1, 1), (1, 1)]
assert found(decimals, BucketTransform(16), "pyiceberg") == [(1, 0), (1, 0), (1, 0), (1, 1), (1, 1)]
assert found(pa.array([-1, 0, 7]), BucketTransform(16), "daft") == [(1, 1)] * 3
print("as expected", flush=True)
os._exit(0)  # threads of daft may end Python with an error
END
DAFT_PROGRESS_BAR=0 env/bin/python -W ignore finding.py
