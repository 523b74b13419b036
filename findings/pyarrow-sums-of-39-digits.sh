#!/usr/bin/env bash
# Version: pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: a sum of decimals that does not fit in 38 digits is an error, as it is for add(), or goes on in 256 bits.
# Behaviour: it is a decimal128(38, 0) of 39 digits, by sum and group_by, which only full validation refuses; and beyond 2^127 it
# wraps: of three values of 9e37 the sum is negative.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyarrow==26.0.1
cat >finding.py <<'END'
import decimal
import pyarrow as pa
import pyarrow.compute as pc

nines = pa.array([decimal.Decimal("9" * 38), decimal.Decimal(1)], pa.decimal128(38, 0))
total = pc.sum(nines)
grouped = pa.table({"k": [1, 1], "x": nines}).group_by("k").aggregate([("x", "sum")])["x_sum"]
print(total.type, total, grouped[0])
assert total.type == grouped.type == pa.decimal128(38, 0)
assert total.as_py() == grouped[0].as_py() == 10 ** 38
try:
    grouped.validate(full=True)
    raise SystemExit("39 digits are valid")
except pa.ArrowInvalid as error:
    print(error)
large = pa.array([decimal.Decimal(9 * 10 ** 37)] * 3, pa.decimal128(38, 0))
print(pc.sum(large))
assert pc.sum(large).as_py() == 27 * 10 ** 37 - 2 ** 128 < 0
try:
    raise SystemExit(f"add: {pc.add(large[0], large[1]).type}")
except pa.ArrowInvalid as error:
    print("add:", error)
END
env/bin/python finding.py
