#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0, Java 17 (Python 3.11). Source: run on 2026-11-29.
# Guess: hash() and xxhash64(), of which keys for buckets and fingerprints of rows are made, differ for rows that differ
# in a null or in how arrays are nested, up to chance.
# Behaviour: a null leaves the hash as it is, in rows and in arrays: (1, null) and (null, 1) hash as (1), [1, null] as
# [1], [] and null as the seed, 42. Arrays and structs hash as their parts in a row: [[1], [2]] as [1, 2] and (1, 2).
# Types do not count where the bits are the same: true, 1 and 1970-01-02 hash alike; the integers 1 and 1L do not, nor do
# 1.1 and 1.10.
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
equal = [("1, null", "1"), ("null, 1", "1"), ("array(1, null)", "array(1)"), ("array(array(1), array(2))", "array(1, 2)"),
         ("array(1, 2)", "1, 2"), ("struct(1, 2)", "1, 2"), ("true", "1"), ("date'1970-01-02'", "1")]
other = [("1L", "1"), ("1.10BD", "1.1BD"), ("'ab', 'c'", "'a', 'bc'")]
for name in ("hash", "xxhash64"):
    same = [spark.sql(f"select {name}({a}) = {name}({b})").collect()[0][0] for a, b in equal + other]
    empty = spark.sql(f"select {name}(null), {name}(array())").collect()[0]
    print(name, {f"{a} | {b}": s for (a, b), s in zip(equal + other, same)}, "null and []:", tuple(empty))
    assert same == [True] * len(equal) + [False] * len(other) and tuple(empty) == (42, 42)
spark.stop()
PY
