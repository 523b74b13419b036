#!/usr/bin/env bash
# Version: PyPI vaex-core 4.19.0, numpy 2.4.6, pyarrow 26.0.1, pandas 2.3.3 (Python 3.11). Source: run on 2026-11-30; https://vaex.readthedocs.io/en/latest/guides/missing_or_invalid_data.html.
# Guess: what is computed of a missing value is missing, as with Arrow, and a value under a mask is not seen.
# Behaviour: the length of a missing text is 0 and find(...) of it -1, in means too, while upper() of it is missing; a filter s != "a" finds missing texts, and n != 3 does not find missing numbers. A number
# under a mask makes a group of no rows. The year of a missing time is -2147483648, also in means, but a filter year < 2000 does not find it. 7 // 0 is 0. The variance of
# 1e9 and the four next integers is 0.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install vaex-core==4.19.0 numpy==2.4.6 pyarrow==26.0.1 pandas==2.3.3
env/bin/python -W ignore - <<'PY' 2>warnings
import os

import numpy as np
import pyarrow as pa
import vaex

rows = vaex.from_arrays(s=pa.array(["a", None, "bc"]), n=pa.array([1, None, 3]))
got = rows.s.str.len().tolist(), rows.s.str.len().mean().tolist(), rows.s.str.find("b").tolist(), rows.s.str.upper().tolist()
print("length, mean, find, upper", got)
assert got == ([1, 0, 2], 1.0, [-1, -1, 0], ["A", None, "BC"])
got = rows[rows.s != "a"].s.tolist(), rows[rows.n != 3].n.tolist()
print("filters", got)
assert got == ([None, "bc"], [1])
masked = vaex.from_arrays(m=np.ma.array([1, 2, 3], mask=[False, True, False]))
got = masked.groupby("m", agg={"n": vaex.agg.count()}).to_arrays(array_type="list")
print("groups", got)
assert got == [[1, 2, 3, None], [1, 0, 1, 1]]
times = vaex.from_arrays(t=np.array(["2020-01-01", "NaT"], "M8[ns]"))
got = times.t.dt.year.tolist(), times.t.dt.year.mean().tolist(), times[times.t.dt.year < 2000].t.tolist()
print("years", got)
assert got == ([2020, -2**31], 542099456.0, [])
sevens = vaex.from_arrays(x=np.array([7]), y=np.array([0]))
large = 1e9 + np.arange(5)
assert (sevens.x // sevens.y).tolist() == [0] and vaex.from_arrays(x=large).x.var().tolist() == 0 and large.var() == 2
print("as expected", flush=True)
os._exit(0)
PY
