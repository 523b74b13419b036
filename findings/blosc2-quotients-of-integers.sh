#!/usr/bin/env bash
# Version: PyPI blosc2 4.14.1, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30;
# https://www.blosc.org/python-blosc2/reference/lazyarray.html (expressions of NDArrays follow NumPy's rules for types and values).
# Guess: a / b and a % b of integer arrays are what numpy gives, as a // b is.
# Behaviour: a / b has the type float64 and the quotient cut to an integer: -7 / 3 is -2.0 and 5 / 3 is 1.0, for numpy -2.33 and 1.67. a % b has the sign of a:
# -7 % 3 is -1, for numpy 2. a // b is rounded down, -3, so that a // b * b + a % b is -10 for -7. There is no error; with a float on one side / is right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install blosc2==4.14.1 numpy==2.4.6
env/bin/python - <<'PY'
import blosc2
import numpy as np

x, y = np.array([-7, -1, 5]), np.array([3, 3, 3])
a, b = blosc2.asarray(x), blosc2.asarray(y)
got = {"/": (a / b)[:], "%": (a % b)[:], "//": (a // b)[:], "float /": (a / blosc2.asarray(y * 1.0))[:]}
for name, value in got.items():
    print(name, value.dtype, value.tolist())
print("numpy", (x / y).tolist(), (x % y).tolist(), (x // y).tolist())
assert got["/"].dtype == np.float64 and got["/"].tolist() == [-2.0, 0.0, 1.0]
assert got["%"].tolist() == [-1, -1, 2] and (x % y).tolist() == [2, 2, 2]
assert got["//"].tolist() == (x // y).tolist() == [-3, -1, 1]
assert np.allclose(got["float /"], x / y)
PY
