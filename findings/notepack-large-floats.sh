#!/usr/bin/env bash
# Version: npm notepack.io 3.0.1, @msgpack/msgpack 3.1.3, msgpackr 2.1.4 (Node 20). Source: run on 2026-11-30; msgpack's integers end at
# 2^64 - 1 and -2^63.
# Guess: a number beyond that is a float of 64 bits, whether it has a fraction or not, as in the other two.
# Behaviour: notepack writes every number without a fraction as an integer, modulo 2^64: 1e20 is 7766279631452241920, 2^64 and 1e300 are 0,
# and -1e20 is -7766279631452241920, without an error. With a fraction, or infinite, they are floats.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts notepack.io@3.0.1 @msgpack/msgpack@3.1.3 msgpackr@2.1.4
cat >finding.cjs <<'END'
const assert = require("assert");
const notepack = require("notepack.io"), msgpack = require("@msgpack/msgpack"), msgpackr = require("msgpackr");

const values = [2 ** 63, 1e20, -1e20, 2 ** 64, 1e300, 0.5, Infinity];
const results = values.map((value) => notepack.decode(notepack.encode(value)));
console.log(results);
assert.deepStrictEqual(results, [2 ** 63, 7766279631452241920, -7766279631452241920, 0, 0, 0.5, Infinity]);
assert.strictEqual(notepack.encode(1e20).toString("hex"), "cf6bc75e2d63100000");
assert.deepStrictEqual(values.map((value) => msgpack.decode(msgpack.encode(value))), values);
assert.deepStrictEqual(values.map((value) => msgpackr.unpack(msgpackr.pack(value))), values);
END
node finding.cjs
