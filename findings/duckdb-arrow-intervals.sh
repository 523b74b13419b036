#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-28.
# Guess: an Arrow column that DuckDB reads and returns is the same, or an error.
# Behaviour: time64[ns] and timestamp[ns] come back whole, but duration[ns] and month_day_nano intervals lose
# their nanoseconds without a word; a duration comes back as an interval, a time zone as Etc/UTC. Half floats
# and dense unions are refused, sparse unions read.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install duckdb==2.0.1 pyarrow==26.0.1 numpy==2.4.6
"$dir/venv/bin/python" - <<'PY'
import duckdb, numpy as np, pyarrow as pa

NS = 1_000_000_001
union = lambda make, *offsets: make(pa.array([0, 1], pa.int8()), *offsets, [pa.array([1, 2]), pa.array(["a", "b"])])
columns = {
    "time": pa.array([NS], pa.time64("ns")), "timestamp": pa.array([NS], pa.timestamp("ns", "Europe/Rome")),
    "duration": pa.array([NS], pa.duration("ns")), "interval": pa.array([(1, 2, NS)], pa.month_day_nano_interval()),
    "half": pa.array(np.array([1.5], np.float16)), "sparse": union(pa.UnionArray.from_sparse),
    "dense": union(pa.UnionArray.from_dense, pa.array([0, 1], pa.int32())),
}
back = {}
for name, column in columns.items():
    rows = pa.table({"c": column})
    try:
        back[name] = duckdb.sql("select c from rows").to_arrow_table().column("c")
        back[name] = (str(back[name].type), back[name].combine_chunks())
    except duckdb.NotImplementedException as error:
        back[name] = ("refused", str(error))
    print(f"duckdb {duckdb.__version__}: {name} {column.type} -> {back[name][0]}")
as_int = lambda name: back[name][1].cast(pa.int64()).to_pylist()
nanoseconds = lambda name: back[name][1].to_pylist()[0].nanoseconds
print("nanoseconds:", as_int("time"), as_int("timestamp"), nanoseconds("duration"), nanoseconds("interval"))
assert as_int("time") == as_int("timestamp") == [NS]
assert nanoseconds("duration") == nanoseconds("interval") == NS - 1
assert back["timestamp"][0] == "timestamp[ns, tz=Etc/UTC]" and back["duration"][0] == "month_day_nano_interval"
assert [name for name in back if back[name][0] == "refused"] == ["half", "dense"]
PY
