#!/usr/bin/env bash
# Version: PyPI petl 1.7.30 (Python 3.11). Source: run on 2026-11-30; https://petl.readthedocs.io/en/stable/transform.html (join, antijoin, complement, intersection, aggregate sort both tables; the
# functions with hash in their names do the same in memory).
# Guess: a row whose key is NaN meets no row, and other rows are as without it; with a hash and with sorting the rows are the same.
# Behaviour: one row with NaN is enough that rows with other keys are lost: with the keys NaN, 1, 2, 3 on the left join gives nothing at all and antijoin says that 1, 2 and 3 are missing on the
# right, where they are. hashjoin and hashantijoin are right. What is lost depends on the order of the rows. aggregate gives several groups of the same key, and sort
# another order for another buffersize.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install petl==1.7.30
cat >finding.py <<'END'
import math
import petl

nan = math.nan


def keys(table):
    return sorted(row[0] for row in list(table)[1:] if row[0] == row[0])


right = [["key", "b"]] + [[key, "r"] for key in (1, 2, 3, 4)]
wants = {(nan, 1, 2, 3): ([], [1, 2, 3]), (3, 1, nan, 2, 4): ([1, 2, 3], [4]), (4, nan, 3, 2, 1): ([4], [1, 2, 3])}
for left_keys, want in wants.items():
    left = [["key", "a"]] + [[key, "l"] for key in left_keys]
    numbers = sorted(key for key in left_keys if key == key)
    sorting = keys(petl.join(left, right, key="key")), keys(petl.antijoin(left, right, key="key"))
    hashing = keys(petl.hashjoin(left, right, key="key")), keys(petl.hashantijoin(left, right, key="key"))
    one, other = petl.cut(left, "key"), petl.cut(right, "key")
    sets = keys(petl.intersection(one, other)), keys(petl.complement(one, other))
    print(left_keys, "join and antijoin:", sorting, "with a hash:", hashing)
    assert sorting == sets == want and hashing == (numbers, [])
groups = list(petl.aggregate([["key"], [2], [nan], [1], [2], [nan], [1], [2]], "key", len))[1:]
print("groups:", groups)
assert [count for key, count in groups if key == 2] == [1, 1, 1]
rows = [["key"]] + [[key] for key in (3, nan, 1, 2, nan, 0, 5, 4, -1)]
orders = {tuple(map(str, keys_of)) for keys_of in ([row[0] for row in petl.sort(rows, "key", buffersize=size)] for size in (2, 3, 100))}
print(len(orders), "orders of the same rows with three sizes of buffer")
assert len(orders) == 3
END
env/bin/python finding.py
