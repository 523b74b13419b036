#!/usr/bin/env bash
# Version: npm apache-arrow 21.2.0 (Node 20), pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30;
# https://arrow.apache.org/docs/js/classes/Arrow.dom.Vector.html (get, toArray).
# Guess: toArray() has the values that get() gives, and a null stays one or the array is refused.
# Behaviour: get() of a timestamp is milliseconds, whatever the unit, as a float, so that nanoseconds of today lose digits; toArray() has the integers of
# the column's unit, 1,000 times less for seconds. Of half floats toArray() has the bits, 15872 for 1.5, of a null float 0. Durations are in the
# column's unit by get(), too, and dates are milliseconds by both.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyarrow==26.0.1
npm install --silent --no-audit --no-fund apache-arrow@21.2.0
env/bin/python - <<'END'
import pyarrow as pa

table = pa.table({"seconds": pa.array([1700000000], pa.timestamp("s")), "nanoseconds": pa.array([1700000000123456789], pa.timestamp("ns")),
                  "half": pa.array([1.5], pa.float16()), "float": pa.array([None], pa.float32()), "duration": pa.array([2], pa.duration("s")),
                  "date": pa.array([1], pa.date32())})
with pa.ipc.new_stream("a.arrow", table.schema) as writer:
    writer.write_table(table)
END
cat >finding.cjs <<'END'
const assert = require("assert");
const { tableFromIPC } = require("apache-arrow");

const table = tableFromIPC(require("fs").readFileSync("a.arrow"));
const got = Object.fromEntries(table.schema.fields.map(({ name }) => {
    const column = table.getChild(name);
    return [name, [column.get(0), column.toArray()[0]]];
}));
console.log(got);
assert.deepStrictEqual(got, { seconds: [1700000000000, 1700000000n], nanoseconds: [1700000000123.4568, 1700000000123456789n], half: [1.5, 15872],
                              float: [null, 0], duration: [2n, 2n], date: [86400000, 86400000] });
END
node finding.cjs
