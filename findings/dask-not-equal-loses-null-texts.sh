#!/usr/bin/env bash
# Version: PyPI dask 2026.8.0, pandas 3.1.1, pyarrow 25.0.1 (Python 3.11). Source: run on 2026-12-01.
# Guess: df[df.s != 'a'] of a Dask dataframe has the rows that pandas gives, with those whose s is null, as it has for numbers.
# Behaviour: Dask makes texts string[pyarrow], whose null != 'a' is null and drops the row; pandas' own type of texts keeps it. So it is for dataframes from pandas and from Parquet, without an error; of numbers, where
# null is NaN, both keep it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install 'dask[dataframe]==2026.8.0' pandas==3.1.1 pyarrow==25.0.1
env/bin/python - <<'PY'
import dask
import dask.dataframe as dd
import pandas as pd

dask.config.set(scheduler="synchronous")
frame = pd.DataFrame({"row": [1, 2, 3], "s": ["a", None, "b"], "x": [1.0, None, 2.0]})
frame.to_parquet("a.parquet")
frames = {"pandas": frame, "pandas, Parquet": pd.read_parquet("a.parquet"), "dask": dd.from_pandas(frame, npartitions=2), "dask, Parquet": dd.read_parquet("a.parquet")}
found = {}
for name, df in frames.items():
    texts, numbers = df[df.s != "a"].row, df[df.x != 1.0].row
    found[name] = [list(rows.compute() if hasattr(rows, "compute") else rows) for rows in (texts, numbers)]
    print(name, df.s.dtype, "rows with s != 'a' and x != 1:", *found[name])
assert found["pandas"] == found["pandas, Parquet"] == [[2, 3], [2, 3]]
assert found["dask"] == found["dask, Parquet"] == [[3], [2, 3]]
PY
