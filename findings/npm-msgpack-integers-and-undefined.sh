#!/usr/bin/env bash
# Version: npm @msgpack/msgpack 3.1.3, msgpack5 6.1.0, msgpackr 2.1.4 (Node 20); PyPI msgpack 1.1.2 (Python 3.11). Source: run on 2026-11-30;
# https://github.com/msgpack/msgpack/blob/master/spec.md (integers of 64 bits; nil; extension types 0 to 127 are the application's).
# Guess: an integer that JavaScript holds exactly is an integer in msgpack, and a property that is undefined is nil or left out; a Map is a map.
# Behaviour: msgpackr writes integers from 2^32 on, and below -2^31, as floats of 64 bits: a count of bytes is 4294967296.0 in Python, and its type changes
# from row to row. undefined is extension type 0 with one byte, which is an ExtType in Python. @msgpack/msgpack writes a Map and a Set as {}, without
# their elements. All three write -0 as 0.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund @msgpack/msgpack@3.1.3 msgpack5@6.1.0 msgpackr@2.1.4
cat >finding.cjs <<'END'
const packers = { "@msgpack/msgpack": require("@msgpack/msgpack").encode, msgpack5: (value) => require("msgpack5")().encode(value).slice(),
                  msgpackr: require("msgpackr").pack };
for (const [name, pack] of Object.entries(packers)) {
    const values = [2 ** 32 - 1, 2 ** 32, -(2 ** 31) - 1, -0, { a: undefined, b: 1 }, new Map([["k", 1]])];
    console.log(name, ...values.map((value) => Buffer.from(pack(value)).toString("hex")));
}
END
node finding.cjs 2>messages >packed
python3 -m venv env
env/bin/pip -q install msgpack==1.1.2
env/bin/python - <<'END'
import math, msgpack

got = {}
for line in open("packed"):
    name, *packed = line.split()
    got[name] = [msgpack.unpackb(bytes.fromhex(text)) for text in packed]
    print(name, got[name])
assert all(values[0] == 2 ** 32 - 1 and values[3] == 0 and type(values[3]) is int for values in got.values())
assert [type(values[1]) for values in got.values()] == [int, int, float] and [type(values[2]) for values in got.values()] == [int, int, float]
assert [values[4].get("a") for values in got.values()] == [None, None, msgpack.ExtType(0, b"\0")]
assert [values[5] for values in got.values()] == [{}, {"k": 1}, {"k": 1}]
END
