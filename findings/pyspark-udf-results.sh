#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0, Java 17 (Python 3.11), with spark.sql.execution.pythonUDF.arrow.enabled=false. Source: run on 2026-11-30.
# Guess: a result of a UDF that its type cannot hold is null, as one of another type is, or an error.
# Behaviour: an integer wraps: 300 as TINYINT is 44, 2^31 as INT -2147483648, and 1e300 as FLOAT is infinity; but 1 as DOUBLE, True as INT and 2.0
# as BIGINT, which would fit, are null. createDataFrame with verifySchema=False wraps, too; by default it refuses 300.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyspark==4.3.0
cat >finding.py <<'END'
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.ui.showConsoleProgress", "false").config("spark.sql.execution.pythonUDF.arrow.enabled", "false").getOrCreate())
spark.sparkContext.setLogLevel("OFF")


def result(value, type_):
    return spark.range(1).select(udf(lambda _: value, type_)("id")).collect()[0][0]


wrapped = result(300, "tinyint"), result(2**31, "int"), result(2**63, "bigint"), result(1e300, "float")
null = result(1, "double"), result(True, "int"), result(2.0, "bigint"), result(1.7, "decimal(9,2)")
print(wrapped, null)
assert wrapped[:2] == (44, -2**31) and wrapped[3] == float("inf")
assert null == (None, None, None, None)
rows = spark.createDataFrame([(300,)], "a tinyint", verifySchema=False).collect()
print(rows)
assert rows[0].a == 44
try:
    spark.createDataFrame([(300,)], "a tinyint")
    raise AssertionError("300 is taken")
except Exception as error:
    assert "VALUE_OUT_OF_BOUNDS" in str(error)
END
env/bin/python finding.py
