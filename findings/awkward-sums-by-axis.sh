#!/usr/bin/env bash
# Version: PyPI awkward 2.14.0, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://awkward-array.org/doc/main/reference/generated/ak.sum.html and ak.ptp.html
# (range of values: maximum - minimum).
# Guess: the sum of the only list of an array is that of the array, up to rounding; a range is not negative.
# Behaviour: of 2^25 ones of 32 bits the sum is 33554432, and along axis=1 of the same numbers as one list 16777216: there it is added one by one in 32 bits. Of 2^24 values
# of 0.1 it is 15 % too much, while ak.mean of the list is right. ptp of -100 and 100 as int8 is -56. Sums of integers are widened.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install awkward==2.14.0 numpy==2.4.6
env/bin/python - <<'PY'
import awkward as ak
import numpy as np

ones, tenths = np.ones(2 ** 25, "f4"), np.full(2 ** 24, 0.1, "f4")
lists = [ak.unflatten(ak.Array(values), [len(values)]) for values in (ones, tenths)]
whole, along = [float(ak.sum(values)) for values in (ones, tenths)], [float(ak.sum(values, axis=1)[0]) for values in lists]
mean = float(ak.mean(lists[1], axis=1)[0])
narrow = ak.values_astype(ak.Array([[-100, 100], [100, 100]]), "int8")
print(whole, along, "mean", mean, ak.ptp(narrow, axis=1).tolist(), ak.sum(narrow, axis=1).tolist())
assert whole[0] == 2 ** 25 and along[0] == 2 ** 24
assert abs(whole[1] - 1677721.6) < 10 and along[1] > 1.15 * whole[1]
assert ak.ptp(narrow, axis=1).tolist() == [-56, 0] and ak.sum(narrow, axis=1).tolist() == [0, 200]
PY
