#!/usr/bin/env bash
# Version: PyPI pysail 0.7.2, pyspark-client 4.2.0, pandas 3.1.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; https://docs.lakesail.com/sail/latest/ (a drop-in
# replacement of Spark, by Spark Connect) and https://spark.apache.org/docs/latest/api/sql/ for what Spark gives (bround(2.5, 0) is 2; left of a length below 1 is
# empty; percentile_approx is the smallest value that ...; sums overflow with an error in ANSI mode).
# Guess: what Sail can run it answers as Spark does, and what it cannot is an error, as hash(null) is: "Unsupported data type in hasher".
# Behaviour: percentile_approx of 1, 2, 3 and 4 is 2.5 for 2; the sum of 2^63 - 1 and 1 is -2^63 for an error, while 1/0 is one; bround(2.5) is 3 for 2; left('abc', -1) is "ab" for
# ""; 1e10 and 1e-5 as texts are 10000000000.0 and 0.00001 for 1.0E10 and 1.0E-5; unix_seconds of half a second before 1970 is 0 for -1.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pysail==0.7.2 pyspark-client==4.2.0 pandas==3.1.1 pyarrow==26.0.1
env/bin/python - <<'PY'
import os

from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
spark = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()


def ask(query):
    try:
        got = str(spark.sql("select " + query).collect()[0][0])
    except Exception as error:
        got = "error: " + str(error).split("\n")[0]
    print(query, "is", got, flush=True)
    return got


assert ask("percentile_approx(x, 0.5) from values (1), (2), (3), (4) t(x)") == "2.5"
assert ask("sum(x) from values (9223372036854775807), (1) t(x)") == str(-2 ** 63)
assert ask("1/0").startswith("error") and ask("hash(null)").startswith("error")
assert float(ask("bround(2.5)")) == 3 and ask("left('abc', -1)") == "ab"
assert ask("cast(1e10D as string)") == "10000000000.0" and ask("cast(1e-5D as string)") == "0.00001"
assert ask("unix_seconds(timestamp'1969-12-31 23:59:59.5')") == "0"
print("as expected", flush=True)
os._exit(0)
PY
