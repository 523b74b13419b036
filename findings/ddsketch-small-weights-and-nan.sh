#!/usr/bin/env bash
# Version: PyPI ddsketch 3.0.1 (Python 3.11). Source: run on 2026-11-30; https://github.com/DataDog/sketches-py/blob/master/ddsketch/ddsketch.py
# (add(val, weight=1.0): any positive weight; quantiles within the relative accuracy).
# Guess: of one value with any weight each quantile is about that value; NaN is refused, ignored, or makes the quantiles NaN.
# Behaviour: of 5 with the weight 0.5 the quantile 0 is 5.003 and every other one -0.99, a number of nothing in the sketch: the rank is q * (count - 1),
# which is negative, and so looked for among the negative values. So it is for all sums of weights below 1; normalized weights, whose sum is 0.9999999,
# are enough. NaN counts as a zero: of three NaN, 5 and 7 the median is 0, while the sum is NaN. With a sum of 1 and more all is as guessed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install ddsketch==3.0.1
env/bin/python - <<'PY'
import math

from ddsketch import DDSketch


def quantiles(*pairs):
    sketch = DDSketch()
    for value, weight in pairs:
        sketch.add(value, weight)
    return [round(sketch.get_quantile_value(q), 2) for q in (0, 0.25, 0.5, 0.99)], sketch.sum


half, normal, whole = quantiles((5, 0.5)), quantiles((5, 0.3), (7, 0.6999999)), quantiles((5, 0.5), (7, 0.75))
nan = quantiles(*[(math.nan, 1)] * 3, (5, 1), (7, 1))
print("weight 0.5:", half, "0.9999999:", normal, "1.25:", whole, "NaN:", nan)
assert half[0] == [5.0, -0.99, -0.99, -0.99] and normal[0][1:] == [-0.99] * 3 and min(whole[0]) > 4.9
assert nan[0][:3] == [0, 0, 0] and math.isnan(nan[1])
PY
