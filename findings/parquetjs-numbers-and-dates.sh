#!/usr/bin/env bash
# Version: npm @dsnp/parquetjs 1.8.8 (Node 20), pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: it reads its own decimals, rounds to the nearest where it has doubles, and reads unsigned integers as such; a date is the day of the time in UTC.
# Behaviour: it writes a decimal(9, 2) so that pyarrow reads it and itself reads 1.28, 0, -1.15 for 1.28, -1.15, 0.29; 0.29 is cut to 0.28 in
# the file, 4.35 to 4.34. The largest unsigned integers of pyarrow's file are -1, its decimals of fixed bytes are bytes. Noon of
# 1969-12-31 is the date 1970-01-01, noon of 2020-01-01 that day.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyarrow==26.0.1
npm install --silent --no-audit --no-fund --ignore-scripts @dsnp/parquetjs@1.8.8
cat >write.py <<'END'
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

rows = pa.table({"u32": pa.array([2**32 - 1], pa.uint32()), "u64": pa.array([2**64 - 1], pa.uint64()), "d": [Decimal("1.28")]})
pq.write_table(rows, "arrow.parquet", compression="none")
END
env/bin/python write.py
cat >finding.cjs <<'END'
const assert = require("assert");
const { ParquetReader, ParquetSchema, ParquetWriter } = require("@dsnp/parquetjs");

async function write(name, type, values) {
    const writer = await ParquetWriter.openFile(new ParquetSchema({ c: type }), name);
    for (const value of values) await writer.appendRow({ c: value });
    await writer.close();
}

async function read(name) {
    const reader = await ParquetReader.openFile(name);
    const cursor = reader.getCursor(), rows = [];
    for (let row = await cursor.next(); row; row = await cursor.next()) rows.push(row);
    await reader.close();
    return rows;
}

(async () => {
    await write("d.parquet", { type: "DECIMAL", precision: 9, scale: 2 }, [1.28, -1.15, 0.29]);
    await write("d18.parquet", { type: "DECIMAL", precision: 18, scale: 2 }, [4.35]);
    await write("day.parquet", { type: "DATE" }, [new Date("1969-12-31T12:00:00Z"), new Date("2020-01-01T12:00:00Z")]);
    const own = (await read("d.parquet")).map((row) => row.c);
    const [arrow] = await read("arrow.parquet");
    console.log(own, arrow);
    assert.deepStrictEqual(own.map((value) => value + 0), [1.28, 0, -1.15]);
    assert.strictEqual(arrow.u32, -1);
    assert.strictEqual(arrow.u64, -1n);
    assert(Buffer.isBuffer(arrow.d));
})().catch((error) => { console.error(error); process.exit(1); });
END
node finding.cjs
cat >read.py <<'END'
import datetime as dt
from decimal import Decimal

import pyarrow.parquet as pq

files = [pq.read_table(name)["c"].to_pylist() for name in ("d.parquet", "d18.parquet", "day.parquet")]
print(files)
assert files[0] == [Decimal("1.28"), Decimal("-1.15"), Decimal("0.28")] and files[1] == [Decimal("4.34")]
assert files[2] == [dt.date(1970, 1, 1), dt.date(2020, 1, 1)]
END
env/bin/python read.py
