#!/usr/bin/env bash
# Version: PyPI dask 2026.8.0, pandas 3.1.1, numpy 2.4.6, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: mean, var and cov of a data frame and of groups are those of pandas, up to rounding.
# Behaviour: the mean is the sum over the count in the type of the column: four times 2^62 have the mean 0. The variance of groups is that of
# squares in the type: of 100, 20, 100, 20 as int8 it is 0 and the covariance -4864, both 2133.3 in pandas; of 1e9 + 1, 2 and 3
# it is 0, in pandas 0.8. Without groups the variances are right. A merge of times in seconds with times in nanoseconds has no
# rows when it shuffles, with a warning about types; pandas' has all.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install dask[dataframe]==2026.8.0 pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1
cat >finding.py <<'END'
import warnings

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

warnings.simplefilter("ignore")
dask.config.set(scheduler="sync")
large = pd.DataFrame({"g": 1, "a": [2**62] * 4})
small = pd.DataFrame({"g": 1, "a": np.array([100, 20, 100, 20], "int8")})
near = pd.DataFrame({"g": 1, "a": [1e9 + 1, 1e9 + 2, 1e9 + 3] * 2})


def parts(frame):
    return dd.from_pandas(frame, npartitions=2)


means = parts(large).a.mean().compute(), parts(large).groupby("g").a.mean().compute()[1], large.a.mean()
print("mean", means)
assert means[:2] == (0, 0) and means[2] == 2.0**62
variances = [(parts(frame).groupby("g").a.var().compute()[1], frame.groupby("g").a.var()[1], parts(frame).a.var().compute())
             for frame in (small, near)]
print("var", variances)
assert variances[0][0] == 0 and round(variances[0][1]) == round(variances[0][2]) == 2133
assert variances[1][0] != 0.8 and abs(variances[1][1] - 0.8) < 1e-6 and abs(variances[1][2] - 0.8) < 1e-6
pairs = small.assign(b=small.a)
covariances = parts(pairs).groupby("g").cov().compute().iloc[0, 0], pairs.groupby("g").cov().iloc[0, 0]
print("cov", covariances)
assert covariances[0] == -4864 and round(covariances[1]) == 2133

days = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"])
seconds, nanoseconds = (pd.DataFrame({"x": days.astype(f"datetime64[{unit}]")}) for unit in ("s", "ns"))
merged = (len(dd.from_pandas(seconds, npartitions=4).merge(dd.from_pandas(nanoseconds, npartitions=4), on="x", broadcast=False,
                                                           shuffle_method="tasks").compute()), len(seconds.merge(nanoseconds, on="x")))
print("merge", merged)
assert merged == (0, 4)
END
env/bin/python finding.py
