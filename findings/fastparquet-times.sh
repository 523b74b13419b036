#!/usr/bin/env bash
# Version: fastparquet 2026.9.0, pandas 3.1.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-28.
# Guess: a pandas column of times is the same time in the file, whatever its unit; a duration is an INTERVAL or an integer.
# Behaviour: datetime64[s] is divided by 1,000 instead of multiplied, and marked as milliseconds: 2026-11-28 becomes
# half an hour after 1970-01-01, without an error; ms, us and ns are right. A duration of 25 hours in a column of seconds is
# a TIME of 90,000 microseconds, which fastparquet itself reads back as 0 seconds.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install fastparquet==2026.9.0 pandas==3.1.1 pyarrow==26.0.1
cd "$dir"
venv/bin/python - <<'PY' 2>/dev/null
import fastparquet, numpy as np, pandas as pd, pyarrow.parquet as pq

TIME = "2026-11-28T12:34:56"
read = {}
for unit in ("s", "ms", "us", "ns"):
    fastparquet.write("a.parquet", pd.DataFrame({"c": np.array([TIME], f"M8[{unit}]")}))
    read[unit] = str(pq.read_table("a.parquet")["c"].cast("timestamp[ms]")[0].as_py())
    print(f"fastparquet {fastparquet.__version__}: {TIME} in a column of {unit}: {read[unit]}")
assert read == {"s": "1970-01-01 00:29:55.869000"} | dict.fromkeys(("ms", "us", "ns"), TIME.replace("T", " "))

fastparquet.write("a.parquet", pd.DataFrame({"c": np.array([90_000], "m8[s]")}))
stored = pq.read_table("a.parquet")["c"]
back = fastparquet.ParquetFile("a.parquet").to_pandas()["c"][0]
print(f"a duration of 25 hours: {stored.type}, {stored.cast('int64')[0]}; read by fastparquet: {back}")
assert (str(stored.type), stored.cast("int64")[0].as_py(), back.total_seconds()) == ("time64[us]", 90_000, 0)
PY
