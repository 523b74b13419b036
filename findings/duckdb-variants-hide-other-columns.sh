#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1, polars 2.1.0, datafusion 55.0.0 (Python 3.11). Source: run on 2026-11-29; VARIANT
# is a logical type that Parquet's format got in 2025.
# Guess: a reader that does not know the type reads the column as its parts, bytes, or at least the other columns.
# Behaviour: Polars refuses the file, "LogicalType union has no variant set", also when only id is read. pyarrow and
# DataFusion read the parts as a struct, whose typed_value has another type from file to file: DuckDB takes out of the
# bytes what all rows have.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install duckdb==2.0.1 pyarrow==26.0.1 polars==2.1.0 datafusion==55.0.0
venv/bin/python - <<'PY'
import datafusion, duckdb, polars, pyarrow.parquet as pq

kinds = {}
for name, value in (("number", "5"), ("struct", "{'a': 1}")):
    duckdb.sql(f"copy (select 1 as id, {value}::variant as v) to '{name}.parquet'")
    kinds[name] = str(pq.read_schema(name + ".parquet").field("v").type)
    context = datafusion.SessionContext()
    context.register_parquet("t", name + ".parquet")
    assert context.sql("select id from t").to_pydict() == {"id": [1]}
    try:
        polars.scan_parquet(name + ".parquet").select("id").collect()
        error = None
    except polars.exceptions.ComputeError as e:
        error = str(e)
    print(name, "| pyarrow:", kinds[name], "| Polars:", error)
    assert error is not None and "no variant set" in error
assert "typed_value: int32" in kinds["number"] and "typed_value: struct<a: struct<" in kinds["struct"], kinds
PY
