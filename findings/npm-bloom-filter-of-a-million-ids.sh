#!/usr/bin/env bash
# Version: npm bloom-filter 0.2.0 (Node 20). Source: run on 2026-11-30; https://github.com/bitpay/bloom-filter (Filter.create(elements, falsePositiveRate)); BIP 37 allows filters of up
# to 36,000 bytes.
# Guess: create(1000000, 0.01) has a rate of 1 %, or is refused, or is limited to 36,000 bytes.
# Behaviour: of 200,000 ids it has 239,626 bytes and 1 %, of 1,000,000 it has 288,000 bytes, one hash and 36 %, and nothing tells. The limit is compared with 8 times 36,000, as if a
# byte were a bit, so that filters for 30,100 to 240,000 ids keep their rate but are larger than the protocol that it is written for takes, while from 240,400 on the rate rises.
# Texts are no error: after insert("abc") contains("xyz") is true, as for every text of three letters.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund bloom-filter@0.2.0
cat >finding.cjs <<'END'
const assert = require("assert"), Filter = require("bloom-filter");
const make = (n) => {
    const filter = Filter.create(n, 0.01);
    let found = 0;
    for (let i = 0; i < n; i++) filter.insert(Buffer.from("k" + i));
    for (let i = 0; i < 5000; i++) found += filter.contains(Buffer.from("z" + i));
    console.log(n, "ids:", filter.vData.length, "bytes,", filter.nHashFuncs, "hashes, false positives:", found / 5000);
    return [filter.vData.length, filter.nHashFuncs, found / 5000];
};
const few = make(30000), some = make(200000), many = make(1000000);
assert(few[0] < 36000 && few[2] < 0.02);
assert(some[0] === 239626 && some[1] === 6 && some[2] < 0.02);
assert(many[0] === 288000 && many[1] === 1 && many[2] > 0.3);
const texts = Filter.create(100, 0.01);
texts.insert("abc");
assert(texts.contains("xyz") && !texts.contains("abcd"));
END
node finding.cjs
