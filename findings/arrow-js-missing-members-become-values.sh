#!/usr/bin/env bash
# Version: npm apache-arrow 21.2.0 (Node 20). Source: run on 2026-12-01; https://arrow.apache.org/docs/js/functions/Arrow.dom.tableFromJSON.html, Arrow.dom.vectorFromArray.html.
# Guess: a member that an object of tableFromJSON does not have is null; a dictionary with more values than its indices can count is an error; slice(3, 1) is empty, as Array's.
# Behaviour: a missing text is "", a missing boolean false, a missing number NaN, with a count of nulls of 0; only a member that is null becomes null. In vectorFromArray undefined among texts is "" too. A dictionary with Int8 indices of 130 texts has "" from
# the 129th on. slice(3, 1) of four elements is slice(1, 3). get() beyond the end of integers is 0.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund apache-arrow@21.2.0
cat >finding.cjs <<'JS'
const assert = require("node:assert");
const { Dictionary, Int8, Int32, Utf8, tableFromJSON, vectorFromArray } = require("apache-arrow");

const table = tableFromJSON([{ text: "x", truth: true, number: 1 }, {}, { text: null, truth: null, number: null }]);
const columns = ["text", "truth", "number"].map((name) => [[...table.getChild(name)], table.getChild(name).nullCount]);
const texts = [...vectorFromArray(["x", undefined, null])];
const many = vectorFromArray([...Array(130).keys()].map((i) => `v${i}`), new Dictionary(new Utf8(), new Int8()));
const ends = [0, 127, 128, 129].map((i) => many.get(i));
const slice = [...vectorFromArray([1, 2, 3, 4], new Int32()).slice(3, 1)];
const beyond = vectorFromArray([1, 2, 3], new Int32()).get(3);
console.log(columns, texts, ends, slice, beyond);
assert.deepStrictEqual(columns, [[["x", "", null], 1], [[true, false, null], 1], [[1, NaN, null], 1]]);
assert.deepStrictEqual(texts, ["x", "", null]);
assert.deepStrictEqual(ends, ["v0", "v127", "", ""]);
assert.deepStrictEqual(slice, [2, 3]);
assert.strictEqual(beyond, 0);
JS
node finding.cjs
