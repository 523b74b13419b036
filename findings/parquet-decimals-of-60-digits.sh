#!/usr/bin/env bash
# Version: pyarrow 26.0.1, duckdb 2.0.1, polars 2.1.0, fastparquet 2026.9.0 (Python 3.11). Source: run on 2026-11-28; Parquet's
# DECIMAL has no upper bound of precision.
# Guess: what cannot represent a decimal of more than 38 digits refuses the column.
# Behaviour: duckdb and fastparquet read a rounded double, without a word; polars refuses. fastparquet does so for all
# decimals, also of 18 digits.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0 fastparquet==2026.9.0
cd "$dir"
venv/bin/python - <<'PY' 2>/dev/null
from decimal import Decimal
import duckdb, fastparquet, polars as pl, pyarrow as pa, pyarrow.parquet as pq

found = {}
for type_, digits in ((pa.decimal256(60, 0), 50), (pa.decimal128(18, 0), 18)):
    value = Decimal("1" * digits)
    pq.write_table(pa.table({"c": pa.array([value], type_)}), "a.parquet")
    readers = {"pyarrow": lambda: pq.read_table("a.parquet")["c"][0].as_py(),
               "duckdb": lambda: duckdb.sql("select c from 'a.parquet'").fetchall()[0][0],
               "polars": lambda: pl.read_parquet("a.parquet")["c"][0],
               "fastparquet": lambda: fastparquet.ParquetFile("a.parquet").to_pandas()["c"][0].item()}
    for name, read in readers.items():
        try:
            got = read()
        except Exception as error:
            got = type(error).__name__
        print(f"{digits} digits, {name}: {got!r}")
        found[digits, name] = "right" if got == value else type(got).__name__
assert [found[50, name] for name in readers] == ["right", "float", "str", "float"]
assert [found[18, name] for name in readers] == ["right", "right", "right", "float"]
PY
