#!/usr/bin/env bash
# Version: pyprobables 0.7.0 (Python 3.11). Source: run on 2026-11-29.
# Guess: CuckooFilter.init_error_rate(error_rate=0.01) gives a filter with about 1 % false positives.
# Behaviour: about 60 % of other ids are found in a filter for 1,000 ids that has 900, and 40 % with 0.001 for 5,000,
# while the default, without a rate, has none of 20,000. No id that was added is missing.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyprobables==0.7.0
venv/bin/python - <<'PY'
import random, probables

def rate(filter, count):
    for i in range(count):
        filter.add(f"k{i}")
    assert all(filter.check(f"k{i}") for i in range(count))
    return sum(filter.check(f"z{i}") for i in range(20000)) / 20000

random.seed(1)
make = probables.CuckooFilter.init_error_rate
seen = {(p, n): rate(make(error_rate=p, capacity=n), n * 9 // 10) for p, n in ((0.01, 1000), (0.001, 5000))}
default = rate(probables.CuckooFilter(capacity=5000), 4500)
print("rates by (asked, capacity):", seen, "| default:", default)
assert seen[0.01, 1000] > 0.5 and seen[0.001, 5000] > 0.3 and default < 0.001
PY
