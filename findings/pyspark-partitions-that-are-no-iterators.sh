#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0, Java 17 (Python 3.11). Source: run on 2026-11-30; the type of RDD.mapPartitions' f is
# Callable[[Iterator[T]], Iterable[U]].
# Guess: f gets an iterator: next(it) works, and zip(it, it) makes pairs of neighbours.
# Behaviour: f gets what the function before it has returned. Of sc.parallelize(range(...)) that is a range: next(it) is a
# TypeError, zip(it, it) pairs each element with itself, and a second pass sees all again. A list in place of the range, or a
# cache() before f, gives an iterator.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyspark==4.3.0
venv/bin/python - <<'PY'
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext

sc = SparkContext("local[1]", conf=SparkConf().set("spark.ui.enabled", "false").set("spark.log.level", "OFF")
                  .set("spark.ui.showConsoleProgress", "false"))
numbers = sc.parallelize(range(4), 1)
values = sc.parallelize([0, 1, 2, 3], 1)

def pairs(rdd):
    return rdd.mapPartitions(lambda it: zip(it, it)).collect()

def first(rdd):
    try:
        return rdd.mapPartitions(lambda it: [next(it)]).collect()
    except Py4JJavaError as error:
        assert "is not an iterator" in str(error)
        return "not an iterator"

seen = {"range": numbers, "list": values, "range, cached": sc.parallelize(range(4), 1).cache(),
        "list of a function": values.mapPartitions(lambda it: list(it))}
seen = {name: (pairs(rdd), first(rdd)) for name, rdd in seen.items()}
print(*seen.items(), sep="\n")
same, neighbours = ([(i, i) for i in range(4)], "not an iterator"), ([(0, 1), (2, 3)], [0])
assert seen["range"] == seen["list of a function"] == same
assert seen["list"] == seen["range, cached"] == neighbours
sc.stop()
PY
