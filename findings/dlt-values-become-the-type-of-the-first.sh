#!/usr/bin/env bash
# Version: PyPI dlt 1.31.0, duckdb 2.0.1 (Python 3.11). Source: run on 2026-11-30; https://dlthub.com/docs/general-usage/schema#variant-columns (a value that cannot be
# coerced goes to a variant column, such as v__v_text).
# Guess: a value of another type than the first one of its column goes to a variant column, or it is the same value in the type of the column.
# Behaviour: behind 5 the text "007" is 7 and "0x1f" is 31, while "1.5" goes to v__v_text. Behind a date a datetime loses its hours. Behind a datetime the integer 5 is
# 1970-01-01 00:00:05, and the text "5", too. Behind True 7 is True, but behind 1 True gets a column of its own. A decimal is cut to nine digits behind the point.
# Nothing tells.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install dlt==1.31.0 duckdb==2.0.1
env/bin/python - <<'PY'
import datetime
import decimal
import os

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
os.environ["DLT_DATA_DIR"] = os.path.abspath("state")
import dlt


def load(*rows):
    """The columns and rows of a new DuckDB that gets these rows."""
    name = f"p{len(os.listdir('.'))}"
    pipeline = dlt.pipeline(name, destination=dlt.destinations.duckdb(name + ".duckdb"), dataset_name="d")
    pipeline.run(list(rows), table_name="t")
    with pipeline.sql_client() as client, client.execute_query("select * exclude (_dlt_load_id, _dlt_id) from d.t") as result:
        got = [column[0] for column in result.description], result.fetchall()
    print(rows, "->", got)
    return got


day, noon, five = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 12), datetime.datetime(1970, 1, 1, 0, 0, 5)
assert load({"v": 5}, {"v": "007"}, {"v": "0x1f"}) == (["v"], [(5,), (7,), (31,)])
assert load({"v": 1}, {"v": "1.5"}) == (["v", "v__v_text"], [(1, None), (None, "1.5")])
assert load({"v": day}, {"v": noon}) == (["v"], [(day,), (day,)])
for number in 5, "5":
    assert load({"v": noon}, {"v": number})[1][1][0].replace(tzinfo=None) == five
assert load({"v": True}, {"v": 7}) == (["v"], [(True,), (True,)])
assert load({"v": 1}, {"v": True}) == (["v", "v__v_bool"], [(1, None), (None, True)])
assert load({"v": decimal.Decimal("0.12345678901234")})[1] == [(decimal.Decimal("0.123456789"),)]
PY
