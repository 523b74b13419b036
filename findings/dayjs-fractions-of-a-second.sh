#!/usr/bin/env bash
# Version: npm dayjs 1.11.23, luxon 3.7.2, date-fns 4.4.0 (Node 20). Source: run on 2026-11-30; https://day.js.org/docs/en/parse/string (ISO 8601: a space instead of the T; UTC if
# it ends with Z) and ISO 8601: a decimal fraction of the second.
# Guess: 00:00:00.5 is half a second in all three, with a Z and without, and digits beyond milliseconds are cut down, so that the day stays.
# Behaviour: without a Z dayjs takes the digits for a number of milliseconds: .5, .05 and .005 are all 5 ms, and .25 is 25 ms; with three digits,
# or with a Z, they are right. In date-fns 1969-12-31T23:59:59.9999Z is 1970-01-01T00:00:00, in dayjs and luxon the last millisecond of 1969; after 1970
# date-fns cuts, too. dayjs has 2020-13-01 as 2021-01-01, the others refuse it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund dayjs@1.11.23 luxon@3.7.2 date-fns@4.4.0
cat >try.mjs <<'JS'
import assert from "assert";
import { isValid, parseISO } from "date-fns";
import dayjs from "dayjs";
import { DateTime } from "luxon";

process.env.TZ = "UTC";
const readers = [(text) => dayjs(text).toDate(), (text) => DateTime.fromISO(text.replace(" ", "T"), { zone: "utc" }).toJSDate(), (text) => parseISO(text)];
const read = (text) => {
    const got = readers.map((reader) => reader(text)).map((date) => (isValid(date) ? date.toISOString() : "invalid"));
    console.log(text, got);
    return got;
};

for (const [digits, ms, dayjsMs] of [["5", "500", "005"], ["05", "050", "005"], ["005", "005", "005"], ["25", "250", "025"]]) {
    const day = "2020-01-01T00:00:00.";
    assert.deepEqual(read("2020-01-01 00:00:00." + digits), [day + dayjsMs + "Z", day + ms + "Z", day + ms + "Z"]);
    assert.equal(dayjs(day + digits + "Z").toDate().toISOString(), day + ms + "Z");
}
const last = "1969-12-31T23:59:59.999Z";
assert.deepEqual(read("1969-12-31T23:59:59.9999Z"), [last, last, "1970-01-01T00:00:00.000Z"]);
assert.equal(read("2020-01-01T23:59:59.9999Z")[2], "2020-01-01T23:59:59.999Z");
assert.deepEqual(read("2020-13-01"), ["2021-01-01T00:00:00.000Z", "invalid", "invalid"]);
JS
node try.mjs
