#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-29.
# Guess: an integer of 128 bits that Arrow has no type for becomes a double, as in Parquet, or is an error.
# Behaviour: HUGEINT and UHUGEINT become decimal128(38, 0), also values of 39 digits: 2^127 - 1 is such a value, which is
# longer than its type and fails full validation, and 2^128 - 1 becomes -1 without a word. DuckDB sees -1, too, when it
# reads the table back.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyarrow==26.0.1 duckdb==2.0.1
venv/bin/python - <<'PY'
import duckdb, pyarrow as pa

def column(value):
    return duckdb.sql(f"select {value} as x").to_arrow_table()

signed, unsigned = column("170141183460469231731687303715884105727::hugeint"), column(f"{2**128 - 1}::uhugeint")
try:
    signed.validate(full=True)
    valid = True
except pa.ArrowInvalid as error:
    valid = False
    print("2^127 - 1:", error)
back = duckdb.sql("select x from unsigned").fetchall()
print(signed["x"].type, "and", unsigned["x"].type, "| 2^128 - 1 is", unsigned["x"][0], "| read back:", back)
assert not valid and str(signed["x"].type) == str(unsigned["x"].type) == "decimal128(38, 0)"
assert int(unsigned["x"][0].as_py()) == -1 and int(back[0][0]) == -1
PY
