#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0, Java 17 (Python 3.11). Source: run on 2026-11-30; the reference of percentile_approx: "the smallest value in the ordered
# col values (sorted from least to greatest) such that no more than percentage of col values is less than the value".
# Guess: what it returns is a value of the column, and it has the column's type, so that ids, decimals and times are exact.
# Behaviour: it goes through a double: of the one value 2^53 + 1 the percentile is 2^53, of the decimal 12345678901234567890.12 it is
# 12345678901234567000.00, and of 2300-01-01 00:00:00.000001 midnight. min, max and mode are exact. unix_timestamp rounds seconds before
# 1970 towards it, and unix_seconds and a cast to BIGINT round down: 0 and -1 half a second before.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyspark==4.3.0
cat >finding.py <<'END'
import datetime as dt
from decimal import Decimal

from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.ui.showConsoleProgress", "false").config("spark.sql.session.timeZone", "UTC").getOrCreate())
spark.sparkContext.setLogLevel("OFF")


def row(columns, value):
    return tuple(spark.sql(f"select {columns} from values ({value}) as t(x)").collect()[0])


columns = "percentile_approx(x, 0.5), percentile_approx(x, array(0, 1)), min(x), mode(x)"
long = row(columns, f"{2**53 + 1}L")
decimal = row(columns, "12345678901234567890.12BD")
time = row("cast(percentile_approx(x, 0.5) as string), cast(min(x) as string)", "timestamp'2300-01-01 00:00:00.000001'")
seconds = row("unix_timestamp(x), to_unix_timestamp(x), unix_seconds(x), cast(x as bigint)", "timestamp'1969-12-31 23:59:59.5'")
print(long, decimal, time, seconds, sep="\n")
assert long == (2**53, [2**53, 2**53], 2**53 + 1, 2**53 + 1)
assert decimal[0] == Decimal("12345678901234567000.00") and decimal[2] == decimal[3] == Decimal("12345678901234567890.12")
assert time == ("2300-01-01 00:00:00", "2300-01-01 00:00:00.000001")
assert seconds == (0, 0, -1, -1)
END
env/bin/python finding.py
