#!/usr/bin/env bash
# Version: npm @duckdb/node-api 1.5.6-r.1 (Node 20). Source: run on 2026-12-01; https://duckdb.org/docs/stable/clients/node_neo/overview ("JS" values: built into JavaScript, some lossy; "Json" values: to be serialized to JSON).
# Guess: a time's fraction that a Date cannot hold is cut to the millisecond that it is in, before 1970 as after; a BIT and a date are the same by both getters.
# Behaviour: getRowObjectsJS has 1969-12-31 23:59:59.9999 as 1970-01-01T00:00:00.000Z and 2020-01-01 00:00:00.9999 as .999: towards 1970. BIT '101' is the Buffer 05 fd, the engine's own bytes
# with the count of padding first, and "101" by getRowObjectsJson. The date 'infinity' is an error by the one and 5881580-07-11 by the other, which has a timestamp's as
# "infinity". A TIMETZ of 12:00:00+02 has the microseconds of 12:00 beside its offset.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund @duckdb/node-api@1.5.6-r.1
cat >finding.mjs <<'JS'
import assert from "node:assert";
import { DuckDBInstance } from "@duckdb/node-api";

const connection = await (await DuckDBInstance.create(":memory:")).connect();
async function both(expression) {
    const reader = await connection.runAndReadAll(`select ${expression} as a`);
    let js = "error";
    try { js = reader.getRowObjectsJS()[0].a; } catch { /* "error" */ }
    const json = reader.getRowObjectsJson()[0].a;
    console.log(expression, js, json);
    return [js, json];
}
const iso = async (expression) => (await both(expression))[0].toISOString();
assert.equal(await iso("timestamp '1969-12-31 23:59:59.9999'"), "1970-01-01T00:00:00.000Z");
assert.equal(await iso("timestamp '2020-01-01 00:00:00.9999'"), "2020-01-01T00:00:00.999Z");
const [bytes, bits] = await both("'101'::bit");
assert.equal(Buffer.from(bytes).toString("hex") + bits, "05fd101");
assert.deepEqual(await both("date '-infinity'"), ["error", "5877642-06-24 (BC)"]);
assert.deepEqual((await both("timetz '12:00:00+02'"))[0], { micros: 43200000000n, offset: 7200 });
assert.deepEqual((await both("date 'infinity'"))[1], "5881580-07-11");
assert.deepEqual((await both("timestamp 'infinity'"))[1], "infinity");
JS
node finding.mjs
