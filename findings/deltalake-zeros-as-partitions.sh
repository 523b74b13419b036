#!/usr/bin/env bash
# Version: deltalake 1.6.6, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: a condition finds the same rows whether the table is partitioned by the column or not, by every reader.
# Behaviour: -0.0 and 0.0 are two partitions, as texts; then `x = 0.0` finds one of the two rows by SQL, and delete deletes one, while
# `x <= 0.0` has both. Without partitions it finds both, as a data set of pyarrow does in both tables.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install deltalake==1.6.6 pyarrow==26.0.1
cat >finding.py <<'END'
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder, write_deltalake


def rows(partitions, condition):
    table = DeltaTable(f"partitioned-{partitions}")
    query = f"select row from t where {condition} order by row"
    return pa.table(QueryBuilder().register("t", table).execute(query).read_all())["row"].to_pylist()


data = pa.table({"x": [0.0, -0.0, 1.0], "row": [0, 1, 2]})
for partitions in True, False:
    name = f"partitioned-{partitions}"
    write_deltalake(name, data, partition_by=["x"] if partitions else None)
    equal, less = rows(partitions, "x = 0.0"), rows(partitions, "x <= 0.0")
    arrow = sorted(DeltaTable(name).to_pyarrow_dataset().to_table(filter=pc.field("x") == 0.0)["row"].to_pylist())
    DeltaTable(name).delete("x = 0.0")
    left = sorted(DeltaTable(name).to_pyarrow_table()["row"].to_pylist())
    print(f"{name}: x = 0.0 {equal}, x <= 0.0 {less}, Arrow {arrow}; left by delete {left}")
    assert less == arrow == [0, 1]
    assert (equal, left) == (([0], [1, 2]) if partitions else ([0, 1], [2]))
END
env/bin/python finding.py
