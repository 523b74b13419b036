#!/usr/bin/env bash
# Version: pyarrow 26.0.1 (its ORC writer says 2.2.2), pyorc 0.12.0 (Python 3.11). Source: run on 2026-11-30; ORC's
# specification, "Timestamp Columns": nanoseconds are a stream of unsigned integers, and seconds are rounded towards 1970.
# Guess: 1969-12-31T23:59:58.5 is stored as the specification says, by both: nanoseconds are 500,000,000.
# Behaviour: pyarrow stores -500,000,000 nanoseconds, as 64 bits that begin with ones; pyorc stores 500,000,000. Both read
# both files as they were written, but a reader that takes the stream for what it is sees 2^64 or more: orc-rust 0.9 does.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyorc==0.12.0 pyarrow==26.0.1 tzdata
venv/bin/python - <<'PY'
import datetime as dt, pyarrow as pa, pyarrow.orc as orc, pyorc

value = dt.datetime(1969, 12, 31, 23, 59, 58, 500000, dt.timezone.utc)
none = pyorc.CompressionKind.NONE
with open("pyorc.orc", "wb") as file, pyorc.Writer(file, "struct<x:timestamp>", compression=none) as writer:
    writer.write((value,))
orc.write_table(pa.table({"x": pa.array([value], pa.timestamp("us"))}), "pyarrow.orc", compression="uncompressed")


def direct(number):
    """A run of one number of 64 bits; its last three bits are the zeros at its end without one."""
    return bytes([0x7e, 0]) + (number << 3 | 7).to_bytes(8, "big", signed=True)


stored = {}
for name in ("pyorc", "pyarrow"):
    with open(name + ".orc", "rb") as file:
        data = file.read()
    stored[name] = direct(-5) in data
    with open(name + ".orc", "rb") as file:
        read = next(iter(pyorc.Reader(file)))[0], orc.read_table(name + ".orc")["x"][0].as_py()
    print(name, "wrote; -500,000,000 nanoseconds are stored:", stored[name], "; read as", *read)
    assert read == (value, value.replace(tzinfo=None))
assert stored == {"pyorc": False, "pyarrow": True}
PY
