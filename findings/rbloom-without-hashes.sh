#!/usr/bin/env bash
# Version: rbloom 1.5.4 (Python 3.11). Source: run on 2026-11-28.
# Guess: k is at least 1; k = ceil(-log2 p) as in most classes, so 7 at p = 0.01.
# Behaviour: k is rounded down: 6 at 0.01, and 0 for p over 0.5, so that such a filter contains everything, even when
# it is empty.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install rbloom==1.5.4
"$dir/venv/bin/python" - <<'PY'
from rbloom import Bloom

hash_of = lambda text: int.from_bytes(text.encode().ljust(16, b"\0")[:16], "big", signed=True)
k = {p: int.from_bytes(Bloom(1000, p, hash_of).save_bytes()[:8], "little") for p in (0.01, 0.1, 0.5, 0.6)}
empty = Bloom(1000, 0.6, hash_of)
print(f"k by p: {k}; an empty filter of p = 0.6 contains 'a': {'a' in empty}")
assert k == {0.01: 6, 0.1: 3, 0.5: 1, 0.6: 0} and "a" in empty
PY
