#!/usr/bin/env bash
# Version: pyarrow 26.0.1, polars 2.1.0 (Python 3.11). Source: run on 2026-11-29.
# Guess: a time zone that is an offset stays that offset, and null_count of a list column counts nulls.
# Behaviour: Polars reads the zone +02:00 of a Parquet file as Etc/GMT-2, whose sign is the other way round, and saves
# it so. null_count in the statistics of the column [[], null, [null], [1]] is 3: empty lists count, too.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyarrow==26.0.1 polars==2.1.0
venv/bin/python - <<'PY'
import polars, pyarrow as pa, pyarrow.parquet as parquet

parquet.write_table(pa.table({"t": pa.array([0], pa.timestamp("us", "+02:00"))}), "zone")
frame = polars.read_parquet("zone")
frame.write_parquet("again")
zone = str(parquet.read_table("again").schema.field("t").type)
lists = pa.table({"l": pa.array([[], None, [None], [1]], pa.list_(pa.int32()))})
counts = []
for write in (lambda: parquet.write_table(lists, "l"), lambda: polars.from_arrow(lists).write_parquet("l")):
    write()
    counts.append(parquet.ParquetFile("l").metadata.row_group(0).column(0).statistics.null_count)
print("zone:", frame["t"].dtype, "saved as", zone, "\nnull_count by pyarrow, Polars:", counts)
assert frame["t"].dtype.time_zone == "Etc/GMT-2" and zone == "timestamp[us, tz=Etc/GMT-2]"
assert counts == [3, 3]
PY
