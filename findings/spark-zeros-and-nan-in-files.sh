#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0 (parquet-java 1.17.0, orc-core 2.3.0), Java 17, pyarrow 26.0.1 (Python 3.11). Source: run on
# 2026-11-29; for Spark 0.0 equals -0.0, and NaN is equal to itself and greater than all numbers.
# Guess: where() finds the same rows in a file as in memory; at least in files that Spark wrote.
# Behaviour: x = 0.0 does not find -0.0 in Spark's own Parquet file if the column has a dictionary, nor in its own ORC
# file with a Bloom filter; without them, or with filterPushdown off, it does. Of pyarrow's Parquet file with NaN, whose
# bounds leave NaN out as the format asks, x > 5 and x = NaN give no row. 1969-12-31 23:59:59.5 in Spark's own ORC file is
# read back a second later.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyspark==4.3.0 pyarrow==26.0.1
venv/bin/python - <<'PY'
import pyarrow as pa, pyarrow.parquet as pq
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
         .config("spark.ui.showConsoleProgress", "false")
         .config("spark.sql.session.timeZone", "UTC").config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC").getOrCreate())
rows = spark.sql("select id, if(id % 2 = 0, double('-0.0'), 3.0D) x from range(1000)").coalesce(1)
rows.write.option("parquet.enable.dictionary", "true").parquet("dictionary.parquet")
rows.write.option("parquet.enable.dictionary", "false").parquet("plain.parquet")
rows.write.option("orc.bloom.filter.columns", "x").orc("bloom.orc")
rows.write.orc("plain.orc")
t = pa.table({"id": [1, 2], "x": [1.0, float("nan")]})
pq.write_table(t, "nan.parquet")

def count(path, where):
    return spark.read.format(path.split(".")[1]).load(path).where(where).count()

names = ("dictionary.parquet", "plain.parquet", "bloom.orc", "plain.orc")
zeros = {"memory": rows.where("x = 0.0D").count(), **{n: count(n, "x = 0.0D") for n in names}}
nan = [count("nan.parquet", w) for w in ("x > 5", "x = double('NaN')", "isnan(x)")]
spark.conf.set("spark.sql.parquet.filterPushdown", "false")
spark.conf.set("spark.sql.orc.filterPushdown", "false")
off = {n: count(n, "x = 0.0D") for n in names}
nan_off = [count("nan.parquet", w) for w in ("x > 5", "x = double('NaN')", "isnan(x)")]
spark.sql("select timestamp'1969-12-31 23:59:59.5' t union all select timestamp'1969-12-31 23:59:58.5'").coalesce(1).write.orc("t.orc")
times = sorted(r[0] for r in spark.read.orc("t.orc").selectExpr("cast(t as string)").collect())
print("rows with x = 0.0:", zeros, "| without push-down:", off, "\nx > 5, x = NaN, isnan:", nan, "without:", nan_off, "\ntimes:", times)
assert set(off.values()) == {500} and nan_off == [1, 1, 1]
assert zeros == {"memory": 500, "dictionary.parquet": 0, "plain.parquet": 500, "bloom.orc": 0, "plain.orc": 500}
assert nan == [0, 0, 1] and times == ["1969-12-31 23:59:58.5", "1970-01-01 00:00:00.5"]
spark.stop()
PY
