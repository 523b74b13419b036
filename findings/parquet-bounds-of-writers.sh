#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1, polars 2.1.0 (Python 3.11). Source: run on 2026-11-29.
# Guess: the bounds (min, max) that writers put into a Parquet file are values of the column, by one rule for
# NaN, zeros and long texts.
# Behaviour: texts of 5,000 bytes: pyarrow writes no bounds, Polars 64 bytes and DuckDB 256, whose last byte is raised
# in the maximum, so that it is no value. One NaN: DuckDB writes no bounds, pyarrow and Polars those of the other
# values, so that a column with NaN looks as if it had none. Zeros: pyarrow and Polars write -0.0 to 0.0 as the
# format asks, DuckDB 0.0 to 0.0 also for a column that has both.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install duckdb==2.0.1 pyarrow==26.0.1 polars==2.1.0
venv/bin/python - <<'PY'
import duckdb, polars, pyarrow as pa, pyarrow.parquet as parquet

WRITERS = {"pyarrow": lambda t: parquet.write_table(t, "f"),
           "polars": lambda t: polars.from_arrow(t).write_parquet("f"),
           "duckdb": lambda t: duckdb.sql("copy (from t) to 'f' (format parquet)")}

def bounds(values):
    found = {}
    for name, write in WRITERS.items():
        write(pa.table({"c": values}))
        s = parquet.ParquetFile("f").metadata.row_group(0).column(0).statistics
        found[name] = (s.min, s.max) if s is not None and s.has_min_max else None
    return found

text = bounds(["a" * 5000, "c" * 5000])
shown = {name: b and (len(b[0]), len(b[1]), b[1][-1]) for name, b in text.items()}
nan, zeros = bounds([1.0, float("nan")]), {n: str(b) for n, b in bounds([0.0, -0.0]).items()}
print("text:", shown, "\nNaN:", nan, "\nzeros:", zeros)
assert shown == {"pyarrow": None, "polars": (64, 64, "d"), "duckdb": (256, 256, "d")}
assert nan == {"pyarrow": (1.0, 1.0), "polars": (1.0, 1.0), "duckdb": None}
assert zeros == {"pyarrow": "(-0.0, 0.0)", "polars": "(-0.0, 0.0)", "duckdb": "(0.0, 0.0)"}
PY
