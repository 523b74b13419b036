#!/usr/bin/env bash
# Version: fastparquet 2026.9.0, pandas 3.1.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: a row whose partition is null goes to __HIVE_DEFAULT_PARTITION__, or is an error; bytes of a fixed size, such as hashes
# and UUIDs, are read as they are.
# Behaviour: write(partition_on=) leaves out the rows with a null, without an error: of three rows two are written. Of bytes of a
# fixed size zeros at the end are cut off when they are read, so that b"ab\0\0" is b"ab", one that is all zeros is empty;
# bytes of any size, also with zeros, are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install fastparquet==2026.9.0 pandas==3.1.1 pyarrow==26.0.1
cat >finding.py <<'END'
import fastparquet
import pandas
import pyarrow as pa
import pyarrow.parquet as pq

rows = pandas.DataFrame({"k": ["a", None, "b"], "row": [0, 1, 2]})
fastparquet.write("parts", rows, file_scheme="hive", partition_on=["k"])
left = sorted(pq.read_table("parts")["row"].to_pylist())
print("rows of the partitions a, null and b:", left)
assert left == [0, 2]

values = [b"ab\0\0", bytes(4), b"\0\0ab", b"abcd"]
for type_, want in (pa.binary(4), [b"ab", b"", b"\0\0ab", b"abcd"]), (pa.binary(), values):
    pq.write_table(pa.table({"x": pa.array(values, type_)}), "t.parquet")
    assert pq.read_table("t.parquet")["x"].to_pylist() == values
    read = list(fastparquet.ParquetFile("t.parquet").to_pandas()["x"])
    print(type_, read)
    assert read == want
END
env/bin/python finding.py
