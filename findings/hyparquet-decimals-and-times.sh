#!/usr/bin/env bash
# Version: npm hyparquet 1.33.0, hyparquet-compressors 1.1.2 (Node 20); files by pyarrow 26.0.1 (Python 3.11). Source: run
# on 2026-11-29.
# Guess: decimals keep their digits, as integers of 64 bits do (BigInt); microseconds are cut to the millisecond before or
# at them.
# Behaviour: a decimal is a double, so that 12345678901234567890.12 is 12345678901234567000. Cut is towards 1970: one
# microsecond after 1960-01-01T00:00 is 1960-01-01T00:00:00.001, later than it was. Bytes without a type are text, so that
# the byte ff is U+FFFD.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyarrow==26.0.1
venv/bin/python - <<'PY'
import datetime as dt, decimal, pyarrow as pa, pyarrow.parquet as pq

pq.write_table(pa.table({"decimal": [decimal.Decimal("12345678901234567890.12")], "integer": [2**53 + 1], "bytes": [b"\xff"],
                         "time": [dt.datetime(1960, 1, 1, 0, 0, 0, 1)]}), "f.parquet")
PY
npm install --silent --no-audit --no-fund hyparquet@1.33.0 hyparquet-compressors@1.1.2
cat > try.mjs <<'JS'
import assert from "assert";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";

const [row] = await parquetReadObjects({ file: await asyncBufferFromFile("f.parquet"), compressors });
console.log(row);
assert.equal(row.decimal, 12345678901234567000);
assert.equal(row.integer, 2n ** 53n + 1n);
assert.equal(row.time.toISOString(), "1960-01-01T00:00:00.001Z");
assert.equal(row.bytes, "\ufffd");
JS
node try.mjs
