#!/usr/bin/env bash
# Version: PyPI polars 2.1.0 (Python 3.11). Source: run on 2026-11-30; its sum() of integers of 8 and 16 bits is one of 64 bits.
# Guess: mean_horizontal of two columns is a float between the two values, and sum_horizontal widens as sum() does.
# Behaviour: both add in the type of the columns, which wraps: the mean of 127 and 127 as Int8 is -1.0, of 200 and 200 as UInt8 72.0, of twice
# 2^31 - 1 as Int32 -1.0, without an error; the mean of a list column and down a column are right. dot() of Int8 wraps, too.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install polars==2.1.0
cat >finding.py <<'END'
import polars as pl

cases = {}
for type_, value in ((pl.Int8, 127), (pl.UInt8, 200), (pl.Int32, 2**31 - 1), (pl.Int64, 2**62)):
    frame = pl.DataFrame({"a": [value], "b": [value]}, schema={"a": type_, "b": type_})
    cases[type_] = frame.select(across=pl.mean_horizontal("a", "b"), sum=pl.sum_horizontal("a", "b"),
                                list=pl.concat_list("a", "b").list.mean(), list_sum=pl.concat_list("a", "b").list.sum()).row(0)
    print(type_, cases[type_])
assert cases[pl.Int8] == (-1.0, -2, 127.0, 254)
assert cases[pl.UInt8] == (72.0, 144, 200.0, 400)
assert cases[pl.Int32][0] == -1.0 and cases[pl.Int32][2] == 2**31 - 1
column = pl.Series("a", [127, 127], dtype=pl.Int8)
print("down", column.sum(), column.mean(), column.dot(column))
assert (column.sum(), column.mean(), column.dot(column)) == (254, 127.0, 2)
END
env/bin/python finding.py
