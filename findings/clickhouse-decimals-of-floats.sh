#!/usr/bin/env bash
# Version: PyPI chdb 4.4.0 (ClickHouse 26.9), duckdb 2.0.1, polars 2.1.0 (Python 3.11). Source: run on 2026-11-30.
# Guess: 0.29 becomes the decimal 0.29, as in DuckDB and Polars, which round a float to the scale, and `IN (0.29)` finds what `= 0.29` does.
# Behaviour: CAST(0.29 AS Decimal(9, 2)) is 0.28, cut off from the float below 0.29, as is INSERT ... SELECT 0.29; 0.29::Decimal(9, 2)
# and INSERT ... VALUES (0.29) are 0.29. Of the hundredths from 0 to 99.99, 573 lose one. `d = 0.29` finds the row, `d IN (0.29)`
# finds neither 0.29 nor 0.28.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install chdb==4.4.0 duckdb==2.0.1 polars==2.1.0
cat >finding.py <<'END'
from decimal import Decimal

import duckdb
import polars as pl
from chdb import session

house = session.Session()


def rows(sql):
    return str(house.query(sql, "CSV")).split()


casts = rows("select cast(0.29 as Decimal(9, 2)), 0.29::Decimal(9, 2), toDecimal32(0.29, 2), toDecimal32('0.29', 2)")
print(casts)
assert casts == ["0.28,0.29,0.28,0.29"]
lost = rows("select countIf(toDecimal64(x / 100, 2) != toDecimal64(toString(x / 100), 2)) from (select number x from numbers(10000))")
print("of 10,000", lost)
assert lost == ["573"]

house.query("create table t (i Int64, d Decimal(9, 2)) engine=Memory")
house.query("insert into t values (1, 0.29)")
house.query("insert into t select 2, 0.29")
table = rows("select i, d from t order by i")
found = {condition: rows(f"select i from t where {condition}") for condition in ("d = 0.29", "d in (0.29)", "d in (0.28)")}
print(table, found)
assert table == ["1,0.29", "2,0.28"]
assert found["d = 0.29"] == ["1"] and found["d in (0.29)"] == []

others = duckdb.sql("select 0.29::double::decimal(9, 2)").fetchall()[0][0], pl.select(pl.lit(0.29).cast(pl.Decimal(9, 2))).item()
print("DuckDB, Polars", others)
assert others == (Decimal("0.29"), Decimal("0.29"))
END
env/bin/python finding.py
