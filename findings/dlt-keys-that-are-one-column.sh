#!/usr/bin/env bash
# Version: PyPI dlt 1.31.0, duckdb 2.0.1 (Python 3.11). Source: run on 2026-11-30; https://dlthub.com/docs/general-usage/naming-convention (snake_case: names are
# normalized; nested fields are joined by two underscores).
# Guess: two keys of a row whose normalized names are equal are two columns, one of them with a suffix, as a value of another type gets, or an error.
# Behaviour: they are one column with the value of the last key, without an error: {"userId": 1, "user_id": 2} has 2 and the other way round 1; of "A" and "a", of
# "a-b" and "a.b", and of a nested {"a": {"b": 1}} beside "a__b" one value is lost, too: the nested one is kept. A text beside integers gets a column of its own, id__v_text.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install dlt==1.31.0 duckdb==2.0.1
env/bin/python - <<'PY'
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


assert load({"userId": 1, "user_id": 2}) == (["user_id"], [(2,)]) and load({"user_id": 2, "userId": 1}) == (["user_id"], [(1,)])
assert load({"A": 1, "a": 2}) == (["a"], [(2,)]) and load({"a-b": 1, "a.b": 2}) == (["a_b"], [(2,)])
assert load({"a": {"b": 1}, "a__b": 2}) == (["a__b"], [(1,)])
assert load({"id": 1}, {"id": "x"}) == (["id", "id__v_text"], [(1, None), (None, "x")])
PY
