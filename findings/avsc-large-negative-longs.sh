#!/usr/bin/env bash
# Version: npm avsc 5.7.9 (Node 20). Source: run on 2026-11-30; reading a long that no JavaScript number holds is an error,
# "potential precision loss".
# Guess: a long that isValid accepts, an integer within 2^53, is written as it is.
# Behaviour: below -2^52 the sign is lost, without an error: -5000000000000000 is written as the bytes of 5000000000000000, and -(2^52) - 1 as
# those of 2^52. Positive longs to 2^53 - 2 and negative ones to -2^52 are right; 2^53 - 1, which a number holds, is refused.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund avsc@5.7.9
cat >finding.cjs <<'END'
const assert = require("assert");
const long = require("avsc").Type.forSchema("long");
const through = (value) => long.fromBuffer(long.toBuffer(value));

for (const value of [-(2 ** 52), 1 - 2 ** 52, 2 ** 52 + 1, 2 ** 53 - 3, 2 ** 53 - 2]) assert.strictEqual(through(value), value);
const lost = [-5e15, -(2 ** 52) - 1, -(2 ** 52) - 2, 2 - 2 ** 53].map((value) => [value, long.isValid(value), through(value)]);
console.log(lost);
assert.deepStrictEqual(lost.map(([, valid, result]) => [valid, result]),
    [[true, 5e15], [true, 2 ** 52], [true, 2 ** 52 + 2], [true, 2 ** 53 - 2]]);
assert(long.toBuffer(-5e15).equals(long.toBuffer(5e15)));
assert.throws(() => long.toBuffer(2 ** 53 - 1));
END
node finding.cjs
