#!/usr/bin/env bash
# Version: npm alasql 4.19.1, data-forge 1.10.5 (Node 20). Source: run on 2026-11-30; https://github.com/AlaSQL/alasql/wiki/Group-By and
# https://data-forge.github.io/data-forge-ts/ (groupBy: group the sequence by the key that the selector returns).
# Guess: GROUP BY and DISTINCT keep apart null and the text "null", and numbers and texts; a join does not meet null with null, as in SQL.
# Behaviour: a group is the text of its key: null and "null", NaN and "NaN", 1 and "1", true and "true" are one each, in alasql and data-forge; DISTINCT of alasql
# keeps the text and loses the null. An inner join of alasql meets null with null. ORDER BY takes null for 0, between -1 and 9. Two keys are joined by a
# backtick, so that ("x`y", "z") and ("x", "y`z") are one group with the sum of both.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund alasql@4.19.1 data-forge@1.10.5
cat >try.mjs <<'JS'
import assert from "assert";
import alasql from "alasql";
import { DataFrame } from "data-forge";

const rows = [null, "null", NaN, "NaN", 1, "1", true, "true"].map((a) => ({ a }));
const groups = alasql("select a, count(*) n from ? group by a", [rows]);
const distinct = alasql("select distinct a from ?", [rows]).map((row) => row.a);
const frames = new DataFrame(rows).groupBy((row) => row.a).toArray().length;
const joined = alasql("select l.a la, r.a ra from ? l join ? r on l.a = r.a", [[{ a: 5 }, { a: null }], [{ a: 5 }, { a: null }]]);
const ordered = alasql("select x from ? order by x", [[{ x: 10 }, { x: null }, { x: 9 }, { x: -1 }]]).map((row) => row.x);
const pairs = alasql("select a, b, sum(n) s from ? group by a, b", [[{ a: "x`y", b: "z", n: 1 }, { a: "x", b: "y`z", n: 2 }]]);
console.log(groups, distinct, frames, joined, ordered, pairs);
assert.deepEqual(groups.map((row) => row.n), [2, 2, 2, 2]);
assert.equal(frames, 4);
assert.deepEqual([...distinct].sort(), ["1", "NaN", "null", "true"]);
assert.equal(joined.length, 2);
assert.deepEqual(ordered, [-1, null, 9, 10]);
assert.deepEqual(pairs.map((row) => row.s), [3]);
JS
node try.mjs
