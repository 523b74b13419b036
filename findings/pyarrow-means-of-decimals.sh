#!/usr/bin/env bash
# Version: pyarrow 26.0.1, duckdb 2.0.1, polars 2.1.0 (Python 3.11). Source: run on 2026-11-29.
# Guess: the mean of decimals has more digits than the values, as in SQL, or is a double.
# Behaviour: pyarrow's mean is rounded to the scale of the column: that of 0.01 and 0.02 is 0.02, and that of 0, 0 and 1
# in a column without digits behind the point is 0; the same in group_by. DuckDB and Polars give a double, 0.015.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0
venv/bin/python - <<'PY'
from decimal import Decimal
import duckdb, polars, pyarrow as pa, pyarrow.compute as pc

t = pa.table({"g": [1, 1], "x": pa.array([Decimal("0.01"), Decimal("0.02")], pa.decimal128(5, 2))})
mean = pc.mean(t["x"])
grouped = t.group_by("g").aggregate([("x", "mean")])["x_mean"][0].as_py()
whole = pc.mean(pa.array([Decimal(0), Decimal(0), Decimal(1)], pa.decimal128(5, 0))).as_py()
others = duckdb.sql("select avg(x) from t").fetchall()[0][0], polars.from_arrow(t)["x"].mean()
print("pyarrow:", mean.as_py(), mean.type, "grouped:", grouped, "0, 0, 1:", whole, "| DuckDB, Polars:", others)
assert mean.as_py() == grouped == Decimal("0.02") and whole == 0 and others == (0.015, 0.015)
PY
