#!/usr/bin/env bash
# Version: PyPI numexpr 2.14.2, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://numexpr.readthedocs.io/en/latest/user_guide.html (sum, prod, min
# and max are reductions as numpy has them).
# Guess: sum(a) of 32-bit floats is near numpy's, and min and max of a column with NaN are NaN, as in numpy.
# Behaviour: the sum is added one by one in 32 bits: of 2^25 ones it is 16777216, half of it, where numpy's is 33554432, and of 2^24 values of 0.1 it is
# 1935089 instead of 1677722, 15 % too much. min and max skip NaN, wherever it is, and are NaN only of NaN alone.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install numexpr==2.14.2 numpy==2.4.6
env/bin/python - <<'PY'
import numexpr
import numpy as np

ones, tenths = np.ones(2 ** 25, "f4"), np.full(2 ** 24, 0.1, "f4")
sums = [float(numexpr.evaluate("sum(a)", {"a": a})) for a in (ones, tenths)]
print("sums", sums, "numpy", float(ones.sum()), float(tenths.sum()))
nan = np.nan
bounds = [[float(numexpr.evaluate(f"{name}(a)", {"a": np.array(values)})) for name in ("min", "max")]
          for values in ([1, nan, 2], [nan, 1, 2], [nan, nan])]
print("min and max", bounds)
assert sums == [2 ** 24, 1935089] and ones.sum() == 2 ** 25 and abs(tenths.sum() - 1677721.6) < 1
assert bounds[:2] == [[1, 2], [1, 2]] and np.isnan(bounds[2]).all()
PY
