#!/usr/bin/env bash
# Version: PyPI adbc-driver-sqlite 1.13.0, adbc-driver-manager 1.13.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30;
# https://arrow.apache.org/adbc/current/driver/sqlite.html (the type of a column is inferred from the first rows; int64, double, string, binary).
# Guess: a column that has numbers and texts becomes one of texts, in which a number has the text that SQLite's CAST(x AS TEXT) gives.
# Behaviour: a float is written with six digits behind the point: 1.23456789 is "1.234568e+00" and 0.1 "1.000000e-01". An integer of 64 bits beside a
# float is a double, 2^53 + 1 is 2^53, also where it comes first. A time with a zone is ingested as the text of UTC, which does not say so.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install adbc-driver-sqlite==1.13.0 adbc-driver-manager==1.13.0 pyarrow==26.0.1
cat >finding.py <<'END'
import adbc_driver_sqlite.dbapi
import pyarrow as pa

with adbc_driver_sqlite.dbapi.connect() as connection, connection.cursor() as cursor:
    def column(query):
        cursor.execute(query)
        return cursor.fetch_arrow_table()["x"].to_pylist()

    texts = column("SELECT 1.23456789 x UNION ALL SELECT 0.1 UNION ALL SELECT 'text'")
    casts = column("SELECT CAST(1.23456789 AS TEXT) x UNION ALL SELECT CAST(0.1 AS TEXT)")
    numbers = column("SELECT 9007199254740993 x UNION ALL SELECT 0.5")
    cursor.adbc_ingest("times", pa.table({"x": pa.array([0], pa.timestamp("ms", "Europe/Berlin"))}), mode="create")
    times = column("SELECT x FROM times")
print(texts, "CAST:", casts, "| integer beside a float:", numbers, "| time of Berlin:", times)
assert texts == ["1.234568e+00", "1.000000e-01", "text"] and casts == ["1.23456789", "0.1"]
assert numbers == [2.0 ** 53, 0.5] and times == ["1970-01-01T00:00:00.000"]
END
env/bin/python finding.py
