#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0, Java 17 (Python 3.11). Source: run on 2026-11-30; its docstring of RDD.histogram: "The buckets are all open to
# the right except for the last which is closed", [1,10,20,50] means [1,10) [10,20) [20,50].
# Guess: a value that equals the left edge of a bucket of the list is in that bucket.
# Behaviour: 0.3 of [0.0, 0.1, 0.2, 0.3, 0.4] is counted in [0.2, 0.3): for edges that look equally far apart it divides instead of looking.
# Ten values 0.0 to 0.9 in ten such buckets give 1, 1, 2, 0, 1, 2, 1, 0, 1, 1. With a further edge at 7 0.3 is in [0.3, 0.4).
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyspark==4.3.0
cat >finding.py <<'END'
from pyspark import SparkConf, SparkContext

sc = SparkContext(conf=SparkConf().setMaster("local[1]").set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false"))
sc.setLogLevel("OFF")
edges = [0.0, 0.1, 0.2, 0.3, 0.4]
equal = sc.parallelize([0.3]).histogram(edges)[1]
unequal = sc.parallelize([0.3]).histogram(edges + [7.0])[1]
tens = sc.parallelize([k / 10 for k in range(10)]).histogram([k / 10 for k in range(11)])[1]
integers = sc.parallelize(range(0, 11)).histogram([0, 2, 4, 6, 8, 10])[1]
print(equal, unequal, tens, integers)
assert equal == [0, 0, 1, 0] and unequal == [0, 0, 0, 1, 0]
assert tens == [1, 1, 2, 0, 1, 2, 1, 0, 1, 1]
assert integers == [2, 2, 2, 2, 3]
END
env/bin/python finding.py
