#!/usr/bin/env bash
# Version: PyPI duckdb 2.0.1 (Python 3.11). Source: run on 2026-12-01; the types of a CSV file are those of its first 20,480 rows.
# Guess: a value behind the sample that is not of the type found there is an error, as a text among integers is.
# Behaviour: it is cast, without an error: behind 30,000 integers 1.5 is 2, 2.5 is 3 and 1e3 is 1000; behind dates a time of day is cut off; behind timestamps the offset +05 is dropped; behind
# doubles 9007199254740993 is ...992. With the same value in the first rows the column is a DOUBLE, a TIMESTAMP or has an offset, so that the sum of a file depends on the order of its rows.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install duckdb==2.0.1
env/bin/python - <<'PY'
import duckdb

def read(value, last, aggregate, last_first=False):
    rows = [value] * 30_000
    rows.insert(0 if last_first else len(rows), last)
    with open("a.csv", "w") as file:
        file.write("x\n" + "\n".join(rows) + "\n")
    (found, kind), = duckdb.sql(f"SELECT {aggregate}::VARCHAR, any_value(typeof(x)) FROM 'a.csv'").fetchall()
    print(f"{last} {'before' if last_first else 'behind'} {value}: {aggregate} {found}, {kind}")
    return found, kind

assert read("1", "1.5", "sum(x)") == ("30002", "BIGINT") and read("1", "1.5", "sum(x)", True) == ("30001.5", "DOUBLE")
assert read("1", "2.5", "max(x)") == ("3", "BIGINT")
assert read("1", "1e3", "max(x)") == ("1000", "BIGINT")
assert read("2020-01-01", "2020-01-02 12:00:00", "max(x)") == ("2020-01-02", "DATE")
assert read("2020-01-01", "2020-01-02 12:00:00", "max(x)", True) == ("2020-01-02 12:00:00", "TIMESTAMP")
assert read("2020-01-01 00:00:00", "2020-01-01 00:00:00+05", "min(x)") == ("2020-01-01 00:00:00", "TIMESTAMP")
assert read("1.5", "9007199254740993", "max(x)") == ("9007199254740992.0", "DOUBLE")
PY
