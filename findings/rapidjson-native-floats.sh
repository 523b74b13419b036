#!/usr/bin/env bash
# Version: PyPI python-rapidjson 1.25 (Python 3.11). Source: run on 2026-11-30; https://python-rapidjson.readthedocs.io/en/latest/loads.html
# (NM_NATIVE: numbers are those of the machine, faster, for integers and floats in its range).
# Guess: for numbers in the range of a double NM_NATIVE gives the same floats as the default, as every reader of JSON does today.
# Behaviour: of 20,000 doubles in their shortest form every sixth comes back as a neighbour, up to 2 units in the last place away, so that it does not
# equal itself, hashes otherwise and is not in a filter. Prices with two digits behind the point are all right. The default reads all of them.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install python-rapidjson==1.25
env/bin/python - <<'PY'
import math
import random

import rapidjson

random.seed(1)
floats = [random.random() * 10.0 ** random.randint(-20, 20) for _ in range(20000)]
prices = [cents / 100 for cents in range(100000)]


def wrong(numbers, mode):
    """How many are read as another number, and by how many units at most."""
    read = [rapidjson.loads(repr(number), number_mode=mode) for number in numbers]
    units = [abs(got - number) / math.ulp(number) for got, number in zip(read, numbers)]
    return sum(got != number for got, number in zip(read, numbers)), max(units)


got = [wrong(numbers, mode) for numbers in (floats, prices) for mode in (rapidjson.NM_NATIVE, rapidjson.NM_NAN)]
print("of 20000 floats, natively and by default, of 100000 prices:", got)
assert 3000 < got[0][0] < 3600 and 1 <= got[0][1] <= 2 and got[1:] == [(0, 0), (0, 0), (0, 0)]
PY
