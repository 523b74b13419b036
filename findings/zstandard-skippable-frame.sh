#!/usr/bin/env bash
# Version: zstandard 0.25.0, lz4 4.4.5 (Python 3.11). Source: run on 2026-11-28; RFC 8878 lets a decoder skip
# skippable frames anywhere between frames; zstd(1) does.
# Guess: decompress() skips them and returns the first data frame.
# Behaviour: zstandard.decompress fails, "decompressed 0 bytes; expected 3", while zstandard.open reads the same
# bytes. lz4 differs by call, too: lz4.frame.decompress returns the first of two frames and ignores the second,
# lz4.frame.open reads both.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install zstandard==0.25.0 lz4==4.4.5
"$dir/venv/bin/python" - <<'PY'
import io, struct
import lz4.frame, zstandard

data = struct.pack("<II", 0x184D2A50, 3) + b"xyz" + zstandard.compress(b"aaa")
try:
    whole = zstandard.decompress(data)
except zstandard.ZstdError as error:
    whole = str(error)
stream = zstandard.open(io.BytesIO(data)).read()
print(f"zstandard {zstandard.__version__}: decompress: {whole!r}, open: {stream!r}")
assert "expected 3" in whole and stream == b"aaa"

two = lz4.frame.compress(b"aaa") + lz4.frame.compress(b"bbb")
whole, stream = lz4.frame.decompress(two), lz4.frame.open(io.BytesIO(two)).read()
print(f"lz4 {lz4.__version__}: decompress: {whole!r}, open: {stream!r}")
assert whole == b"aaa" and stream == b"aaabbb"
PY
