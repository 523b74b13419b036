#!/usr/bin/env bash
# Version: PyPI modin 0.37.1 with pandas 2.3.3, numpy 2.4.6 (Python 3.11), its engine "Python". Source: run on 2026-11-30; https://modin.readthedocs.io/en/stable/ (a drop-in
# replacement of pandas).
# Guess: corr is that of pandas up to rounding, which is within [-1, 1], however the rows are divided.
# Behaviour: with more than one partition of rows and a NaN in one column, corr of three multiples of each other depends on the names of the columns: as a, b and c all are 1; as i, x and nan, which are not in
# alphabetical order, the pairs have 5.4, -0.8 and 0.96 and the diagonal -1.6 and 15.8. cov is right. One infinity makes a row of NaN, in pandas a row of ones. Without NaN corr is computed from
# sums of squares: of x and 1e9 + x it is 0.996, of x and 1e9 - x -1.002. With one partition all are ones.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install modin==0.37.1 pandas==2.3.3 numpy==2.4.6
MODIN_ENGINE=Python env/bin/python -W ignore - <<'PY'
import modin.config as config
import numpy as np
import pandas

config.NPartitions.put(4)
import modin.pandas

x = np.arange(400.0)
holed, infinite = np.where(x == 5, np.nan, 2 * x), np.where(x == 5, np.inf, 2 * x)


def corr(name, columns):
    rows = pandas.DataFrame(columns)
    want, got = rows.corr().to_numpy(), modin.pandas.DataFrame(rows).corr().to_numpy()
    print(name, "pandas", want.round(3).tolist(), "Modin", got.round(3).tolist())
    return want.round(6), got


want, got = corr("in order", {"a": x, "b": x, "c": holed})
assert (want == 1).all() and np.allclose(got, want)
want, got = corr("not in order", {"i": x, "x": x, "nan": holed})
assert (want == 1).all() and got[2, 2] > 15 and got[0, 2] > 5 and got[0, 1] < -0.8 and got[1, 1] < -1.5
assert np.allclose(modin.pandas.DataFrame({"x": x, "nan": holed}).cov().to_numpy(), pandas.DataFrame({"x": x, "nan": holed}).cov().to_numpy())
want, got = corr("infinity", {"a": x, "b": infinite})
assert (want == 1).all() and got[0, 0] > 0.999 and np.isnan(got[1]).all()
want, got = corr("1e9", {"a": x, "b": 1e9 + x, "c": 1e9 - x})
assert (abs(want) == 1).all() and 0.99 < got[0, 1] < 0.999 and got[0, 2] < -1.001
few = {"i": x[:30], "x": x[:30], "nan": holed[:30]}
want, got = corr("one partition", few)
assert np.allclose(got, want)
PY
