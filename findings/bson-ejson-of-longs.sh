#!/usr/bin/env bash
# Version: npm bson 7.3.4 (Node 20). Source: run on 2026-11-30; https://github.com/mongodb/specifications/blob/master/source/extended-json/extended-json.md
# (relaxed form: an integer of 64 bits is a number of JSON, with all its digits).
# Guess: EJSON writes a Long as its digits and reads $numberLong as a Long, at least where no number of JavaScript holds it, as deserialize() does.
# Behaviour: EJSON.stringify writes the Long 9007199254740993 as 9007199254740992, and 2^63 - 1 as 9223372036854776000, which no int64 holds; EJSON.parse
# makes {"$numberLong": "9007199254740993"} ...992, without an error. It loses the sign of -0.0. With relaxed: false all are right. BSON itself is.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund bson@7.3.4
cat >finding.cjs <<'JS'
const assert = require("assert");
const { BSON, EJSON, Long } = require("bson");

const row = { id: Long.fromString("9007199254740993"), last: Long.MAX_VALUE, zero: -0 };
const [relaxed, whole] = [true, false].map((relaxed) => EJSON.stringify(row, { relaxed }));
const id = BSON.deserialize(BSON.serialize(row)).id.toString();
const read = [true, false].map((relaxed) => String(EJSON.parse('{"id": {"$numberLong": "9007199254740993"}}', { relaxed }).id));
console.log(relaxed, whole, "BSON", id, "read", read);
assert.strictEqual(relaxed, '{"id":9007199254740992,"last":9223372036854776000,"zero":0}');
assert.strictEqual(whole.match(/"(9007199254740993|9223372036854775807|-0.0)"/g).length, 3);
assert.deepStrictEqual([id, ...read], ["9007199254740993", "9007199254740992", "9007199254740993"]);
JS
node finding.cjs
