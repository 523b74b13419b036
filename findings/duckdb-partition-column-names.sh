#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-29.
# Guess: what DuckDB writes with PARTITION_BY it reads back with the same names of columns.
# Behaviour: a column "d t" becomes the directory d%20t=x%20y; reading it, DuckDB decodes the value but not the name: the column
# is called d%20t. pyarrow decodes both.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install duckdb==2.0.1 pyarrow==26.0.1
cat >finding.py <<'END'
import os
import duckdb
import pyarrow.dataset

duckdb.execute("copy (select 1 as a, 'x y' as \"d t\") to 'out' (format parquet, partition_by (\"d t\"))")
found = duckdb.sql("select * from read_parquet('out/*/*.parquet', hive_partitioning = true)")
table = pyarrow.dataset.dataset("out", partitioning="hive").to_table()
print("written:", os.listdir("out"))
print("DuckDB reads:", found.columns, found.fetchall())
print("pyarrow reads:", table.column_names, table.to_pylist())
assert os.listdir("out") == ["d%20t=x%20y"]
assert found.columns == ["a", "d%20t"] and table.column_names == ["a", "d t"]
assert table.to_pylist() == [{"a": 1, "d t": "x y"}]
END
env/bin/python finding.py
