#!/usr/bin/env bash
# Version: pyprobables 0.7.0, pybloom-live 4.0.0 (Python 3.11), npm bloom-filters 3.0.4. Source: run on 2026-11-29; the
# paper on scalable Bloom filters (Almeida and others, 2007) gives each further filter a smaller rate, so that their sum
# stays below the one asked for.
# Guess: a filter that grows keeps the rate that it was created with.
# Behaviour: 5,000 ids in a filter for 100 with 1 %: pyprobables' ExpandingBloomFilter finds over 30 % of other ids, since
# its 40 filters of equal size have 1 % each; npm's ScalableBloomFilter, from 10 to 1,000 ids, 10 %; pybloom-live's, whose
# filters get smaller rates, 2 %.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyprobables==0.7.0 pybloom-live==4.0.0
venv/bin/python - <<'PY'
import probables, pybloom_live

expanding = probables.ExpandingBloomFilter(est_elements=100, false_positive_rate=0.01)
scalable = pybloom_live.ScalableBloomFilter(initial_capacity=100, error_rate=0.01)
for i in range(5000):
    expanding.add(f"k{i}")
    scalable.add(f"k{i}")
rates = [sum(f(f"z{i}") for i in range(20000)) / 20000 for f in (expanding.check, scalable.__contains__)]
print("pyprobables and pybloom-live:", rates, "with", expanding.expansions + 1, "and", len(scalable.filters), "filters")
assert rates[0] > 0.3 and 0.01 < rates[1] < 0.04
PY
npm install --silent --no-audit --no-fund bloom-filters@3.0.4 >/dev/null
node -e '
const filter = new (require("bloom-filters").ScalableBloomFilter)(10, 0.01);
for (let i = 0; i < 1000; i++) filter.add("k" + i);
let found = 0;
for (let i = 0; i < 20000; i++) found += filter.has("z" + i);
console.log("npm bloom-filters:", found / 20000);
require("assert")(found / 20000 > 0.05);'
