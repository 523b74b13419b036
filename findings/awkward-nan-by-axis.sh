#!/usr/bin/env bash
# Version: PyPI awkward 2.14.0, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://awkward-array.org/doc/main/reference/generated/ak.min.html (min, nanmin: the
# second one ignores NaN; axis) and ak.sort (ascending).
# Guess: ak.min and ak.max of a list with NaN are NaN, as ak.nanmin exists for the other, and the same for the whole array and along an axis.
# Behaviour: of 1, NaN and 0 the minimum of the array is NaN, along axis=1 0, and the maximum NaN and 1: what min does depends on the axis. argmin along the axis is
# the place of NaN if that is first, and of the least number if it is not. sort puts NaN first, where numpy has it last, and descending, too.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install awkward==2.14.0 numpy==2.4.6
env/bin/python - <<'PY'
import awkward as ak
import numpy as np

nan = np.nan
for values, place in ([1, nan, 0], 2), ([nan, 1, 0], 0):
    array = ak.Array([values])
    whole, along = (ak.min(array), ak.max(array)), (ak.min(array, axis=1)[0], ak.max(array, axis=1)[0])
    least = ak.argmin(array, axis=1)[0]
    print(values, "whole", whole, "axis=1", along, "argmin", least)
    assert np.isnan(whole).all() and along == (0, 1) and least == place
rising, falling = ak.sort([1, nan, 0]).tolist(), ak.sort([1, nan, 0], ascending=False).tolist()
print(rising, falling, np.sort([1, nan, 0]))
assert str(rising) == "[nan, 0.0, 1.0]" and str(falling) == "[nan, 1.0, 0.0]"
PY
