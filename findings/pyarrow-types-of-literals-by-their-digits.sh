#!/usr/bin/env bash
# Version: PyPI pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; https://arrow.apache.org/docs/python/generated/pyarrow.dataset.Expression.html (a literal is
# converted by pyarrow.scalar, which makes a float a double and an int an int64).
# Guess: in an expression on a column x, x * 1.5 is a double as pc.multiply(x, 1.1) is, whichever the number.
# Behaviour: a literal has the narrowest type that holds its value: 1.5 is a 32-bit float and 1.1 a double, 100 an int8. With integers x * 1.5 is 25165822.0 for
# 25165822.5 and x * 1.1 right; a filter x > 1.5 of an int64 column with 2^24 + 1 fails and x > 1.1 does not. x + 100 of an int8 overflows where pc.add gives an int64. In a Parquet file x < 0.5
# does not fail, as the bounds of the column decide before.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyarrow==26.0.1
env/bin/python - <<'PY'
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

x = pc.field("x")


def ask(values, *, filter=None, y=x):
    table = pa.table({"x": values})
    try:
        column = ds.dataset(table).to_table(filter=filter, columns={"y": y})["y"]
        got = str(column.type), column.to_pylist()
    except pa.ArrowInvalid as error:
        got = str(error)
    print(table["x"].type, filter if y is x else y, got)
    return got


small, large, byte = pa.array([16777215]), pa.array([1, 2**24 + 1]), pa.array([100], pa.int8())
assert ask(small, y=x * 1.5) == ("float", [25165822.0])
kind, got = ask(small, y=x * 1.1)
assert kind == "double" and abs(got[0] - 18454936.5) < 1e-6
assert ask(large, filter=x > 1.5).startswith("Integer value 16777217 not in range")
assert ask(large, filter=x > 1.1) == ("int64", [2**24 + 1])
assert ask(large, filter=x > 16777216.0).startswith("Integer value")
assert ask(byte, y=x + 100) == "overflow" and pc.add(byte, 100).type == pa.int64() and pc.add(byte, 100)[0].as_py() == 200
assert ask(byte, y=x + 300) == ("int16", [400])
assert ask(large, filter=x < 0.5).startswith("Integer value")
pq.write_table(pa.table({"x": large}), "x.parquet")
assert ds.dataset("x.parquet").to_table(filter=x < 0.5).num_rows == 0
PY
