#!/usr/bin/env bash
# Version: PyPI chdb 4.4.0 (ClickHouse 26.9.2; Python 3.11). Source: run on 2026-12-01.
# Guess: a field of CSV or JSON that does not fit the declared type is an error, as -1 for an unsigned type is, or a null; decimals are rounded.
# Behaviour: integers wrap: 300 as UInt8 is 44, 256 is 0, and 257 as Int8 is 1, which a filter for 1 finds. In JSON 2^63 as Int64 is -2^63 and 2^64 as UInt64 is 0. 1.999 as Decimal(9, 2) is
# 1.99, cut. A date of 1960 as Date is 1970-01-01 and one of 2300 is 2149-06-06, and a DateTime of 1960 is 1970, in all without an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install chdb==4.4.0 chdb-core==26.9.0
env/bin/python - <<'END'
import chdb

def run(form, types, text, where=""):
    query = f"SELECT * FROM format({form}, '{types}', '{text}') {where}"
    try:
        answer = str(chdb.query(query, "TSV")).splitlines()
    except Exception as error:
        answer = "error"
    print(query.replace("\n", " "), "=>", answer)
    return answer

assert run("CSV", "x UInt8", "-1\n") == "error"
assert run("CSV", "x UInt8", "300\n256\n255\n") == ["44", "0", "255"]
assert run("CSV", "x Int8", "1\n257\n", "WHERE x = 1") == ["1", "1"]
assert run("JSONEachRow", "x Int64, y UInt64", '{"x": 9223372036854775808, "y": 18446744073709551616}') == ["-9223372036854775808\t0"]
assert run("CSV", "x Decimal(9, 2)", "1.999\n-1.999\n") == ["1.99", "-1.99"]
assert run("CSV", "x Date", "1960-01-01\n2300-01-01\n") == ["1970-01-01", "2149-06-06"]
assert run("CSV", "x DateTime(\\'UTC\\')", "1960-01-01 00:00:00\n") == ["1970-01-01 00:00:00"]
END
