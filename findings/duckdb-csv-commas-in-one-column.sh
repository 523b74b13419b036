#!/usr/bin/env bash
# Version: PyPI duckdb 2.0.1 (Python 3.11). Source: run on 2026-12-01.
# Guess: a CSV file of one column whose header has no comma is one column, or an error where the rows have more fields than the header; no row is lost.
# Behaviour: the header counts as a title above the table, and is dropped: price with 1,5, 2,25 and 3,75 has two columns of integers, column0 and column1. If the first row fits, it becomes the header: name with "Smith, J" and
# "Doe, A" has one row, whose columns are Smith and J, and 1,000 and 2,500 have one row in columns 1 and 000. A last row 3 makes it one column price of texts. A last line Total makes a table of two columns one column of texts.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install duckdb==2.0.1
env/bin/python - <<'PY'
import duckdb

for text, columns, rows in [
    ("price\n1,5\n2,25\n3,75\n", ["column0", "column1"], [(1, 5), (2, 25), (3, 75)]),
    ("price\n1,5\n2,25\n3\n", ["price"], [("1,5",), ("2,25",), ("3",)]),
    ("name\nSmith, J\nDoe, A\n", ["Smith", "J"], [("Doe", " A")]),
    ("x\n1,000\n2,500\n", ["1", "000"], [(2, 500)]),
    ("id,x\n1,2\n3,4\nTotal\n", ["id,x"], [("1,2",), ("3,4",), ("Total",)]),
]:
    with open("a.csv", "w") as file:
        file.write(text)
    table = duckdb.sql("SELECT * FROM 'a.csv'")
    found = table.columns, table.fetchall()
    print(repr(text), *found)
    assert found == (columns, rows)
PY
