#!/usr/bin/env bash
# Version: pyarrow 26.0.1, duckdb 2.0.1, datafusion 55.0.0, polars 2.1.0 (Python 3.11). Source: run on 2026-11-29;
# Parquet's format leaves NaN out of bounds, and says that readers have to expect NaN in a column of floats whose bounds
# have none.
# Guess: an engine for which NaN is greater than all numbers finds NaN rows with x > 5 in a file as it does in memory.
# Behaviour: DuckDB and DataFusion find the row in memory, and not in a file of pyarrow, whose bounds are 1 and 2: they
# skip the row group, also for x = NaN; without bounds in the file they find it. Polars finds it in both. pyarrow's own
# data set loses a NaN row, too: of 1.0 and NaN, x != 1 gives the second row in memory and no row from the file.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyarrow==26.0.1 duckdb==2.0.1 datafusion==55.0.0 polars==2.1.0
venv/bin/python - <<'PY'
import datafusion, duckdb, polars, pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq

t = pa.table({"id": [1, 2, 3], "x": [1.0, float("nan"), 2.0]})
pq.write_table(t, "bounds.parquet")
pq.write_table(t, "none.parquet", write_statistics=False)
context = datafusion.SessionContext()
context.from_arrow(t, "memory")
for name in ("bounds", "none"):
    context.register_parquet(name, name + ".parquet")

def fusion(source, where):
    batches = context.sql(f"select id from {source} where {where}").collect()
    return [v for b in batches for v in b.column(0).to_pylist()]

def duck(source, where):
    source = "t" if source == "memory" else f"'{source}.parquet'"
    return [v for v, in duckdb.sql(f"select id from {source} where {where}").fetchall()]

def frame(source):
    return polars.from_arrow(t).lazy() if source == "memory" else polars.scan_parquet(source + ".parquet")

seen = {}
for source in ("memory", "none", "bounds"):
    seen[source] = {"DuckDB": [duck(source, w) for w in ("x > 5", "x = 'nan'::double")],
                    "DataFusion": [fusion(source, w) for w in ("x > 5", "x = 'nan'::double")],
                    "Polars": [frame(source).filter(f).collect()["id"].to_list()
                               for f in (polars.col("x") > 5, polars.col("x") == float("nan"))]}
    print(source, "x > 5 and x = NaN give", seen[source])
assert seen["memory"] == seen["none"] == {n: [[2], [2]] for n in ("DuckDB", "DataFusion", "Polars")}
assert seen["bounds"] == {"DuckDB": [[], []], "DataFusion": [[], []], "Polars": [[2], [2]]}
two = pa.table({"id": [1, 2], "x": [1.0, float("nan")]})
pq.write_table(two, "two.parquet")
other = ds.field("x") != 1
answers = two.filter(other)["id"].to_pylist(), ds.dataset("two.parquet").to_table(filter=other)["id"].to_pylist()
print("pyarrow, x != 1 of 1.0 and NaN, in memory and from the file:", answers)
assert answers == ([2], [])
PY
