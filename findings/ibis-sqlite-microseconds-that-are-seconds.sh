#!/usr/bin/env bash
# Version: PyPI ibis-framework 12.0.0 with SQLite of Python 3.11, duckdb 1.4.4, polars 1.37.1. Source: run on 2026-11-30; https://ibis-project.org/backends/support/matrix (the
# operations below are said to be supported) and https://ibis-project.org/reference/expression-temporal.
# Guess: SQLite has no types of time, so that Ibis refuses what it cannot do there, as it does with to_timestamp, and answers the rest as elsewhere.
# Behaviour: of a time, microsecond() is the second, 59 for 59.5; of 03.999999 millisecond() is 0, microsecond() 4 and epoch_seconds() the next second, while second() is 3. cast("int64")
# is the year. strftime with %B is null, and s.startswith("%") and s.endswith("_") are true, as patterns. epoch_seconds() of half a second before 1970 is 0 in DuckDB, -1 in
# the others.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install "ibis-framework[sqlite,duckdb,polars]==12.0.0" duckdb==1.4.4 polars==1.37.1 pandas==2.3.3 pyarrow==26.0.1
env/bin/python -W ignore - <<'PY'
import ibis
import pandas as pd

backends = {"sqlite": ibis.sqlite.connect(), "duckdb": ibis.duckdb.connect(), "polars": ibis.polars.connect()}


def ask(name, expression):
    got = {backend: connection.execute(expression) for backend, connection in backends.items()}
    got = {backend: None if pd.isna(value) else value for backend, value in got.items()}
    print(name, got)
    return list(got.values())


time, half = ibis.timestamp("2020-01-05 01:02:03.999999"), ibis.timestamp("1969-12-31 23:59:59.500")
assert ask("second", time.second()) == [3, 3, 3]
assert ask("millisecond", time.millisecond()) == [0, 999, 999]
assert ask("microsecond", time.microsecond()) == [4, 999999, 999999]
assert ask("microsecond of .5", half.microsecond()) == [59, 500000, 500000]
assert ask("epoch_seconds", time.epoch_seconds()) == [1578186124, 1578186123, 1578186123]
assert ask("epoch_seconds before 1970", half.epoch_seconds()) == [-1, 0, -1]
assert ask("strftime", time.strftime("%Y %B")) == [None, "2020 January", "2020 January"]
assert ask("startswith", ibis.literal("abc").startswith("%")) == [True, False, False]
assert ask("endswith", ibis.literal("abc").endswith("_")) == [True, False, False]
assert backends["sqlite"].execute(time.cast("int64")) == 2020
PY
