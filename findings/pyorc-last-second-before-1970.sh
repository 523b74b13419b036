#!/usr/bin/env bash
# Version: pyorc 0.12.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-29; ORC stores whole seconds and nanoseconds
# apart.
# Guess: times before 1970 with parts of a second are right, or wrong for all of them.
# Behaviour: wrong in one second of all: 1969-12-31T23:59:59.5 is read back as 1970-01-01T00:00:00.5, by pyorc and
# pyarrow, from 1 ms on; 23:59:59.0004, 23:59:58.5 and 1960 are right. pyarrow's own writer has that second right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyorc==0.12.0 pyarrow==26.0.1 tzdata
venv/bin/python - <<'PY'
import datetime as dt, pyarrow as pa, pyarrow.orc as orc, pyorc

UTC = dt.timezone.utc
last = dt.datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
half = dt.timedelta(milliseconds=500)
values = [last + half, last + dt.timedelta(microseconds=400), last - half, dt.datetime(1960, 1, 1, 0, 0, 0, 500000, UTC)]
with open("pyorc.orc", "wb") as file, pyorc.Writer(file, "struct<x:timestamp>") as writer:
    for value in values:
        writer.write((value,))
orc.write_table(pa.table({"x": pa.array(values, pa.timestamp("us"))}), "pyarrow.orc")
for name in ("pyorc", "pyarrow"):
    with open(name + ".orc", "rb") as file:
        off = [(x - v) // half / 2 for (x,), v in zip(pyorc.Reader(file), values)]
    read = [x.as_py().replace(tzinfo=UTC) for x in orc.read_table(name + ".orc")["x"]]
    print(name, "wrote; seconds off:", off, "in pyorc and", [(x - v) // half / 2 for x, v in zip(read, values)], "in pyarrow")
    assert off == [(x - v) // half / 2 for x, v in zip(read, values)] == [1.0 * (name == "pyorc"), 0, 0, 0]
PY
