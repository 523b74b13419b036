#!/usr/bin/env bash
# Version: npm apache-arrow 21.2.0 (Node 20). Source: run on 2026-11-30; https://arrow.apache.org/docs/js/functions/Arrow.dom.vectorFromArray.html;
# IEEE 754: a number too small for a half float is the nearest one, 0.
# Guess: 1e-8 as Float16 is 0; undefined is null, as in other columns; integers that Int64 cannot hold are Uint64 or an error; concat of a table of
# integers and one of floats is an error, as their schemas differ, or has floats.
# Behaviour: 1e-8 as Float16 is -Infinity, and so are other numbers below 3e-8, while 2e-8 is 0. undefined among numbers is NaN, which no count of
# nulls has. 2^64 - 1 is Int64 and -1. The concatenation of 1 and 1.5 is 1 and 1.5 row by row, and [1, 1] by toArray(), without an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund apache-arrow@21.2.0
cat >finding.cjs <<'END'
const assert = require("assert");
const { Float16, tableFromArrays, vectorFromArray } = require("apache-arrow");

const half = vectorFromArray([1e-8, 2e-8, 1.5, -0, 65504], new Float16());
const numbers = vectorFromArray([1, undefined, null]);
const large = vectorFromArray([1n, 2n ** 64n - 1n]);
const both = tableFromArrays({ x: Int32Array.of(1) }).concat(tableFromArrays({ x: Float64Array.of(1.5) }));
const values = [...both.getChild("x")];
console.log([...half], [...numbers], numbers.nullCount, String(large.type), [...large], values, both.getChild("x").toArray());
assert.deepStrictEqual([...half], [-Infinity, 0, 1.5, -0, 65504]);
assert.deepStrictEqual([...numbers], [1, NaN, null]);
assert.strictEqual(numbers.nullCount, 1);
assert.strictEqual(String(large.type), "Int64");
assert.strictEqual(large.get(1), -1n);
assert.deepStrictEqual(values, [1, 1.5]);
assert.deepStrictEqual([...both.getChild("x").toArray()], [1, 1]);
END
node finding.cjs
