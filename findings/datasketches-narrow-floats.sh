#!/usr/bin/env bash
# Version: PyPI datasketches 5.2.0, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30.
# Guess: a numpy.float32 is the same id as the float of its value, or an error; so is a Decimal.
# Behaviour: they are taken for integers, without their fraction: to theta, HLL and CPC sketches 1,000 different float32 from 0 to 1,
# and so many Decimals, are one id, 0. numpy.float64 is right, and an array of float32 that is made a list with tolist().
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install datasketches==5.2.0 numpy==2.4.6
cat >finding.py <<'END'
import decimal
import datasketches
import numpy

doubles = numpy.arange(1000) / 1000
narrow = doubles.astype(numpy.float32)
assert len(set(narrow.tolist())) == 1000
lists = {
    "float64": doubles,
    "float32": narrow,
    "float16": doubles.astype(numpy.float16),
    "Decimal": [decimal.Decimal(number) / 1000 for number in range(1000)],
    "tolist": narrow.tolist(),
}
makers = {
    "theta": datasketches.update_theta_sketch,
    "hll": lambda: datasketches.hll_sketch(12),
    "cpc": lambda: datasketches.cpc_sketch(11),
}
for sketch, make in makers.items():
    for name, ids in lists.items():
        it = make()
        for one in ids:
            it.update(one)
        count = round(it.get_estimate())
        print(sketch, name, count)
        assert abs(count - 1000) < 40 if name in ("float64", "tolist") else count == 1
        if name == "float32":
            it.update(0)
            assert round(it.get_estimate()) == 1
END
env/bin/python finding.py
