#!/usr/bin/env bash
# Version: npm @electric-sql/pglite 0.5.17 (PostgreSQL; Node 20). Source: run on 2026-12-01; https://pglite.dev/docs/api (results: bigint "as number or bigint", timestamps and dates as Date).
# Guess: a Date has the year of the date and of the timestamp, or both are refused; a column has one type of JavaScript.
# Behaviour: the timestamp 0001-01-01 is the year 2001, 0050-06-01 is 1950 and 0099-12-31 with zone 1999, in arrays too; the date 0001-01-01 and the timestamp of the year 100 are right. Before Christ both are an invalid Date, without an error. An infinite date is the number Infinity. 1::int8 is
# a number and 9007199254740993 a bigint, in one array, too; jsonb of it is 9007199254740992.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund @electric-sql/pglite@0.5.17
cat >finding.mjs <<'JS'
import assert from "node:assert";
import { PGlite } from "@electric-sql/pglite";

const db = await PGlite.create();
const text = (value) => value instanceof Date ? (isNaN(value) ? "invalid" : value.toISOString().slice(0, 10)) : typeof value === "bigint" ? `${value}n`
    : Array.isArray(value) ? value.map(text).join(" ") : JSON.stringify(value) === "null" ? String(value) : JSON.stringify(value);
for (const [expression, want] of [
    ["'0001-01-01'::timestamp", "2001-01-01"], ["'0001-01-01'::date", "0001-01-01"], ["'0050-06-01'::timestamp", "1950-06-01"], ["'0099-12-31'::timestamptz", "1999-12-31"],
    ["'0100-01-01'::timestamp", "0100-01-01"], ["array['0001-01-01'::timestamp]", "2001-01-01"], ["'0044-03-15 BC'::timestamp", "invalid"], ["'0044-03-15 BC'::date", "invalid"],
    ["'infinity'::date", "Infinity"], ["array[1::int8, 9007199254740993]", "1 9007199254740993n"], ["'{\"a\":9007199254740993}'::jsonb", '{"a":9007199254740992}']]) {
    const got = text((await db.query(`select ${expression} as a`)).rows[0].a);
    console.log(expression, got);
    assert.strictEqual(got, want);
}
await db.close();
JS
TZ=UTC node finding.mjs
