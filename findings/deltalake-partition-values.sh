#!/usr/bin/env bash
# Version: deltalake 1.6.6, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; Delta's protocol says how a value of each
# type is written as a partition: binary as characters \u0001 and so on.
# Guess: partition columns of any type that the library takes come back as they were, or the write is refused and leaves the
# table as it was.
# Behaviour: binary values are written in that form, and read as the characters of it: b"a" comes back as b"\\u0061". A negative
# decimal is written with two signs, -1.-50, and the write raises after the commit: the table cannot be read any more,
# the rows that it had before included.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install deltalake==1.6.6 pyarrow==26.0.1
cat >finding.py <<'END'
import decimal
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

write_deltalake("binary", pa.table({"a": [1], "p": [b"a"]}), partition_by=["p"])
back = DeltaTable("binary").to_pyarrow_table().to_pylist()
print("b'a' comes back as", back)


def append(text):
    """What the write says, and what the table has then."""
    price = pa.array([decimal.Decimal(text)], pa.decimal128(10, 2))
    said = []
    for step in (lambda: write_deltalake("prices", pa.table({"a": [1], "p": price}), partition_by=["p"], mode="append"),
                 lambda: DeltaTable("prices").to_pyarrow_table().num_rows):
        try:
            said.append(step())
        except Exception as error:
            said.append(str(error))
    return said


before, after = append("1.50"), append("-1.50")
print("1.50, then -1.50:", before, after)
assert back == [{"a": 1, "p": b"\\u0061"}]
assert before == [None, 1] and all("'-1.-50'" in text for text in after)
END
env/bin/python finding.py
