#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0, Java 17 (Python 3.11). Source: run on 2026-11-29; its docstring of RDD.repartition:
# "increase the level of parallelism", with a "random shuffle".
# Guess: 20 elements in 4 partitions are about 5 each.
# Behaviour: elements travel in pickles of 10, and pickles are dealt out from a place that depends on the partition alone:
# 20 elements of 2 partitions all come into one of 4, 10 of one partition into one of 10, each time. A DataFrame's
# repartition gives 4, 6, 6 and 4 rows.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyspark==4.3.0
venv/bin/python - <<'PY'
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
         .config("spark.ui.showConsoleProgress", "false").getOrCreate())
sc = spark.sparkContext

def sizes(rdd):
    return [len(part) for part in rdd.glom().collect()]

seen = [sizes(sc.parallelize(range(n), a).repartition(b)) for n, a, b in ((20, 2, 4), (10, 1, 10), (100, 2, 4))]
frame = sizes(spark.range(20, numPartitions=2).repartition(4).rdd)
print("20 in 4, 10 in 10, 100 in 4 partitions:", seen, "| a DataFrame's 20 in 4:", frame)
assert sorted(seen[0]) == [0, 0, 0, 20] and sorted(seen[1]) == [0] * 9 + [10] and all(n % 10 == 0 for n in seen[2])
assert max(frame) < 10 and sum(frame) == 20
spark.stop()
PY
