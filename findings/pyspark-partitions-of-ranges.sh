#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0, Java 17 (Python 3.11). Source: run on 2026-11-30; its documentation says that the
# function of RDD.mapPartitions gets an iterator.
# Guess: zip(it, it) pairs the elements of a partition, and next(it) takes its first, whatever the RDD was made of.
# Behaviour: of a range, which parallelize and SparkContext.range take, the function gets a range, not an iterator:
# zip(it, it) pairs each element with itself, and next(it) is a TypeError. After a map it gets an iterator.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyspark==4.3.0
venv/bin/python - <<'PY'
from pyspark import SparkConf, SparkContext

sc = SparkContext(conf=SparkConf().setMaster("local[1]").setAppName("finding").set("spark.ui.enabled", "false")
                  .set("spark.log.level", "OFF").set("spark.ui.showConsoleProgress", "false"))
def pairs(rdd):
    return rdd.mapPartitions(lambda it: zip(it, it)).collect()

numbers = sc.parallelize(range(4), 1)
print("zip(it, it):", pairs(numbers), "after map:", pairs(numbers.map(lambda x: x)))
assert pairs(numbers) == pairs(sc.range(4, numSlices=1)) == [(0, 0), (1, 1), (2, 2), (3, 3)]
assert pairs(numbers.map(lambda x: x)) == pairs(sc.parallelize([0, 1, 2, 3], 1)) == [(0, 1), (2, 3)]
try:
    numbers.mapPartitions(lambda it: [next(it)]).collect()
except Exception as error:
    assert "TypeError: 'range' object is not an iterator" in str(error)
    print("next(it): TypeError")
else:
    raise SystemExit("next of a range is no error")
sc.stop()
PY
