#!/usr/bin/env bash
# Version: PyPI pandas 3.1.1, numexpr 2.14.2, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30;
# https://pandas.pydata.org/docs/user_guide/enhancingperf.html (eval and query: numexpr is the default engine where it is installed; for speed).
# Guess: the engine changes how fast query() and eval() are, not which rows and values they give.
# Behaviour: numexpr adds narrow integers as int32 and unsigned ones below 64 bits as wider signed ones, pandas in the type of the column: of uint8 columns 1 and 5
# "a - b > 0" finds the row without numexpr, as 252, and does not with it, as -4. 100 + 100 of int8 is -56 or 200. So installing a package changes
# the rows of a program that does not name it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pandas==3.1.1 numexpr==2.14.2 numpy==2.4.6
env/bin/python - <<'PY'
import subprocess
import sys

import numpy as np
import pandas as pd

rows = pd.DataFrame({"a": np.array([1, 9], "u1"), "b": np.array([5, 5], "u1"), "c": np.array([100, 1], "i1")})
found, sums = {}, {}
for engine in "numexpr", "python":
    found[engine] = rows.query("a - b > 0", engine=engine).index.tolist()
    sums[engine] = rows.eval("c + c", engine=engine).tolist()
default = rows.query("a - b > 0").index.tolist()
print(found, sums, "default", default)
assert found == {"numexpr": [1], "python": [0, 1]} and default == [1]
assert sums == {"numexpr": [200, 2], "python": [-56, 2]}
subprocess.run([sys.executable, "-m", "pip", "-q", "uninstall", "-y", "numexpr"], check=True)
script = 'import numpy as np, pandas as pd; print(pd.DataFrame({"a": np.array([1, 9], "u1"), "b": np.array([5, 5], "u1")}).query("a - b > 0").index.tolist())'
without = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()
print("default without numexpr", without)
assert without == "[0, 1]"
PY
