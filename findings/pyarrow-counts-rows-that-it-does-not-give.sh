#!/usr/bin/env bash
# Version: pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; the bounds of a Parquet file leave NaN out.
# Guess: count_rows(filter=) of a data set is the number of rows of to_table(filter=).
# Behaviour: where bounds decide a row group, count_rows takes its number of rows without reading, and NaN counts: of 1.0 and NaN in
# a file `x == 1` has 1 row and counts 2. A second value beside the 1 makes both 1.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyarrow==26.0.1
cat >finding.py <<'END'
import math
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq


def numbers(values, condition):
    pq.write_table(pa.table({"x": values}), "t.parquet")
    data = ds.dataset("t.parquet")
    result = data.count_rows(filter=condition), data.to_table(filter=condition).num_rows
    print(values, condition, "counts", result[0], "gives", result[1])
    return result


x = pc.field("x")
assert numbers([1.0, math.nan], x == 1) == (2, 1)
assert numbers([1.0, math.nan], x < 2) == (2, 1)
assert numbers([1.0, 3.0, math.nan], x == 1) == (1, 1)
memory = ds.dataset(pa.table({"x": [1.0, math.nan]}))
assert memory.count_rows(filter=x == 1) == 1
END
env/bin/python finding.py
