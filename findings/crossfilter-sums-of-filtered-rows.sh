#!/usr/bin/env bash
# Version: npm crossfilter2 1.5.4 (Node 20). Source: run on 2026-12-01; https://github.com/crossfilter/crossfilter/wiki/API-Reference (reduceSum; filterExact: "the dimension value is equal to the given value").
# Guess: the sum of a group is the sum of the rows that the filters leave; of no rows it is 0. A filter for 0 does not find null.
# Behaviour: rows are added to and taken from one running sum: of 1e20, 1 and 2 the filter from 0 to 10 leaves 0 for 3, and of 0.1, 0.2, 0.3 a filter that leaves no row 1.1e-16. Without filters both are right again. filterExact(0) and filterExact(null) find 0 and null alike, and a range from
# -1 has null, too.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund crossfilter2@1.5.4
cat >finding.cjs <<'JS'
const assert = require("node:assert");
const module_ = require("crossfilter2");
const crossfilter = module_.default || module_;

function sums(values, from, to) {
    const rows = crossfilter(values.map((v) => ({ v })));
    const dimension = rows.dimension((row) => row.v), group = rows.groupAll().reduceSum((row) => row.v);
    const before = group.value();
    dimension.filterRange([from, to]);
    const left = [rows.allFiltered().length, group.value()];
    dimension.filterAll();
    return [before, ...left, group.value()];
}
const got = [sums([1e20, 1, 2], 0, 10), sums([0.1, 0.2, 0.3], 5, 6)];
const nulls = crossfilter([null, 1, 0, -1].map((v) => ({ v }))).dimension((row) => row.v);
const found = [nulls.filterExact(0).top(9).map(({ v }) => v)];
console.log(got, found);
assert.deepStrictEqual(got[0], [1e20, 2, 0, 1e20]);
assert(got[1][1] === 0 && got[1][2] > 0 && got[1][2] < 1e-15);
assert.deepStrictEqual(found[0].sort(), [0, null]);
assert(nulls.filterExact(null).top(9).length === 2 && nulls.filterRange([-1, 1]).top(9).length === 3);
JS
node finding.cjs
