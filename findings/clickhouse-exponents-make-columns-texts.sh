#!/usr/bin/env bash
# Version: PyPI chdb 4.4.0 (ClickHouse 26.9.2; Python 3.11). Source: run on 2026-12-01.
# Guess: a CSV column of 100, 99 and 1e1 is inferred as numbers, as ClickHouse writes floats with exponents itself; a file of numbers alone has no header.
# Behaviour: a number with an exponent makes its column a text: the maximum of 100, 99 and 1e1 is "99", without an error. If one is in the first row, that row is taken for the
# header, and gone: of 1e-7, 0.5 and 0.25 two rows are left, in a column named 1e-7. 00501 is 501 in CSV and the text 00501 in TSV.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install chdb==4.4.0 chdb-core==26.9.0
env/bin/python - <<'END'
import chdb

def run(query):
    answer = str(chdb.query(query, "CSV")).strip()
    print(query, "=>", answer.splitlines())
    return answer

for name, text in (("first.csv", "1e-7\n0.5\n0.25\n"), ("later.csv", "x\n100\n99\n1e1\n"), ("zip.csv", "id,zip\n1,00501\n"), ("zip.tsv", "id\tzip\n1\t00501\n")):
    with open(name, "w") as file:
        file.write(text)
assert run("SELECT count() FROM file('first.csv')") == "2"
assert run("SELECT \"1e-7\" FROM file('first.csv')").splitlines() == ["0.5", "0.25"]
assert run("SELECT max(x) FROM file('later.csv')") == '"99"'
assert run("SELECT zip FROM file('zip.csv')") == "501"
assert run("SELECT zip FROM file('zip.tsv')") == '"00501"'
END
