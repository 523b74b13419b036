#!/usr/bin/env bash
# Version: PyPI vortex-data 0.90.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; https://docs.vortex.dev/api/python/dataset (a Vortex file as a dataset of
# pyarrow, with the expressions of pyarrow).
# Guess: a dataset filters by an expression of pyarrow as pyarrow does, or refuses the expression; of NaN alone one might be in doubt.
# Behaviour: the expression is pushed down, and there -0.0 is less than 0.0 and NaN a number beyond infinity, by its sign below -infinity: x == 0 loses -0.0, x < 0 finds it, x > 1 finds
# NaN. isin finds by bits in both, so that in Vortex alone == and isin agree. Numbers of two types, 8-bit integers beside 300 or decimals beside one of another
# precision, are errors.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install vortex-data==0.90.0 pyarrow==26.0.1
env/bin/python - <<'PY' 2>errors
import math

import pyarrow as pa
import pyarrow.compute as pc
import vortex

values = [0.0, -0.0, math.nan, -math.nan, 1.0, -math.inf, 2.5, None]
rows = pa.table({"i": range(len(values)), "x": values})
vortex.io.write(rows, "t.vortex")
file, x = vortex.open("t.vortex").to_dataset(), pc.field("x")


def found(expression):
    pair = tuple(table["i"].to_pylist() for table in (rows.filter(expression), file.to_table(filter=expression)))
    print(expression, "pyarrow", pair[0], "Vortex", pair[1])
    return pair


assert found(x == 0.0) == ([0, 1], [0]) and found(x.isin([0.0])) == ([0], [0])
assert found(x < 0.0) == ([5], [1, 3, 5]) and found(x > 1.0) == ([6], [2, 6])
assert found(x != 0.0) == ([2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]) and found(x == math.nan) == ([], [2])
assert found(x * -1.0 == 0.0) == ([0, 1], [1])
zeros = pa.table({"x": [-0.0] * 9000 + [1.0] * 9000})
vortex.io.write(zeros, "zeros.vortex")
large = vortex.open("zeros.vortex").to_dataset()
assert (zeros.filter(x == 0.0).num_rows, large.to_table(filter=x == 0.0).num_rows) == (9000, 0)
small = pa.table({"x": pa.array([1], pa.int8())})
vortex.io.write(small, "small.vortex")
assert small.filter(x < 300).num_rows == 1
try:
    vortex.open("small.vortex").to_dataset().to_table(filter=x < 300)
    raise SystemExit("8-bit integers beside 300 are compared")
except pa.ArrowInvalid as error:
    print(error)
PY
