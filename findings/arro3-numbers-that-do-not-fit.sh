#!/usr/bin/env bash
# Version: PyPI arro3-core 0.9.1, arro3-compute 0.9.1 (the Rust crate arrow), pyarrow 26.0.1 (Python 3.11). Source: run on 2026-12-01; https://kylebarron.dev/arro3/latest/api/compute/.
# Guess: what does not fit is an error in all functions, as in pyarrow, or wraps in all; casts round decimals and times one way.
# Behaviour: 127 + 1 as Int8 is an error in add(), -2 is the sum() of 127 and 127, and a cast of 300 to Int8 is null, without an option. The sum of 2^63 - 1 and 1 is -2^63. 1.995 as a decimal is 2.00 with two
# digits and 1 as an integer. A text without digits after the comma is rounded as a decimal (1.555: 1.56) and null as an integer (1.0). 1969-12-31T23:59:59.5 has the date 1969-12-31 and
# is 1970-01-01T00:00:00 in seconds. "2020-1-1" is a date and no timestamp; "2020-01-01T10:00" is neither, though "12:00" is a time; 12:00:60 is 12:01.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install arro3-core==0.9.1 arro3-compute==0.9.1 pyarrow==26.0.1
env/bin/python - <<'PY'
import datetime
from decimal import Decimal

import arro3.compute as compute
import arro3.core
import pyarrow as pa


def array(values, type_):
    return arro3.core.Array.from_arrow(pa.array(values, type_))


def cast(values, type_, to, *want):
    got = pa.array(compute.cast(array(values, type_), to)).to_pylist()
    print(values, to, got)
    assert got == list(want), got


try:
    compute.add(array([127], pa.int8()), array([1], pa.int8()))
    refused = False
except Exception as error:
    refused = "overflow" in str(error)
sums = compute.sum(array([127, 127], pa.int8())).as_py(), compute.sum(array([2 ** 63 - 1, 1], pa.int64())).as_py()
print("add refused", refused, "sums", sums)
assert refused and sums == (-2, -2 ** 63)
cast([300, 5], pa.int64(), pa.int8(), None, 5)
cast([1.9, 1e30], pa.float64(), pa.int32(), 1, None)
three = pa.decimal128(10, 3)
cast([Decimal("1.995")], three, pa.decimal128(10, 2), Decimal("2.00"))
cast([Decimal("1.995")], three, pa.int64(), 1)
cast(["1.555", "1e2"], pa.string(), pa.decimal128(10, 2), Decimal("1.56"), None)
cast(["1", "1.0"], pa.string(), pa.int64(), 1, None)
last = datetime.datetime(1969, 12, 31, 23, 59, 59, 500000)
cast([last], pa.timestamp("us"), pa.date32(), datetime.date(1969, 12, 31))
cast([last], pa.timestamp("us"), pa.timestamp("s"), datetime.datetime(1970, 1, 1))
texts = ["2020-1-1", "2020-01-01T10:00"]
cast(texts, pa.string(), pa.date32(), datetime.date(2020, 1, 1), None)
cast(texts, pa.string(), pa.timestamp("us"), None, None)
cast(["12:00", "12:00:60"], pa.string(), pa.time64("us"), datetime.time(12), datetime.time(12, 1))
PY
