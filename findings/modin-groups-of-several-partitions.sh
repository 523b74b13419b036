#!/usr/bin/env bash
# Version: PyPI modin 0.37.1 with pandas 2.3.3, numpy 2.4.6 (Python 3.11), its engine "Python". Source: run on 2026-11-30; https://modin.readthedocs.io/en/stable/ (a drop-in
# replacement of pandas).
# Guess: an aggregation of groups that lie in several partitions is that of pandas, as the partial results are combined.
# Behaviour: min_count of sum, prod and max counts the rows of a group within each partition: groups of 200 with min_count=150 are NaN, and those with min_count=1 right. Means are sums of the type over counts: of
# 2^62 as int64 the mean, also without groups, is 0. melt gives the rows by partition, so that the variables take turns, and nth has the keys as a column.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install modin==0.37.1 pandas==2.3.3 numpy==2.4.6
MODIN_ENGINE=Python env/bin/python -W ignore - <<'PY'
import modin.config as config
import numpy as np
import pandas

config.NPartitions.put(4)
import modin.pandas

rows = pandas.DataFrame({"g": ["a", "b"] * 200, "x": np.arange(400.0), "large": np.full(400, 2**62)})


def ask(name, function):
    got = function(rows), function(modin.pandas.DataFrame(rows))
    print(name, "pandas", got[0], "Modin", got[1])
    return got


assert ask("min_count=150", lambda d: d.groupby("g")["x"].sum(min_count=150).isna().tolist()) == ([False, False], [True, True])
assert ask("min_count=1", lambda d: d.groupby("g")["x"].sum(min_count=1).tolist()) == ([39800, 40000], [39800, 40000])
assert ask("max", lambda d: d.groupby("g")["x"].max(min_count=150).isna().tolist()) == ([False, False], [True, True])
assert ask("mean", lambda d: d[["large"]].mean().tolist()) == ([2.0**62], [0])
assert ask("mean of groups", lambda d: d.groupby("g")["large"].mean().tolist()) == ([2.0**62] * 2, [0, 0])
assert ask("melt", lambda d: "".join(d.melt("g")["variable"].str[0].tolist()[::50])) == ("x" * 8 + "l" * 8, "xxll" * 4)
assert ask("nth", lambda d: list(d.groupby("g")[["x"]].nth(1).columns)) == (["x"], ["g", "x"])
PY
