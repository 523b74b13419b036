#!/usr/bin/env bash
# Version: arro3-io 0.9.1 (the Rust crates arrow and parquet), pyarrow 26.0.1, duckdb 2.0.1 (Python 3.11).
# Source: run on 2026-11-29; Parquet's logical types have no seconds and no date in milliseconds.
# Guess: as pyarrow's writer does, arrow-rs saves timestamps and times in seconds as milliseconds, and date64 as DATE.
# Behaviour: it saves all three as plain integers without a logical type. arrow-rs itself gets the types back from
# the Arrow schema in the footer; pyarrow, which reads that schema, too, and DuckDB see integers.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install arro3-io==0.9.1 arro3-core==0.9.1 pyarrow==26.0.1 duckdb==2.0.1
"$dir/venv/bin/python" - "$dir" <<'PY'
import datetime as dt, sys
import arro3.core, arro3.io, duckdb, pyarrow as pa, pyarrow.parquet as pq

rust, cpp = sys.argv[1] + "/rust.parquet", sys.argv[1] + "/cpp.parquet"
day = dt.datetime(2026, 1, 1)
table = pa.table({"stamp": pa.array([day], pa.timestamp("s")), "time": pa.array([dt.time(1, 2, 3)], pa.time32("s")),
                  "date": pa.array([day.date()], pa.date64())})
arro3.io.write_parquet(arro3.core.Table.from_arrow(table), rust)
pq.write_table(table, cpp)
seen = {}
for name, path in (("arrow-rs", rust), ("pyarrow", cpp)):
    schema = pq.ParquetFile(path).schema
    logical = [schema.column(i).logical_type.type for i in range(3)]
    types = [str(t) for t in duckdb.sql(f"from '{path}'").types]
    seen[name] = (logical, [str(f.type) for f in pq.read_schema(path)], types)
    print(name, "wrote", logical, "| pyarrow reads", seen[name][1], "| DuckDB reads", types)
again = [str(f.type) for f in arro3.io.read_parquet(rust).schema]
print("arrow-rs reads its own file as", again)
assert seen["arrow-rs"] == (["NONE"] * 3, ["int64", "int32", "int64"], ["BIGINT", "INTEGER", "BIGINT"]), seen
assert seen["pyarrow"][0] == ["TIMESTAMP", "TIME", "DATE"], seen
PY
