#!/usr/bin/env bash
# Version: PyPI polars 2.1.0, datafusion 55.0.0, pyarrow 25.0.1, chdb 4.4.0 (ClickHouse 26.9), duckdb 2.0.1, whenever 0.11.0 (Python 3.11). Source: run on 2026-11-30;
# https://www.rfc-editor.org/rfc/rfc3339#section-5.7 (time-second may be 60 at the end of months in which a leap second occurs).
# Guess: 2016-12-31T23:59:60Z is refused, or by all that take it it is the first second of 2017, as POSIX time has it; a time of day 23:59:60 is refused.
# Behaviour: Polars, DataFusion, pyarrow's strptime and ClickHouse have 2017-01-01T00:00:00, in another year's partition than the text; whenever has 23:59:59, a
# second that was there before, so that the two rows are equal; DuckDB has null by try_cast. As a time of day DataFusion makes 23:59:60 00:00:00, the first of the
# day, and Polars null. Polars' CSV reader infers times with it, pyarrow's texts.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install polars==2.1.0 datafusion==55.0.0 pyarrow==25.0.1 pandas==3.1.1 chdb==4.4.0 duckdb==2.0.1 whenever==0.11.0
env/bin/python - <<'PY'
import datetime
import os

import chdb
import duckdb
import polars
import pyarrow
import pyarrow.compute
import pyarrow.csv
import whenever
from datafusion import SessionContext

plain, zoned = "2016-12-31T23:59:60", "2016-12-31T23:59:60Z"
open("t.csv", "w").write(f"t\n2016-12-31T23:59:59\n{plain}\n")
engine = SessionContext()
got = {
    "polars": polars.Series([plain]).str.to_datetime()[0], "polars csv": polars.read_csv("t.csv", try_parse_dates=True)["t"][1],
    "datafusion": engine.sql(f"select cast('{zoned}' as timestamp) as t").to_pydict()["t"][0].replace(tzinfo=None).to_pydatetime(),
    "pyarrow": pyarrow.compute.strptime(pyarrow.array([plain]), format="%Y-%m-%dT%H:%M:%S", unit="s")[0].as_py(),
    "clickhouse": datetime.datetime.fromisoformat(str(chdb.query(f"select parseDateTimeBestEffort('{zoned}', 'UTC')", "TSV")).strip()),
}
rest = {"duckdb": duckdb.sql(f"select try_cast('{plain}' as timestamp)").fetchall()[0][0], "whenever": str(whenever.Instant.parse_iso(zoned)),
        "pyarrow csv": str(pyarrow.csv.read_csv("t.csv").schema.field("t").type),
        "datafusion time": engine.sql("select cast('23:59:60' as time) as t").to_pydict()["t"][0],
        "polars time": polars.Series(["23:59:60"]).str.to_time("%H:%M:%S", strict=False)[0]}
print(got, rest, flush=True)
assert set(got.values()) == {datetime.datetime(2017, 1, 1)}
assert rest == {"duckdb": None, "whenever": "2016-12-31T23:59:59Z", "pyarrow csv": "string", "datafusion time": datetime.time(0), "polars time": None}
os._exit(0)
PY
