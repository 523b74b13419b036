#!/usr/bin/env bash
# Version: npm ordered-binary 1.6.3 (the keys of lmdb-js), charwise 3.0.1 (Node 20). Source: run on 2026-12-01; https://github.com/kriszyp/ordered-binary ("primitives and arrays of them, in an order of bytes that is the one of values, and back"),
# https://github.com/dominictarr/charwise.
# Guess: a key that can be written is read back as it was, and the order of the bytes is that of the values.
# Behaviour: in ordered-binary -0 is behind 0, 1 and all numbers, and comes back as the array ["\u0018", null]; [-0, 1] as five elements. ["a"] is "a", [] and undefined are "", [["a", "b"], "c"] and ["a", ["b", "c"]] one key; 5n is 5, while 2n ** 53n + 1n is a bigint. A Buffer 00 ff is
# [null, "\u00ff"]. charwise reads "a\0b" back as "a\u0001b", and writes ["a\0"] before ["a", "b"], though "a\0" is behind "a".
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund ordered-binary@1.6.3 charwise@3.0.1
cat >finding.cjs <<'JS'
const assert = require("node:assert");
const { fromBufferKey, toBufferKey } = require("ordered-binary");
const charwise = require("charwise");

const back = (value) => fromBufferKey(toBufferKey(value));
const order = (encode, a, b) => Buffer.compare(Buffer.from(encode(a)), Buffer.from(encode(b)));
for (const [value, want] of [[-0, ["\u0018", null]], [[-0, 1], ["\u0018", null, null, null, 1]], [["a"], "a"], [[], ""], [undefined, ""], [[["a", "b"], "c"], ["a", "b", "c"]],
                             [["a", ["b", "c"]], ["a", "b", "c"]], [5n, 5], [2n ** 53n + 1n, 2n ** 53n + 1n], [Buffer.from([0, 255]), [null, "\u00ff"]]]) {
    console.log(value, back(value));
    assert.deepStrictEqual(back(value), want);
}
const zeros = [order(toBufferKey, -0, 0), order(toBufferKey, -0, 1), order(toBufferKey, -0, 1e300), order(toBufferKey, 0, 1)];
const texts = [charwise.decode(charwise.encode("a\0b")), order(charwise.encode, ["a\0"], ["a", "b"]), order(toBufferKey, ["a\0"], ["a", "b"]), order(charwise.encode, "a\0", "a")];
console.log(zeros, texts);
assert.deepStrictEqual(zeros, [1, 1, 1, -1]);
assert.deepStrictEqual(texts, ["a\u0001b", -1, 1, 1]);
JS
node finding.cjs
