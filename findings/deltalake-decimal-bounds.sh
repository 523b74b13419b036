#!/usr/bin/env bash
# Version: deltalake 1.6.6, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; the bounds in a Delta table's log may
# be wider than the values of a file, never narrower, as readers skip files by them.
# Guess: bounds of decimals are exact in the log, or rounded outwards.
# Behaviour: they are doubles, rounded to the nearest: of decimal(18, 2), 90071992547409.93 has both bounds 90071992547409.92.
# So the row is there when all rows are read, and is not found by `=` or `>=` of its own value, by SQL or as a data set of pyarrow.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install deltalake==1.6.6 pyarrow==26.0.1
cat >finding.py <<'END'
import decimal
import glob
import json
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder, write_deltalake

text, kind = "90071992547409.93", pa.decimal128(18, 2)
value = pa.scalar(decimal.Decimal(text), kind)
write_deltalake("table", pa.table({"price": pa.array([value.as_py()], kind)}))
added = [json.loads(line)["add"] for name in glob.glob("table/_delta_log/*.json") for line in open(name) if '"add"' in line]
bounds = [json.loads(added[0]["stats"], parse_float=str)[name]["price"] for name in ("minValues", "maxValues")]
table = DeltaTable("table")
everything = table.to_pyarrow_table()["price"].to_pylist()
data_set = table.to_pyarrow_dataset()
found = {
    "pyarrow =": len(data_set.to_table(filter=pc.field("price") == value)),
    "pyarrow >=": len(data_set.to_table(filter=pc.field("price") >= value)),
    "SQL =": pa.table(QueryBuilder().register("t", table).execute(
        f"select * from t where price = cast('{text}' as decimal(18, 2))")).num_rows,
    "SQL >=": pa.table(QueryBuilder().register("t", table).execute(
        f"select * from t where price >= cast('{text}' as decimal(18, 2))")).num_rows,
}
print("the bounds of the only file:", bounds)
print("all rows:", everything, "rows found:", found)
assert bounds == ["90071992547409.92", "90071992547409.92"] and everything == [value.as_py()]
assert set(found.values()) == {0}
END
env/bin/python finding.py
