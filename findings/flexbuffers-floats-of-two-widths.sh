#!/usr/bin/env bash
# Version: npm flatbuffers 25.9.23 (Node 20), PyPI flatbuffers 25.12.19 (Python 3.11). Source: run on 2026-11-30; https://flatbuffers.dev/internals/#flexbuffers
# (a vector has one width for all elements, that of the widest; a float may be 16, 32 or 64 bits).
# Guess: a list of floats comes back as it was, from each library and from one to the other; a number that no float of 32 bits holds is one of 64.
# Behaviour: in JavaScript [0.5, 0.1] is [5.222099017e-315, 0.1]: each number that fits in 32 bits is written as such into a slot of 64, without an error, so
# that of 1.5, 0.25 and 19.99 the last one is left; Python reads the same wrong numbers. Lists of one width are right. A float without a fraction is an integer
# modulo 2^64: 1e300 is 0. Python writes all lists right, and refuses 1e300, "float too large to pack", and 2^63.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install flatbuffers==25.12.19
npm install --silent --no-audit --no-fund flatbuffers@25.9.23
cat >try.mjs <<'JS'
import assert from "assert";
import fs from "fs";
import { encode, toObject } from "flatbuffers/js/flexbuffers.js";

function trip(value) {
    const bytes = encode(value);
    return [toObject(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)), bytes];
}

const tiny = 5.222099017e-315;
for (const value of [[1.5, 2.5], [0.1, 0.2], [0.5, 0.1], [1.5, 0.25, 19.99], { a: 0.5, b: 0.1 }, 1e300]) console.log(value, trip(value)[0]);
assert.deepEqual(trip([1.5, 2.5])[0], [1.5, 2.5]);
assert.deepEqual(trip([0.1, 0.2])[0], [0.1, 0.2]);
assert.deepEqual(trip([0.5, 0.1])[0], [tiny, 0.1]);
assert.deepEqual(trip({ a: 0.5, b: 0.1 })[0], { a: tiny, b: 0.1 });
assert.deepEqual(trip([1.5, 0.25, 19.99])[0].map((x) => x > 1), [false, false, true]);
assert.equal(trip(1e300)[0], 0n);
assert.equal(trip(1e20)[0], 7766279631452241920n);
fs.writeFileSync("js.bin", trip([0.5, 0.1])[1]);
JS
node try.mjs
env/bin/python - <<'PY'
from flatbuffers import flexbuffers

read = flexbuffers.Loads(open("js.bin", "rb").read())
refused = []
for value in 1e300, 2 ** 63:
    try:
        flexbuffers.Dumps(value)
    except (OverflowError, ValueError) as error:
        refused.append(str(error))
print("Python reads", read, "refuses", refused)
assert read == [5.222099017e-315, 0.1] and len(refused) == 2
for value in [0.5, 0.1], [1.5, 0.25, 19.99], [2 ** 53 + 1, 0.5]:
    assert flexbuffers.Loads(flexbuffers.Dumps(value)) == value
PY
