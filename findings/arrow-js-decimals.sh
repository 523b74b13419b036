#!/usr/bin/env bash
# Version: npm apache-arrow 21.2.0 (Node 20), pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-29.
# Guess: the text of a decimal is its digits with the point: 1.50, or the column says that the value is unscaled.
# Behaviour: of 128 bits it is the unscaled integer, 150 for 1.50, which is also what JSON gets. Of 256 bits it is another
# number: 1.50 is 0 and -1.28 is -8, without an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyarrow==26.0.1
venv/bin/python - <<'PY'
import decimal, pyarrow as pa

values = [decimal.Decimal("1.50"), decimal.Decimal("-1.28")]
table = pa.table({"bits128": pa.array(values, pa.decimal128(30, 2)), "bits256": pa.array(values, pa.decimal256(50, 2))})
with pa.ipc.new_file("f.arrow", table.schema) as writer:
    writer.write_table(table)
PY
npm install --silent --no-audit --no-fund apache-arrow@21.2.0
cat > try.mjs <<'JS'
import assert from "assert";
import { readFileSync } from "fs";
import { tableFromIPC } from "apache-arrow";

const table = tableFromIPC(readFileSync("f.arrow")), seen = {};
for (const name of ["bits128", "bits256"]) seen[name] = [...table.getChild(name)].map(String);
console.log("1.50 and -1.28:", JSON.stringify(seen), "as JSON:", JSON.stringify(table.getChild("bits128").get(0)));
assert.deepEqual(seen, { bits128: ["150", "-128"], bits256: ["0", "-8"] });
JS
node try.mjs
