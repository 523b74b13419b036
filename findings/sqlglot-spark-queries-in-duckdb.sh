#!/usr/bin/env bash
# Version: PyPI sqlglot 30.30.0, duckdb 2.0.1 (Python 3.11). Source: run on 2026-11-30; https://spark.apache.org/docs/latest/api/sql/ (dayofweek: 1 is
# Sunday; weekday: 0 is Monday; percentile interpolates; array_distinct keeps a null; left of a length below 1 is empty) for what Spark gives.
# Guess: a query transpiled from Spark to DuckDB gives what Spark gives, or sqlglot says with unsupported_level=RAISE that it cannot.
# Behaviour: div, %, slice, datediff and sort_array are rewritten where needed. Without a word these are not: cast(2.9 as int) is 3 for 2, and cast('2.9' as
# int), too; dayofweek of a Sunday 0 for 1, though it is rewritten for Trino; weekday of a Monday 1 for 0; percentile(x, 0.5) of 1 and 2 1 for 1.5, as
# QUANTILE takes a value that is there; substring('abc', 0, 2) "a" for "ab"; left('abc', -1) "ab" for ""; array_distinct loses a null; kurtosis is that of
# a sample, 3.228 for -0.770.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install sqlglot==30.30.0 duckdb==2.0.1
cat >finding.py <<'END'
import duckdb
import sqlglot


def run(query):
    text, = sqlglot.transpile("select " + query, read="spark", write="duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE)
    return duckdb.execute(text).fetchall()[0][0]


right = {"-7 div 2": -3, "-7 % 2": -1, "slice(array(1, 2, 3, 4), 2, 2)": [2, 3], "datediff(date'2020-01-02', date'2020-01-01')": 1,
         "sort_array(array(2, null, 1))": [None, 1, 2], "median(x) from values (1), (2) t(x)": 1.5}
other = {"cast(2.9 as int)": 3, "cast('2.9' as int)": 3, "dayofweek(date'2026-11-29')": 0, "weekday(date'2026-11-30')": 1,
         "percentile(x, 0.5) from values (1), (2) t(x)": 1, "substring('abc', 0, 2)": "a", "left('abc', -1)": "ab",
         "array_distinct(array(1, null, null))": [1], "round(kurtosis(x), 3) from values (1), (2), (3), (10) t(x)": 3.228}
numbers = [1, 2, 3, 10]
mean = sum(numbers) / 4
moments = [sum((x - mean) ** power for x in numbers) / 4 for power in (2, 4)]
print("as Spark:", {query: run(query) for query in right})
print("not:", {query: run(query) for query in other}, "kurtosis of Spark", moments[1] / moments[0] ** 2 - 3)
assert {query: run(query) for query in right} == right and {query: run(query) for query in other} == other
assert round(moments[1] / moments[0] ** 2 - 3, 3) == -0.77
assert "% 7" in sqlglot.transpile("select dayofweek(d)", read="spark", write="trino")[0]
END
env/bin/python finding.py
