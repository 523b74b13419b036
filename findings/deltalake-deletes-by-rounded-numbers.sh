#!/usr/bin/env bash
# Version: deltalake 1.6.6, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: delete(CONDITION) deletes the rows that SQL with the same condition selects from the table.
# Behaviour: delete, update and overwrite(predicate=) first cast each number of the condition to the type of the column: of integers
# "x = 1.5" selects none and deletes 1, of decimals(9, 2) "x <= 1.006" deletes 1.01, of 32-bit floats "x > 0.1" selects the
# row 0.1, 0.10000000149, and delete keeps it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install deltalake==1.6.6 pyarrow==26.0.1
cat >finding.py <<'END'
import decimal
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake


def table_of(values):
    count = table_of.count = getattr(table_of, "count", 0) + 1
    write_deltalake(f"t{count}", pa.table({"x": values}))
    return DeltaTable(f"t{count}")


def selected(table, condition):
    query = f"select x from t where {condition} order by x"
    return pa.table(QueryBuilder().register("t", table).execute(query).read_all())["x"].to_pylist()


def check(values, condition, select, kept):
    table = table_of(values)
    found = selected(table, condition)
    table.delete(condition)
    rows = sorted(table.to_pyarrow_table()["x"].to_pylist())
    print(f"{condition}: select {found}, delete leaves {rows}")
    assert (found, rows) == (select, kept)


one, more, two = (decimal.Decimal(text) for text in ("1.00", "1.01", "2.00"))
decimals = pa.array([one, more, two], pa.decimal128(9, 2))
tenth = pa.scalar(0.1, pa.float32()).as_py()
check(pa.array([1, 2]), "x = 1.5", [], [2])
check(pa.array([1, 2]), "x > 1.5", [2], [1])
check(decimals, "x <= 1.006", [one], [two])
check(pa.array([-5, 0.1, 7], pa.float32()), "x > 0.1", [tenth, 7], [-5, tenth])

table = table_of(pa.array([1, 2]))
table.update(updates={"x": "9"}, predicate="x = 1.5")
assert sorted(table.to_pyarrow_table()["x"].to_pylist()) == [2, 9]
write_deltalake(table, pa.table({"x": pa.array([], pa.int64())}), mode="overwrite", predicate="x = 2.5")
assert DeltaTable(table.table_uri).to_pyarrow_table()["x"].to_pylist() == [9]
END
env/bin/python finding.py
