#!/usr/bin/env bash
# Version: PyPI polars 2.1.0, pyarrow 26.0.1, duckdb 2.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: the product of two decimals is exact, its scale the sum of both, as in SQL, pyarrow and DuckDB; a quotient has some more digits.
# Behaviour: the scale is the larger of the two: 0.5 * 0.5 is 0.2, 0.1 * 0.1 is 0.0, and 10 / 3 of integers as decimals is 3. A price
# 0.05 of scale 2 times a rate 0.1 of scale 1 is 0.00. What is cut is rounded to even, so that 2.25 with one digit is 2.2; DuckDB's is 2.3.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.1
cat >finding.py <<'END'
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc


def decimals(text):
    return pl.lit(Decimal(text))


by_polars = pl.select(half=decimals("0.5") * decimals("0.5"), tenth=decimals("0.1") * decimals("0.1"),
                      price=decimals("0.05") * decimals("0.1"), third=decimals("10") / decimals("3"),
                      digit=decimals("2.25").cast(pl.Decimal(9, 1))).row(0)
print("Polars", by_polars)
assert [str(value) for value in by_polars] == ["0.2", "0.0", "0.00", "3", "2.2"]
by_duckdb = duckdb.sql("select 0.5 * 0.5, 0.1 * 0.1, 0.05 * 0.1, cast(2.25 as decimal(9, 1))").fetchall()[0]
print("DuckDB", by_duckdb)
assert [str(value) for value in by_duckdb] == ["0.25", "0.01", "0.005", "2.3"]
by_arrow = pc.multiply(pa.scalar(Decimal("0.05")), pa.scalar(Decimal("0.1"))).as_py()
print("pyarrow", by_arrow)
assert str(by_arrow) == "0.005"
END
env/bin/python finding.py
