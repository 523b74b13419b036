#!/usr/bin/env bash
# Version: pyorc 0.12.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-29.
# Guess: a number outside the range of its column is an error, as it is for a BIGINT.
# Behaviour: 200 in a TINYINT is saved as -56. 40,000 in a SMALLINT and 2^31 in an INT are saved as they are: pyorc reads
# them back, so that a test by round trip passes, and pyarrow, which keeps to the types, reads -25,536 and -2^31.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyorc==0.12.0 pyarrow==26.0.1 tzdata
venv/bin/python - <<'PY'
import pyarrow.orc as orc, pyorc

seen = {}
for kind, value in (("tinyint", 200), ("smallint", 40000), ("int", 2**31), ("bigint", 2**63)):
    try:
        with open("f.orc", "wb") as file, pyorc.Writer(file, f"struct<x:{kind}>") as writer:
            writer.write((value,))
        with open("f.orc", "rb") as file:
            seen[kind] = next(iter(pyorc.Reader(file)))[0], orc.read_table("f.orc")["x"][0].as_py()
    except TypeError as error:
        seen[kind] = "TypeError"
    print(kind, value, "is read by pyorc and pyarrow as", seen[kind])
assert seen == {"tinyint": (-56, -56), "smallint": (40000, -25536), "int": (2**31, -(2**31)), "bigint": "TypeError"}
PY
