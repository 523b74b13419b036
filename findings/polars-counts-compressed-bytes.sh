#!/usr/bin/env bash
# Version: polars 2.1.0, zstandard 0.25.0 (Python 3.11). Source: run on 2026-11-28.
# Guess: scan_csv recognises compression by the first bytes, or fails on what it does not know.
# Behaviour: a .csv.zst whose first frame is a skippable one, as pzstd writes them, and .csv.bz2, .csv.xz
# and .csv.lz4 are taken for plain text: a count of rows gives the line ends of the compressed bytes,
# without an error. A .csv.zst that begins with a data frame, with skippable ones behind, is right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install polars==2.1.0 zstandard==0.25.0
cd "$dir"
venv/bin/python - <<'PY'
import bz2, lzma, struct
import polars as pl
import zstandard

ROWS = 200_000
text = b"a,b\n" + b"".join(b"%d,%s\n" % (i, b"x" * (i % 50)) for i in range(ROWS))
skippable = struct.pack("<II", 0x184D2A50, 4) + bytes(4)
frame = zstandard.compress(text)
files = {"frame-then-skippable.csv.zst": frame + skippable, "skippable-then-frame.csv.zst": skippable + frame,
         "a.csv.bz2": bz2.compress(text), "a.csv.xz": lzma.compress(text)}
found = {}
for name, content in files.items():
    with open(name, "wb") as file:
        file.write(content)
    found[name] = pl.scan_csv(name).select(pl.len()).collect().item()
    print(f"polars {pl.__version__}: {name}: {found[name]} of {ROWS} rows")
right, *wrong = found.values()
assert right == ROWS and all(rows < ROWS // 10 for rows in wrong)
PY
