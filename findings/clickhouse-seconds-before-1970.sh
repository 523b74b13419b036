#!/usr/bin/env bash
# Version: PyPI chdb 4.4.0 (ClickHouse 26.9) (Python 3.11). Source: run on 2026-11-30; the type DateTime64 begins in 1900.
# Guess: date_trunc('second', t) is the second that t is in, as toStartOfSecond(t), and is not greater than t.
# Behaviour: before 1970 it is the next one: 1960-01-01 00:00:00.5 becomes 00:00:01, and 1969-12-31 23:59:59.5 becomes 1970; a cast to
# DateTime64(0) and toUnixTimestamp64Second do the same. date_trunc('day') of that moment is 1970-01-01, of one half a second before it 1969-12-31.
# toStartOfSecond is right; toStartOfInterval of 1 second is 1970-01-01 for every time before it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install chdb==4.4.0
cat >finding.py <<'END'
from chdb import session

house = session.Session()


def value(expression):
    return str(house.query(f"select {expression}", "TSV")).strip()


def time(text):
    return f"toDateTime64('{text}', 3, 'UTC')"


old, last, before = time("1960-01-01 00:00:00.5"), time("1969-12-31 23:59:59.5"), time("1969-12-31 23:59:59.0")
answers = {expression: value(expression) for expression in (
    f"date_trunc('second', {old})", f"toStartOfSecond({old})", f"CAST({old} AS DateTime64(0, 'UTC'))",
    f"date_trunc('second', {old}) > {old}", f"date_trunc('day', {last})", f"date_trunc('day', {before})",
    f"toUnixTimestamp64Milli({last})", f"toUnixTimestamp64Second({last})",
    f"toStartOfInterval({old}, interval 1 second)")}
for expression, answer in answers.items():
    print(expression, answer)
assert list(answers.values()) == [
    "1960-01-01 00:00:01", "1960-01-01 00:00:00.000", "1960-01-01 00:00:01", "1",
    "1970-01-01 00:00:00", "1969-12-31 00:00:00", "-500", "0", "1970-01-01 00:00:00"]
END
env/bin/python finding.py
