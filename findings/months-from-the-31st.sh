#!/usr/bin/env bash
# Version: PyPI duckdb 2.0.1, datafusion 55.0.0, pandas 3.1.1, polars 2.1.0, pendulum 3.3.0, arrow 1.4.0, python-dateutil 2.9.0.post0, pyarrow 25.0.1 (Python 3.11). Source:
# run on 2026-11-30; https://duckdb.org/docs/stable/sql/functions/timestamp (generate_series with an INTERVAL), https://docs.pola.rs (date_range, "1mo").
# Guess: a series from the 31st of January by one month has the last day of each month, in all of them, as January + n months.
# Behaviour: DuckDB, DataFusion and pandas with DateOffset(months=1) add to the last date: 31, 29, 29, 29, 29 and 29, so that February decides the day of all later
# months; Polars, pendulum and arrow add to the first: 31, 29, 31, 30, 31 and 30; rrule skips months without a 31st. A calendar of billing days that one engine made
# does not join that of another.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install duckdb==2.0.1 datafusion==55.0.0 pandas==3.1.1 polars==2.1.0 pendulum==3.3.0 arrow==1.4.0 python-dateutil==2.9.0.post0 pyarrow==25.0.1
env/bin/python - <<'PY'
import datetime

import arrow
import duckdb
import pandas
import pendulum
import polars
from datafusion import SessionContext
from dateutil.rrule import MONTHLY, rrule

first, last = datetime.datetime(2020, 1, 31), datetime.datetime(2020, 6, 30)
series = "generate_series(timestamp '2020-01-31', timestamp '2020-06-30', interval '1 month')"
got = {
    "duckdb": [row[0] for row in duckdb.sql(f"select * from {series}").fetchall()],
    "datafusion": SessionContext().sql(f"select * from {series}").to_pydict()["value"],
    "pandas": pandas.date_range(first, last, freq=pandas.DateOffset(months=1)).tolist(),
    "polars": polars.datetime_range(first, last, "1mo", eager=True).to_list(),
    "pendulum": list(pendulum.interval(pendulum.instance(first), pendulum.instance(last)).range("months")),
    "arrow": list(arrow.Arrow.range("month", first, last)),
    "rrule": list(rrule(MONTHLY, dtstart=first, until=last)),
}
days = {name: [time.day for time in times] for name, times in got.items()}
print(days)
assert days["duckdb"] == days["datafusion"] == days["pandas"] == [31, 29, 29, 29, 29, 29]
assert days["polars"] == days["pendulum"] == days["arrow"] == [31, 29, 31, 30, 31, 30]
assert days["rrule"] == [31, 31, 31]
PY
