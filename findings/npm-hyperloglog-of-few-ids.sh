#!/usr/bin/env bash
# Version: npm bloom-filters 3.0.4. Source: run on 2026-11-29; the paper on HyperLogLog (Flajolet and others, 2007) counts
# empty registers when there are few ids, which is exact for some.
# Guess: the count of 10 ids in 1,024 registers is 10, and of 1,000 within some per cent, as accuracy() promises (3 %).
# Behaviour: 1 id is 0, 10 are 2, 100 about 42, 1,000 about 504 and 2,000 about 2,640; from 5,000 on the count is right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund bloom-filters@3.0.4
cat > try.mjs <<'JS'
import assert from "assert";
import bloom from "bloom-filters";

const counts = {};
for (const n of [1, 10, 100, 1000, 2000, 10000]) {
    const sketch = new bloom.HyperLogLog(1024);
    for (let i = 0; i < n; i++) sketch.update("k" + i);
    counts[n] = Math.round(sketch.count());
    console.log(n, "ids are", counts[n], "accuracy:", sketch.accuracy());
}
assert(counts[1] === 0 && counts[10] < 5 && counts[100] < 60 && counts[1000] < 700 && counts[2000] > 2400);
assert(Math.abs(counts[10000] / 10000 - 1) < 0.03);
JS
node try.mjs
