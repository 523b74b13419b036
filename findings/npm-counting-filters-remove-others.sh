#!/usr/bin/env bash
# Version: npm bloom-filters 3.0.4. Source: run on 2026-11-30.
# Guess: CountingBloomFilter.remove of an id that the filter does not contain returns false and changes nothing.
# Behaviour: it returns true and subtracts from every counter of the id that is not 0, so other ids are lost: of 1,000
# ids of a filter for 1,000, removing 99 ids that has() denied loses about 200.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm -s init -y >/dev/null && npm -s install bloom-filters@3.0.4 >/dev/null
node -e '
const assert = require("assert"), { CountingBloomFilter } = require("bloom-filters");
const filter = CountingBloomFilter.create(1000, 0.01), returned = new Set();
for (let i = 0; i < 1000; i++) filter.add("a" + i);
const missing = () => { let n = 0; for (let i = 0; i < 1000; i++) n += !filter.has("a" + i); return n; };
assert.strictEqual(missing(), 0);
let absent = 0;
for (let i = 0; i < 100; i++)
    if (!filter.has("b" + i)) { absent++; returned.add(filter.remove("b" + i)); }
console.log("bloom-filters 3.0.4: removed", absent, "absent ids, which returned", [...returned], "- ids lost:", missing());
assert(absent > 90 && returned.size === 1 && returned.has(true) && missing() > 100);'
