#!/usr/bin/env bash
# Version: PyPI daft 0.7.26, pyarrow 25.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: the mean of integers is a double and cannot overflow, as in pyarrow, DuckDB and Spark; a // b * b + a % b is a, for floats and
# for integers by one rule.
# Behaviour: the mean is the wrapped sum over the count: three times 2^62 have the mean -1.5e18, two times 2^63 as uint64 the mean
# 0, without an error. -7 // 2 is -3, cut, and -7.5 // 2.0 is -4, rounded down, but its % is -1.5 as if it were cut.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install daft==0.7.26 pyarrow==25.0.1
cat >finding.py <<'END'
import os
import daft
import pyarrow as pa
from daft import col


def mean(values):
    return daft.from_arrow(pa.table({"x": values})).agg(col("x").mean()).to_pydict()["x"][0]


assert mean(pa.array([2 ** 60] * 3)) == 2 ** 60
print(mean(pa.array([2 ** 62] * 3)), mean(pa.array([2 ** 63] * 2, pa.uint64())))
assert mean(pa.array([2 ** 62] * 3)) == (3 * 2 ** 62 - 2 ** 64) / 3 < 0
assert mean(pa.array([2 ** 63] * 2, pa.uint64())) == 0
for a, b, want in (-7, 2, (-3, -1)), (-7.5, 2.0, (-4.0, -1.5)):
    pair = daft.from_arrow(pa.table({"a": [a], "b": [b]}))
    result = pair.select((col("a") // col("b")).alias("over"), (col("a") % col("b")).alias("rest")).to_pydict()
    over, rest = result["over"][0], result["rest"][0]
    print(f"{a} // {b} = {over}, {a} % {b} = {rest}, {over} * {b} + {rest} = {over * b + rest}")
    assert (over, rest) == want
print("as expected", flush=True)
os._exit(0)  # threads of daft may end Python with an error
END
DAFT_PROGRESS_BAR=0 env/bin/python finding.py
