#!/usr/bin/env bash
# Version: pyprobables 0.7.0 (Python 3.11). Source: run on 2026-11-30.
# Guess: the intersection of two CountingBloomFilters has the smaller counter of both, so an id with 3 and 2 has 2.
# Behaviour: it adds the counters where neither is 0: the id has 5 in the intersection, as in the union, and has to be
# removed five times. remove(id, 5) of an id that was added once removes it, without an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyprobables==0.7.0
venv/bin/python - <<'PY'
from probables import CountingBloomFilter

def make(**ids):
    filter = CountingBloomFilter(est_elements=1000, false_positive_rate=0.01)
    for id, count in ids.items():
        filter.add(id, count)
    return filter

a, b = make(p=3, q=1), make(p=2, r=1)
both, either = a.intersection(b), a.union(b)
counts = both.check("p"), either.check("p"), both.check("q"), both.check("r")
for _ in range(2):
    both.remove("p")
once = make(y=1)
left = once.remove("y", 5), once.check("y")
print("in both, in either:", counts, "| after two removals:", both.check("p"), "| remove 5 of 1:", left)
assert counts == (5, 5, 0, 0) and both.check("p") == 3 and left == (0, 0)
PY
