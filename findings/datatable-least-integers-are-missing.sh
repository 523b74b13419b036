#!/usr/bin/env bash
# Version: PyPI datatable 1.1.0, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://datatable.readthedocs.io/en/latest/api/frame.html.
# Guess: a column of numpy keeps its values, a CSV file that to_csv writes reads back the same numbers, and equal numbers are one group.
# Behaviour: the least number of an integer type is the missing value: -128 as int8 and -2^63 as int64 of numpy become None, silently, and sums leave them out. 5e-324 is written as 0.0. 0.0 and -0.0 are two groups and
# two of unique(), and == and a join take them for one; a filter i != 1 finds missing rows.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install datatable==1.1.0 numpy==2.4.6
env/bin/python - <<'PY'
import datatable as dt
import numpy as np

f = dt.f
bytes_, longs = dt.Frame(x=np.array([1, -128], np.int8)), dt.Frame(x=np.array([1, -2**63]))
print("integers", bytes_.to_list(), longs.to_list(), bytes_[:, dt.sum(f.x)].to_list())
assert bytes_.to_list() == longs.to_list() == [[1, None]] and bytes_[:, dt.sum(f.x)].to_list() == [[1]]
csv = dt.Frame(x=[5e-324, 0.1 + 0.2]).to_csv()
print("CSV", repr(csv))
assert csv == "x\n0.0\n0.30000000000000004\n"
zeros = dt.Frame(x=[0.0, -0.0, 1.0], i=[1, 2, None])
got = zeros[:, dt.count(), dt.by(f.x)].to_list(), dt.unique(zeros["x"]).nrows, zeros[f.x == 0, f.i].to_list(), zeros[f.i != 1, f.x].nrows
print("zeros", got)
assert got == ([[-0.0, 0.0, 1.0], [1, 1, 1]], 3, [[1, 2]], 2)
PY
