#!/usr/bin/env bash
# Version: duckdb 2.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: a float is compared with a decimal as doubles are, as Spark does, so that 0.1 as a float, 0.10000000149, differs.
# Behaviour: the decimal becomes a float: 0.1 as a float equals the decimal 0.1, so does 0.1 as a double, and the two do not
# equal each other. Joins follow: rows of the decimal meet both. An integer of 64 bits that no double has equals a double and
# a decimal that differ.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install duckdb==2.0.1
"$dir/venv/bin/python" - <<'PY'
import duckdb

def ask(query):
    return duckdb.sql(query).limit(1).fetchall()[0]

equal = ask("select 0.1::float = 0.1::decimal(3,2), 0.1::double = 0.1::decimal(3,2), 0.1::float = 0.1::double")
joined = ask("with f as (select 0.1::float k), m as (select 0.1::decimal(3,2) k), d as (select 0.1::double k) "
             "select (select count(*) from f join m using (k)), (select count(*) from d join m using (k)), "
             "(select count(*) from f join d using (k))")
large = ask("select 9007199254740993::bigint = 9007199254740992::double, "
            "9007199254740993::bigint = 9007199254740993::decimal(20,0), "
            "9007199254740992::decimal(20,0) = 9007199254740993::decimal(20,0)")
print("float = decimal, double = decimal, float = double:", equal, "rows joined:", joined, "2^53 + 1:", large)
assert equal == (True, True, False) and joined == (1, 1, 0) and large == (True, True, False)
PY
