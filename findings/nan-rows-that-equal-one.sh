#!/usr/bin/env bash
# Version: duckdb 2.0.1, datafusion 55.0.0, deltalake 1.6.6, pyarrow 26.0.1 (Python 3.11). Source: run on
# 2026-11-30; the bounds of a Parquet file leave NaN out.
# Guess: bounds can hide rows from a reader that forgets NaN, but a row that is found fulfils the condition.
# Behaviour: where all other values of a row group fulfil it, so that bounds decide it, NaN is found: of 1.0 and NaN, `x = 1`
# and `x < 1.5` give both rows in DuckDB, DataFusion and deltalake, whose delete("x = 1") leaves nothing. isnan(x) finds none in
# DuckDB and DataFusion. Without bounds they find one row.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install duckdb==2.0.1 datafusion==55.0.0 deltalake==1.6.6 pyarrow==26.0.1
cat >finding.py <<'END'
import math
import datafusion
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder, write_deltalake

rows = pa.table({"x": [1.0, math.nan], "row": [0, 1]})
pq.write_table(rows, "bounds.parquet")
pq.write_table(rows, "none.parquet", write_statistics=False)
write_deltalake("table", rows)
context = datafusion.SessionContext()


def found(engine, name, condition):
    query = f"select row from t where {condition} order by row"
    if engine == "duckdb":
        table = f"'{name}.parquet'"
        return [row for row, in duckdb.sql(query.replace(" t ", f" {table} ")).fetchall()]
    if engine == "datafusion":
        context.deregister_table("t")
        context.register_parquet("t", f"{name}.parquet")
        return [row for batch in context.sql(query).collect() for row in batch["row"].to_pylist()]
    return pa.table(QueryBuilder().register("t", DeltaTable("table")).execute(query).read_all())["row"].to_pylist()


for condition in "x = 1", "x < 1.5", "isnan(x)":
    lists = [found(engine, name, condition) for engine in ("duckdb", "datafusion") for name in ("bounds", "none")]
    lists.append(found("deltalake", "table", condition))
    print(condition, lists)
    right = [1] if condition == "isnan(x)" else [0]
    wrong = [] if condition == "isnan(x)" else [0, 1]
    assert lists == [wrong, right, wrong, right, right if condition == "isnan(x)" else wrong]
DeltaTable("table").delete("x = 1")
assert DeltaTable("table").to_pyarrow_table().num_rows == 0
END
env/bin/python finding.py
