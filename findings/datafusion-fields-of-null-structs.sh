#!/usr/bin/env bash
# Version: PyPI datafusion 55.0.0, pyarrow 26.0.1, polars 2.1.0, duckdb 2.0.1 (Python 3.11). Source: run on 2026-11-30; Arrow's format: what
# a child has where the parent is null is undefined, and is hidden by the parent's bitmap.
# Guess: a field of a null struct is null, as in DuckDB and Polars, in memory and in files.
# Behaviour: DataFusion gives what is stored there: of the structs {a: 1}, null and {a: null} made by pyarrow s['a'] is 1, 0 and null, a 0
# that `= 0` finds, count counts and `is null` does not. From a Parquet file of the same table it is 1, null and null.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install datafusion==55.0.0 pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1
cat >finding.py <<'END'
import datafusion
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

structs = pa.array([{"a": 1}, None, {"a": None}], pa.struct([("a", pa.int64())]))
rows = pa.table({"i": [1, 2, 3], "s": structs})
pq.write_table(rows, "t.parquet")
fusion = datafusion.SessionContext()
fusion.register_record_batches("memory", [rows.to_batches()])
fusion.register_parquet("file", "t.parquet")


def column(sql):
    return [value for batch in fusion.sql(sql).collect() for value in batch.column(0).to_pylist()]


answers = {}
for name in ("memory", "file"):
    answers[name] = (column(f"select t.s['a'] from {name} t order by t.i"),
                     column(f"select t.i from {name} t where t.s['a'] is null order by t.i"),
                     column(f"select t.i from {name} t where t.s['a'] = 0"),
                     column(f"select count(t.s['a']) from {name} t"))
    print(name, answers[name])
assert answers["memory"] == ([1, 0, None], [3], [2], [2])
assert answers["file"] == ([1, None, None], [2, 3], [], [1])
others = [row[0] for row in duckdb.sql("select s.a from rows").fetchall()], \
    pl.from_arrow(rows)["s"].struct.field("a").to_list()
print("DuckDB, Polars", others)
assert others == ([1, None, None], [1, None, None])
END
env/bin/python finding.py
