#!/usr/bin/env bash
# Version: PyPI vaex-core 4.19.0, numpy 2.4.6, pyarrow 26.0.1, pandas 2.3.3 (Python 3.11). Source: run on 2026-11-30; https://vaex.readthedocs.io/en/latest/api.html#vaex.dataframe.DataFrame.groupby.
# Guess: 0.0 and -0.0 are one group or two, and the counts of the groups add up to the number of rows.
# Behaviour: they are one group, which has the rows of the zero that comes first: of three 0.0, five -0.0 and two 1.0 the counts are 3 and 2, and the sums lack the same five rows. With the
# five -0.0 first they are 5 and 2. value_counts has all eight. As 32-bit floats they are two groups, and as the first of two keys the five rows are there
# and called 1.0.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install vaex-core==4.19.0 numpy==2.4.6 pyarrow==26.0.1 pandas==2.3.3
env/bin/python -W ignore - <<'PY' 2>warnings
import os

import numpy as np
import vaex


def groups(x, keys="x", aggregate=vaex.agg.count()):
    rows = vaex.from_arrays(x=x, one=np.ones(len(x), int), parity=np.arange(len(x)) % 2)
    got = rows.groupby(keys, agg={"n": aggregate}).to_arrays(array_type="list")
    print(keys, got, "of", len(x), "rows")
    return got


x = np.array([0.0] * 3 + [-0.0] * 5 + [1.0] * 2)
assert groups(x) == [[0.0, 1.0], [3, 2]] and groups(x, aggregate=vaex.agg.sum("one")) == [[0.0, 1.0], [3, 2]]
assert groups(np.concatenate([x[3:8], x[:3], x[8:]]))[1] == [5, 2]
assert list(vaex.from_arrays(x=x).x.value_counts()) == [8, 2]
assert sorted(groups(x.astype("f4"))[1]) == [2, 3, 5]
assert sum(groups(x, ["x", "parity"])[2]) == 10 and groups(x, ["x", "parity"])[0].count(1.0) == 4
print("as expected", flush=True)
os._exit(0)
PY
