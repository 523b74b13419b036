#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0, Java 17 (Python 3.11). Source: run on 2026-11-30; its docstring of RDD.sortByKey:
# keyfunc is "a function to compute the key", with str.lower as example.
# Guess: sortByKey(keyfunc=f) works for every f, in any number of partitions, which are about equal.
# Behaviour: the bounds of the partitions are keys, and what is compared with them is f(key). In one partition all is
# well. In several, f of another type than the keys, such as len of texts, ends the job with a TypeError; and of
# f(k) = -k all pairs come into one partition. sortBy(lambda kv: f(kv[0])) does neither.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyspark==4.3.0
venv/bin/python - <<'PY'
from pyspark import SparkConf, SparkContext

sc = SparkContext(conf=SparkConf().setMaster("local[2]").setAppName("finding").set("spark.ui.enabled", "false")
                  .set("spark.log.level", "OFF").set("spark.ui.showConsoleProgress", "false"))
def sizes(rdd):
    return [len(part) for part in rdd.glom().collect()]

pairs = sc.parallelize([(k, None) for k in range(1, 101)], 2)
by_key = pairs.sortByKey(True, 4, lambda k: -k)
seen = sizes(by_key), sizes(pairs.sortBy(lambda kv: -kv[0], numPartitions=4))
print("100 pairs by -k in 4 partitions: sortByKey", seen[0], "sortBy", seen[1])
assert by_key.keys().collect() == list(range(100, 0, -1))
assert sorted(seen[0]) == [0, 0, 0, 100] and max(seen[1]) < 50
texts = sc.parallelize([("a" * n, n) for n in (3, 1, 2, 5, 4)], 2)
assert texts.sortByKey(True, 1, len).values().collect() == [1, 2, 3, 4, 5]
assert texts.sortBy(lambda kv: len(kv[0]), numPartitions=2).values().collect() == [1, 2, 3, 4, 5]
try:
    texts.sortByKey(True, 2, len).collect()
except Exception as error:
    assert "TypeError: '<' not supported between instances of 'str' and 'int'" in str(error)
    print("texts by len in 2 partitions: TypeError")
else:
    raise SystemExit("sortByKey by len is no error")
sc.stop()
PY
