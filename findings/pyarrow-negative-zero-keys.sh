#!/usr/bin/env bash
# Version: pyarrow 26.0.1, duckdb 2.0.1, polars 2.1.0 (Python 3.11). Source: run on 2026-11-28.
# Guess: 0.0 and -0.0 are one key everywhere, since they compare equal.
# Behaviour: in pyarrow they are equal for pc.equal, but two groups of group_by, two values of unique, no match for
# is_in, and do not join, while NaN joins NaN. duckdb and polars take them for one key.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0
"$dir/venv/bin/python" - <<'PY'
import math
import duckdb, polars as pl, pyarrow as pa, pyarrow.compute as pc

left = pa.table({"k": [0.0, math.nan]})
right = pa.table({"k": [-0.0, math.nan], "v": [1, 2]})
keys = pa.concat_tables([left, right.select(["k"])])
found = {
    "pyarrow equal": pc.equal(pa.array([0.0]), pa.array([-0.0]))[0].as_py(),
    "pyarrow is_in": pc.is_in(pa.array([0.0]), pa.array([-0.0]))[0].as_py(),
    "pyarrow groups": keys.group_by("k").aggregate([]).num_rows,
    "pyarrow unique": len(pc.unique(keys.column("k"))),
    "pyarrow joined": left.join(right, "k", join_type="inner").num_rows,
    "duckdb groups": duckdb.sql("select count(*) from (select k from keys group by k)").fetchall()[0][0],
    "polars groups": pl.from_arrow(keys).group_by("k").len().height,
    "polars joined": pl.from_arrow(left).join(pl.from_arrow(right), on="k").height,
}
for name, value in found.items():
    print(f"{name}: {value}")
assert list(found.values()) == [True, False, 3, 3, 1, 2, 2, 2]
PY
