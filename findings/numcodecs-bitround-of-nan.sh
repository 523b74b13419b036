#!/usr/bin/env bash
# Version: PyPI numcodecs 0.16.6, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://numcodecs.readthedocs.io/en/stable/bitround.html.
# Guess: rounding away bits of the mantissa keeps NaN, infinity and finite numbers what they are.
# Behaviour: it adds to the bits of the whole number, so a carry runs into exponent and sign. With keepbits=0 NaN is -0.0, that of x86's 0/0 is 0.0: missing
# values become measured zeros. With more bits a NaN with all bits set (7fffffff) is -0.0, one with the least payload (7f800001) infinity, and the
# largest finite numbers are infinite. The NaN of numpy stays NaN from keepbits=1 on.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install numcodecs==0.16.6 numpy==2.4.6
env/bin/python - <<'PY'
import numpy as np
from numcodecs import BitRound

bits = np.array([0x7fc00000, 0xffc00000, 0x7fffffff, 0x7f800001, 0x7f7fffff, 0x40200000], dtype="u4")
got = {keep: BitRound(keepbits=keep).decode(BitRound(keepbits=keep).encode(bits.view("f4").copy())).tolist() for keep in (0, 1, 10)}
print(got)
assert str(got[0]) == "[-0.0, 0.0, -0.0, inf, inf, 2.0]"
assert str(got[1]) == "[nan, nan, -0.0, inf, inf, 2.0]" and str(got[10]) == "[nan, nan, -0.0, inf, inf, 2.5]"
PY
