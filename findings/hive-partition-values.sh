#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1, polars 2.1.0 (Python 3.11). Source: run on 2026-11-29.
# Guess: a directory k=VALUE is a column with that value; readers differ in the type that they infer, at most.
# Behaviour: b=x=y: pyarrow reads x=y, DuckDB and Polars leave the column out without a word. k=NULL beside k=1: for DuckDB
# integers, 1 and null, for the others the texts 1 and NULL. k=007: 7 for pyarrow and Polars, '007' for DuckDB, which reads
# 'k= 1' as the integer 1. %FF, which is no UTF-8: an error of pyarrow and DuckDB; Polars leaves the column out. A column
# k of the file, a text: the directory's value replaces it in DuckDB, as an integer, and in Polars, as a text; an error of
# pyarrow. DuckDB does so also for K=1 and a file with k, whose own values cannot be seen then.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install duckdb==2.0.1 pyarrow==26.0.1 polars==2.1.0
venv/bin/python - <<'PY'
import os
import duckdb, polars, pyarrow as pa, pyarrow.dataset as dataset, pyarrow.parquet as parquet

def of_duckdb(path):
    found = duckdb.sql(f"from read_parquet('{path}', hive_partitioning=true)")
    return [dict(zip(found.columns, row)) for row in found.fetchall()]

READERS = {
    "pyarrow": lambda top, path: dataset.dataset(top, partitioning="hive").to_table().to_pylist(),
    "duckdb": lambda top, path: of_duckdb(path),
    "polars": lambda top, path: polars.read_parquet(top + "/", hive_partitioning=True).to_dicts()}

def read(directory, table=None, other=None):
    top = f"t{len(os.listdir('.'))}"
    for name in filter(None, (other, directory)):
        path = f"{top}/{name}/f.parquet"
        os.makedirs(os.path.dirname(path))
        parquet.write_table(table or pa.table({"n": [5]}), path)
    if other:
        path = f"{top}/*/f.parquet"
    found = {}
    for name, reader in READERS.items():
        try:
            rows = reader(top, path)
            found[name] = {k: v for k, v in rows[-1].items() if k != "n"}
        except Exception as error:
            found[name] = type(error).__name__
    print(f"{directory!r:14}", found)
    return [found[name] for name in ("pyarrow", "duckdb", "polars")]

assert read("b=x=y") == [{"b": "x=y"}, {}, {}]
assert read("k=NULL", other="k=1") == [{"k": "NULL"}, {"k": None}, {"k": "NULL"}]
assert read("k=007") == [{"k": 7}, {"k": "007"}, {"k": 7}]
assert read("k= 1") == [{"k": " 1"}, {"k": 1}, {"k": " 1"}]
assert read("k=%FF") == ["ArrowInvalid", "InvalidInputException", {}]
assert read("k=1", pa.table({"k": ["own"]})) == ["ArrowTypeError", {"k": 1}, {"k": "1"}]
assert read("K=1", pa.table({"k": [7]})) == [{"k": 7, "K": 1}, {"k": 1}, {"k": 7, "K": 1}]
PY
