#!/usr/bin/env bash
# Version: PyPI nanoarrow 0.9.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; https://arrow.apache.org/docs/format/Columnar.html (decimals
# are integers in two's complement).
# Guess: to_pylist() of a column of decimals has the values that pyarrow gives, negative ones, too.
# Behaviour: a negative decimal is taken without its sign, as 2^128 - 128 for -1.28, and rounded to the digits of its type: 3.40282367E+36 of a
# decimal128(9, 2), 1.15792089E+75 of a decimal256(9, 2), without an error, where -0.01 is the same number. Positive decimals are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install nanoarrow==0.9.0 pyarrow==26.0.1
cat >finding.py <<'END'
from decimal import Decimal
import nanoarrow
import pyarrow as pa

for width, make in ((128, pa.decimal128), (256, pa.decimal256)):
    for precision in (9, 38):
        column = pa.array([Decimal("-1.28"), Decimal("-0.01"), Decimal("1.28")], make(precision, 2))
        got = nanoarrow.Array(column).to_pylist()
        print(column.type, column.to_pylist(), "nanoarrow:", got)
        assert got[0] > 10 ** 35 and got[1] > 10 ** 35 and got[2] == Decimal("1.28")
        assert precision != 9 or got[0] == got[1]
END
env/bin/python finding.py
