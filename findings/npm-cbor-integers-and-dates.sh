#!/usr/bin/env bash
# Version: npm cbor 10.0.12, cbor-x 1.6.9, cbor2 2.3.0, cborg 6.1.5, borc 3.0.0 (Node 20); PyPI cbor2 6.3.0 (Python 3.11). Source: run on 2026-12-01; https://www.rfc-editor.org/rfc/rfc8949#section-4.1 (preferred serialization;
# integers of 64 bits; a tag 1 may have a fraction).
# Guess: a number of JavaScript that is an integer and fits 64 bits is an integer in CBOR, and a bigint 5n too; a Date keeps its milliseconds; -0 is one thing in all.
# Behaviour: 2^53 is a float of 32 bits in four of five, and 2^53 - 1 an integer; cbor-x writes floats from 2^32 on; borc has 2^53 as a float and -2^53 as an integer. 5n is a bignum of a byte in cbor, and an integer of eight bytes
# in cbor-x. borc rounds a Date to seconds: 1.5 s is 2 s, -1.5 s is -1 s. -0 is the integer 0 in cbor-x, borc and cborg. A Map with the keys 1 and "1", read by cbor-x from others' bytes, has
# one of both left.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund cbor@10.0.12 cbor-x@1.6.9 cbor2@2.3.0 cborg@6.1.5 borc@3.0.0
cat >finding.cjs <<'END'
(async () => {
    const packers = { "cbor": require("cbor"), "cbor-x": require("cbor-x"), "cbor2": await import("cbor2"), "cborg": await import("cborg"), "borc": require("borc") };
    for (const [name, { encode }] of Object.entries(packers)) {
        const values = [2 ** 53 - 1, 2 ** 53, -(2 ** 53), 2 ** 32, -0, 5n, new Date(1500), new Date(-1500)];
        console.log(name, ...values.map((value) => {
            try { return Buffer.from(encode(value)).toString("hex"); } catch (error) { return "f6"; }
        }));
    }
    const { decode } = packers["cbor-x"];
    console.log("lost", JSON.stringify(decode(packers.cbor2.encode(new Map([[1, "a"], ["1", "b"]])))));
})();
END
node finding.cjs >packed
tail -1 packed
[ "$(tail -1 packed)" = 'lost {"1":"b"}' ]
python3 -m venv env
env/bin/pip -q install cbor2==6.3.0
env/bin/python - <<'PY'
import cbor2

got = {}
for line in open("packed"):
    name, *packed = line.split()
    if name != "lost":
        values = [cbor2.loads(bytes.fromhex(text)) for text in packed]
        got[name] = [type(value).__name__ for value in values[:5]] + [packed[5], *(value and value.timestamp() for value in values[6:])]
        print(name, got[name])
i, f = "int", "float"
assert got == {"cbor": [i, f, f, i, f, "c24105", 1.5, -1.5], "cbor-x": [f, f, f, f, i, "1b0000000000000005", 1.5, -1.5], "cbor2": [i, f, f, i, f, "05", 1.5, -1.5],
               "cborg": [i, f, f, i, i, "05", None, None], "borc": [i, f, i, i, i, "f6", 2.0, -1.0]}
PY
