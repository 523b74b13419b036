#!/usr/bin/env bash
# Version: PyPI flatbuffers 25.12.19 (Python 3.11), npm flatbuffers 25.9.23 (Node 20). Source: run on 2026-11-30;
# https://flatbuffers.dev/internals/ (a field that has its default value is not written, and read as the default).
# Guess: a double that is not the default's bits is written: -0.0 is read as -0.0; NaN with the default NaN takes no bytes, as 0.0 with the default 0.0.
# Behaviour: both compare as numbers: -0.0 equals the default 0.0 and is left out, so that the sign is lost, with any other default it is kept. NaN never equals
# NaN: a field with the default NaN is written for every missing value, 8 bytes and a slot, as if it had a value of its own.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install flatbuffers==25.12.19
npm install --silent --no-audit --no-fund flatbuffers@25.9.23
cat >try.py <<'PY'
import math
import flatbuffers

for value, default in (0.0, 0.0), (-0.0, 0.0), (-0.0, 1.0), (1.5, 0.0), (math.nan, math.nan):
    builder = flatbuffers.Builder(64)
    builder.StartObject(1)
    builder.PrependFloat64Slot(0, value, default)
    builder.Finish(builder.EndObject())
    print(value, default, bytes(builder.Output()).hex())
PY
cat >try.mjs <<'JS'
import * as flatbuffers from "flatbuffers";

for (const [name, value, fallback] of [["0.0 0.0", 0, 0], ["-0.0 0.0", -0, 0], ["-0.0 1.0", -0, 1], ["1.5 0.0", 1.5, 0], ["nan nan", NaN, NaN]]) {
    const builder = new flatbuffers.Builder(64);
    builder.startObject(1);
    builder.addFieldFloat64(0, value, fallback);
    builder.finish(builder.endObject());
    console.log(name, Buffer.from(builder.asUint8Array()).toString("hex"));
}
JS
env/bin/python try.py | tee python.txt
node try.mjs >node.txt
diff python.txt node.txt
empty=$(awk '/^0.0 0.0/ {print $3}' python.txt)
[ "$(awk '/^-0.0 0.0/ {print $3}' python.txt)" = "$empty" ]
grep -q '^-0.0 1.0 .*0000000000000080$' python.txt
grep -q '^nan nan .*000000000000f87f$' python.txt
