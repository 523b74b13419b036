#!/usr/bin/env bash
# Version: npm d3-dsv 3.0.2, papaparse 5.7.1 (Node 20). Source: run on 2026-12-01.
# Guess: autoType makes numbers of decimal numbers, and dates of ISO dates that exist; dynamicTyping of papaparse does the same; a column that is there twice is renamed, or an error.
# Behaviour: autoType takes what Number() takes: the ids 0x10, 0b11 and 0o17 are 16, 3 and 15, and 9007199254740993 is ...992, where papaparse keeps the texts. 2020-02-30 is the Date 2020-03-01, and so is 2020-02-30T00:00:00Z in
# papaparse. autoType of 2020-06 is a Date, of 2020 and 202006 a number. Of two columns "a" csvParse keeps the last, without an error. An UTF-8 byte order mark becomes part of the first name.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund d3-dsv@3.0.2 papaparse@5.7.1
cat >try.mjs <<'JS'
import assert from "assert";
import { autoType, csvParse } from "d3-dsv";
import Papa from "papaparse";

const text = (value) => (value instanceof Date ? "Date " + value.toISOString().slice(0, 10) : typeof value + " " + value);
const expected = {
    "0x10": ["number 16", "string 0x10"], "0b11": ["number 3", "string 0b11"], "0o17": ["number 15", "string 0o17"],
    "9007199254740993": ["number 9007199254740992", "string 9007199254740993"], "2020-02-30": ["Date 2020-03-01", "string 2020-02-30"],
    "2020-02-30T00:00:00Z": ["Date 2020-03-01", "Date 2020-03-01"], "2020-06": ["Date 2020-06-01", "string 2020-06"], "202006": ["number 202006", "number 202006"],
};
for (const [field, values] of Object.entries(expected)) {
    const parsed = Papa.parse("x,y\n" + field + ",\n", { header: true, dynamicTyping: true }).data[0].x;
    const found = [text(autoType({ x: field }).x), text(parsed)];
    console.log(field, "d3-dsv:", found[0], "papaparse:", found[1]);
    assert.deepEqual(found, values);
}
const twice = csvParse("a,a,b\n1,2,3\n")[0], marked = csvParse("\ufeffa,b\n1,2\n");
console.log("a,a,b:", JSON.stringify(twice), "names behind a mark:", JSON.stringify(marked.columns));
assert.deepEqual({ ...twice }, { a: "2", b: "3" });
assert.equal(marked[0].a, undefined);
JS
node try.mjs
