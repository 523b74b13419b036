#!/usr/bin/env bash
# Version: PyPI daft 0.7.26, pyarrow 25.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: 0.0 equals -0.0 by `==` and `<`, as IEEE 754 says; groups and joins may take them apart.
# Behaviour: -0.0 is less than 0.0: in data frames, SQL and files `x < 0` finds it, so that a filter for negative numbers takes zeros,
# and `x == 0` and `x >= 0` do not. Joins follow; they do not meet NaN, either, which is_in finds.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install daft==0.7.26 pyarrow==25.0.1
cat >finding.py <<'END'
import math
import os
import daft
import pyarrow as pa
from daft import col

rows = daft.from_arrow(pa.table({"x": [0.0, -0.0, 1.0], "row": [0, 1, 2]}))


def found(condition):
    return sorted(rows.where(condition).to_pydict()["row"])


x = col("x")
for condition, want in (x == 0.0, [0]), (x >= 0.0, [0, 2]), (x < 0.0, [1]), (x > -0.0, [0, 2]):
    print(condition, found(condition))
    assert found(condition) == want
assert daft.sql("select row from rows where x = 0", rows=rows).to_pydict()["row"] == [0]
left = daft.from_arrow(pa.table({"k": [0.0, math.nan, 1.0], "left": [0, 1, 2]}))
right = daft.from_arrow(pa.table({"k": [-0.0, math.nan, 1.0], "right": [0, 1, 2]}))
assert left.join(right, on="k").to_pydict()["left"] == [2]
assert left.where(col("k").is_in([math.nan])).to_pydict()["left"] == [1]
print("as expected", flush=True)
os._exit(0)  # threads of daft may end Python with an error
END
DAFT_PROGRESS_BAR=0 env/bin/python finding.py
