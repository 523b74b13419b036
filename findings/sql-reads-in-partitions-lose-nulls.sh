#!/usr/bin/env bash
# Version: PyPI connectorx 0.4.6, polars 2.1.0, dask 2026.8.0, SQLAlchemy 2.1.9, pyarrow 25.0.1 (Python 3.11; SQLite of Python). Source: run on 2026-11-30;
# https://docs.pola.rs/api/python/stable/reference/api/polars.read_database_uri.html (partition_on: the column on which to partition the result) and
# https://sfu-db.github.io/connector-x/api.html.
# Guess: a read in partitions gives the rows of the query, only in parallel; a null of the column goes to one of the partitions, as in Spark's JDBC reader.
# Behaviour: rows whose column is null are in no partition, as each one is x >= a AND x < b: of 110 rows 100 come back, with one partition, too, and 110 without
# partition_on. So it is in connectorx, polars.read_database_uri and dask's read_sql_table, without a word.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install connectorx==0.4.6 polars==2.1.0 "dask[dataframe]"==2026.8.0 sqlalchemy==2.1.9 pandas==3.1.1 pyarrow==25.0.1
env/bin/python - <<'PY'
import os
import sqlite3

import connectorx
import dask.dataframe
import polars

with sqlite3.connect("a.db") as store:
    store.execute("create table t(id integer, v text)")
    store.executemany("insert into t values(?, ?)", [(i, str(i)) for i in range(100)] + [(None, "no id")] * 10)
path, query = "sqlite://" + os.path.abspath("a.db"), "select * from t"
got = {}
for parts in 0, 1, 4:
    how = {"partition_on": "id", "partition_num": parts} if parts else {}
    got["connectorx", parts] = connectorx.read_sql(path, query, return_type="arrow", **how).num_rows
    got["polars", parts] = polars.read_database_uri(query, path, **how).height
got["dask", 4] = len(dask.dataframe.read_sql_table("t", "sqlite:///a.db", "id", npartitions=4).compute(scheduler="sync"))
print(got, flush=True)
for (_, parts), rows in got.items():
    assert rows == (100 if parts else 110)
os._exit(0)
PY
