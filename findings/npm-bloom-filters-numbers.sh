#!/usr/bin/env bash
# Version: npm bloom-filters 3.0.4 and 1.3.9. Source: run on 2026-11-28.
# Guess: numbers are hashed by their text or their bytes.
# Behaviour: every number hashes as the empty text: after add(1) the filter has 2, and a thousand numbers set the bits
# of one. Files of 1.3.9 load in 3.0.4 without an error, which then finds next to none of their ids.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir new old
(cd new && npm -s init -y >/dev/null && npm -s install bloom-filters@3.0.4 >/dev/null)
(cd old && npm -s init -y >/dev/null && npm -s install bloom-filters@1.3.9 >/dev/null)
(cd old && node -e '
const { BloomFilter } = require("bloom-filters");
const filter = BloomFilter.create(1000, 0.01);
for (let i = 0; i < 1000; i++) filter.add("tt" + String(i).padStart(7, "0"));
console.log(JSON.stringify(filter.saveAsJSON()));') >old.json
(cd new && node -e '
const assert = require("assert"), { BloomFilter } = require("bloom-filters");
const filter = BloomFilter.create(1000, 0.01);
filter.add(1);
console.log("bloom-filters 3.0.4: after add(1), has(2):", filter.has(2));
assert(filter.has(2));
const old = BloomFilter.fromJSON(JSON.parse(require("fs").readFileSync("../old.json")));
let found = 0;
for (let i = 0; i < 1000; i++) found += old.has("tt" + String(i).padStart(7, "0"));
console.log("of a filter of 1,000 ids by 1.3.9 it finds", found);
assert(found < 30);')
