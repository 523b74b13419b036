#!/usr/bin/env bash
# Version: pyprobables 0.7.0 (Python 3.11), npm bloom-filters 3.0.4. Source: run on 2026-11-29; the paper on cuckoo
# filters (Fan and others, 2014) allows an id to be added several times, and says that an insertion that fails means that
# the filter is full.
# Guess: an id that was added twice and removed once is still there; when an insertion fails, that id is missing and no
# other.
# Behaviour: pyprobables keeps one copy of an id, in CuckooFilter and QuotientFilter alike: after one removal it is gone,
# while the CountingCuckooFilter and npm's class still have it. When an insertion fails, its id is found, and another one,
# whose insertion succeeded, is gone. npm's CuckooFilter loses ids long before: of 1,000 ids in a filter for 1,000, each
# of which add() accepts with true, about a quarter is missing.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyprobables==0.7.0
venv/bin/python - <<'PY'
import random, probables

random.seed(1)
twice = {}
for make in (lambda: probables.CuckooFilter(capacity=100), lambda: probables.QuotientFilter(quotient=8),
             lambda: probables.CountingCuckooFilter(capacity=100)):
    filter = make()
    filter.add("a")
    filter.add("a")
    filter.remove("a")
    twice[type(filter).__name__] = bool(filter.check("a"))
full, added, failed = probables.CuckooFilter(capacity=64, auto_expand=False), [], None
while failed is None:
    try:
        full.add(f"k{len(added)}")
        added.append(f"k{len(added)}")
    except probables.exceptions.CuckooFilterFullError:
        failed = f"k{len(added)}"
lost = [id for id in added if not full.check(id)]
print("added twice, removed once, found:", twice, "| failed:", failed, "found:", full.check(failed), "| lost:", lost)
assert twice == {"CuckooFilter": False, "QuotientFilter": False, "CountingCuckooFilter": True}
assert full.check(failed) and len(lost) == 1
PY
npm install --silent --no-audit --no-fund bloom-filters@3.0.4 >/dev/null
node -e '
const assert = require("assert"), { CuckooFilter } = require("bloom-filters");
const filter = CuckooFilter.create(1000, 0.01);
let accepted = 0, missing = 0;
for (let i = 0; i < 1000; i++) accepted += filter.add("k" + i) === true;
for (let i = 0; i < 1000; i++) missing += !filter.has("k" + i);
console.log("npm: accepted", accepted, "missing", missing);
assert(accepted === 1000 && missing > 50);
const small = new CuckooFilter(100, 8, 4);
small.add("a"), small.add("a"), small.remove("a");
assert(small.has("a"));'
