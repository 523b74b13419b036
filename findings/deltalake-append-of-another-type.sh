#!/usr/bin/env bash
# Version: deltalake 1.6.6, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: rows whose types are not those of the table are an error, at least where a value would change, or with schema_mode="merge"
# the type of the column widens.
# Behaviour: values are cast: 2.9 in a column of integers is 2, the day 2020-01-01 is 18262, 2 in one of booleans is true, 1e300
# in one of 32-bit floats is infinity, all without an error, with "merge", too. But decimals(5, 3) in a column of decimals(5, 2), and
# an integer that is too large, are errors.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install deltalake==1.6.6 pyarrow==26.0.1
cat >finding.py <<'END'
import datetime as dt
import decimal
import math
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake


def append(old, new, **options):
    count = append.count = getattr(append, "count", 0) + 1
    write_deltalake(f"t{count}", pa.table({"x": old}))
    try:
        write_deltalake(f"t{count}", pa.table({"x": new}), mode="append", **options)
    except Exception as error:
        print(f"{new.type} to {old.type}:", str(error).split("\n", 1)[0])
        return "error"
    rows = DeltaTable(f"t{count}").to_pyarrow_table()["x"]
    assert rows.type == old.type
    print(f"{new.type} to {old.type}:", new.to_pylist(), "->", sorted(set(rows.to_pylist()) - set(old.to_pylist())))
    return sorted(rows.to_pylist())


integers = pa.array([1], pa.int64())
assert append(integers, pa.array([2.9, -2.9])) == [-2, 1, 2]
assert append(integers, pa.array([2.9, -2.9]), schema_mode="merge") == [-2, 1, 2]
assert append(integers, pa.array([dt.date(2020, 1, 1)])) == [1, 18262]
assert append(pa.array([False]), pa.array([2])) == [False, True]
assert append(pa.array([1], pa.float32()), pa.array([1e300]))[1] == math.inf
assert append(pa.array([1], pa.int32()), pa.array([2**40])) == "error"
hundredths, thousandths = decimal.Decimal("1.23"), decimal.Decimal("1.235")
assert append(pa.array([hundredths], pa.decimal128(5, 2)), pa.array([thousandths], pa.decimal128(5, 3))) == "error"
END
env/bin/python finding.py
