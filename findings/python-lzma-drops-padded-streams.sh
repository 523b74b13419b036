#!/usr/bin/env bash
# Version: lzma of Python 3.11.7, xz 5.4.1. Source: run on 2026-11-30; the format of .xz, 2.2: "Stream
# Padding" of zeros may be between two streams.
# Guess: lzma reads such a file, as xz does, or raises.
# Behaviour: decompress() and open() return the rows of the first stream only, without an error, so that half of a valid file is
# lost; without padding both streams are read.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
for padding in 0 4; do
    { echo one | xz; head -c $padding /dev/zero; echo two | xz; } >"$padding.xz"
    xz --test "$padding.xz"
    [[ $(xz -dc "$padding.xz" | tr '\n' ' ') == "one two " ]]
done
python3 - <<'PY'
import lzma

for padding in "0", "4":
    with open(padding + ".xz", "rb") as file:
        read = {"decompress": lzma.decompress(file.read()), "open": lzma.open(padding + ".xz").read()}
    print(f"{padding} bytes of padding: {read}")
    assert set(read.values()) == {b"one\ntwo\n" if padding == "0" else b"one\n"}
PY
