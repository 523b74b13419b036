#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1, polars 2.1.0 (Python 3.11). Source: run on 2026-11-29.
# Guess: what one engine writes as Parquet version 2, the others read.
# Behaviour: DuckDB writes an unsigned 32-bit column as DELTA_BINARY_PACKED. With values of 2^31 and more,
# DuckDB and Polars read the file, and pyarrow ends with "Unexpected end of stream"; below 2^31 all three do.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install duckdb==2.0.1 pyarrow==26.0.1 polars==2.1.0
venv/bin/python - <<'PY'
import duckdb, polars, pyarrow.parquet as parquet

def tried(read):
    try:
        return read()
    except OSError as error:
        return str(error)

found = {}
for most in (2**31, 2**32):
    duckdb.sql(f"copy (select (i * 1000003 % {most})::uinteger u from range(5000) t(i)) to 'u' (format parquet, parquet_version V2)")
    wanted = max(i * 1000003 % most for i in range(5000))
    found[most] = [tried(lambda: duckdb.sql("select max(u) from read_parquet('u')").fetchall()[0][0]) == wanted,
                   tried(lambda: polars.read_parquet("u")["u"].max()) == wanted,
                   tried(lambda: max(parquet.read_table("u")["u"].to_pylist()))]
    print(most, parquet.ParquetFile("u").metadata.row_group(0).column(0).encodings, found[most])
assert found[2**31][:2] == [True, True] and found[2**31][2] == max(i * 1000003 % 2**31 for i in range(5000))
assert found[2**32][:2] == [True, True] and "Unexpected end of stream" in str(found[2**32][2])
PY
