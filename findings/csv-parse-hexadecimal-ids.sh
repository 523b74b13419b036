#!/usr/bin/env bash
# Version: npm csv-parse 7.0.3, papaparse 5.7.1 (Node 20). Source: run on 2026-11-30; https://csv.js.org/parse/options/cast/ (cast: true converts
# strings to native types, integers and floats) and https://www.papaparse.com/docs#config (dynamicTyping).
# Guess: what is no decimal number stays a text, as an integer that no JavaScript number holds does; a date that does not exist stays a text, too.
# Behaviour: csv-parse makes every hexadecimal id 0: 0x1f and 0xdeadbeef are equal then, as 0b1 and 0o7 are, and 9007199254740993 is ...992. With
# cast_date "1-2" is a day of 2001. papaparse keeps all of them as texts, but 2020-02-30T00:00:00Z is the first of March, in both.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund csv-parse@7.0.3 papaparse@5.7.1
cat >finding.cjs <<'END'
const assert = require("assert");
const { parse } = require("csv-parse/sync");
const papa = require("papaparse");

const ids = ["0x1f", "0xdeadbeef", "0b1", "0o7", "9007199254740993", "1-2", "2020-02-30T00:00:00Z"];
const text = `id\n${ids.join("\n")}\n`;
const cast = parse(text, { columns: true, cast: true }).map((row) => row.id);
const dates = parse(text, { columns: true, cast: true, cast_date: true }).map((row) => row.id);
const typed = papa.parse(text, { header: true, dynamicTyping: true, skipEmptyLines: true, delimiter: "," }).data.map((row) => row.id);
console.log("csv-parse", cast, "with dates", dates.slice(5), "papaparse", typed);
assert.deepStrictEqual(cast, [0, 0, 0, 0, 2 ** 53, "1-2", ids[6]]);
assert.strictEqual(dates[5].getFullYear(), 2001);
assert.strictEqual(dates[6].toISOString(), "2020-03-01T00:00:00.000Z");
assert.deepStrictEqual(typed.slice(0, 6), ids.slice(0, 6));
assert.strictEqual(typed[6].toISOString(), "2020-03-01T00:00:00.000Z");
END
TZ=UTC node finding.cjs
