"""What type checkers accept: the common calls, and annotations as of PySpark's classes."""

from __future__ import annotations

from operator import add
from typing import Optional

import glint
from glint.pyspark import (RDD, Accumulator, AccumulatorParam, Broadcast, SparkConf, SparkContext,
                           SparkFiles, StorageLevel, TaskContext)
from glint.pyspark.errors import PythonException


class Vectors(AccumulatorParam[list[float]]):
    def zero(self, value: list[float]) -> list[float]:
        return [0.0] * len(value)

    def addInPlace(self, value1: list[float], value2: list[float]) -> list[float]:
        return [a + b for a, b in zip(value1, value2)]


def words_of(lines: RDD[str]) -> RDD[str]:
    return lines.flatMap(lambda line: line.split(" ")).filter(lambda word: word != "")


def counts_of(words: RDD[str]) -> RDD[tuple[str, int]]:
    return words.map(lambda word: (word, 1)).reduceByKey(add)


def longest(words: RDD[str]) -> Optional[str]:
    return None if words.isEmpty() else words.max(key=len)


def numbers(sc: SparkContext) -> list[float]:
    rdd: RDD[int] = sc.parallelize([1, 2, 3], 2)
    halves = rdd.map(lambda x: x / 2)
    some: list[float] = halves.collect()
    first: float = halves.first()
    total: int = rdd.reduce(lambda a, b: a + b)
    count: int = rdd.count()
    stats = rdd.stats()
    bounds, buckets = rdd.histogram(2)
    print(stats.mean(), rdd.sum(), rdd.mean(), rdd.stdev(), bounds, buckets, rdd.fold(0, add),
          rdd.aggregate((0, 0), lambda a, x: (a[0] + x, a[1] + 1),
                        lambda a, b: (a[0] + b[0], a[1] + b[1])),
          rdd.treeReduce(add), rdd.takeOrdered(2, key=lambda x: -x), rdd.top(1), rdd.take(2),
          rdd.takeSample(False, 2, 1), rdd.countByValue(), rdd.glom().collect(), rdd.min(), first,
          rdd.zipWithIndex().collect(), rdd.sample(False, 0.5, seed=3).collect(), total, count)
    rdd.foreach(print)
    rdd.foreachPartition(lambda items: print(sum(items)))
    for x in rdd.toLocalIterator():
        some.append(float(x))
    a, b = rdd.randomSplit([0.5, 0.5], 7)
    both = a.union(b).distinct().subtract(a).intersection(b).cartesian(rdd)
    print(both.count(), rdd.mapPartitions(lambda items: [sum(items)]).collect(),
          rdd.mapPartitionsWithIndex(lambda i, items: ((i, x) for x in items)).collect())
    return some


def pairs(sc: SparkContext) -> dict[str, int]:
    left = sc.parallelize([("a", 1), ("b", 2)])
    right = sc.parallelize([("a", "x")])
    for key, (number, text) in left.join(right).collect():
        print(key, number + 1, text.upper())
    print(left.leftOuterJoin(right).collect(), left.cogroup(right).mapValues(len).collect(),
          left.groupByKey().mapValues(list).collect(), left.sortByKey(False).keys().collect(),
          left.aggregateByKey(0, add, add).collect(), left.foldByKey(0, add).values().sum(),
          left.combineByKey(lambda v: [v], lambda c, v: [*c, v], lambda c, d: c + d).collect(),
          left.sortBy(lambda pair: pair[1], ascending=False).take(1), left.lookup("a"),
          left.countByKey(), left.partitionBy(3).getNumPartitions(), left.flatMapValues(range),
          left.subtractByKey(right).collect(), left.groupBy(lambda pair: pair[1] % 2).count())
    return left.collectAsMap()


def shared(sc: SparkContext) -> None:
    table: Broadcast[dict[str, int]] = sc.broadcast({"a": 1})
    seen: Accumulator[int] = sc.accumulator(0)
    vector = sc.accumulator([0.0, 0.0], Vectors())

    def look_up(word: str) -> int:
        seen.add(1)
        context = TaskContext.get()
        assert context is not None
        return table.value.get(word, 0) + context.partitionId()

    rdd = sc.parallelize(["a", "b"]).map(look_up).persist(StorageLevel.MEMORY_AND_DISK)
    rdd.setName("looked up").checkpoint()
    print(rdd.collect(), seen.value, vector.value, rdd.id(), rdd.name(), SparkFiles.get("f"))
    rdd.unpersist()


def columns(sc: SparkContext) -> None:
    rows = sc.parquet("visits.parquet", columns=["country", "seconds"])
    print(rows.mapBatches(lambda batch: batch, format="numpy").toPandas(), rows.toArrow())


def by_name() -> int:
    with glint.Context("local[2]", memory="1G", overwrite=True) as sc:
        words = sc.textFile("books/").flatMap("split_words")
        counts = words.map("pair_with_one").reduceByKey("sum_i64")
        counts.saveAsTextFile("counts", compress=True)
        result = glint.run("wordcount", "books/", "counts", overwrite=True)
        return counts.count() + result.counters["rows read"]


if __name__ == "__main__":
    conf = SparkConf().setMaster("local[2]").setAppName("types").set("spark.ui.enabled", "false")
    with SparkContext(conf=conf) as context:
        lines = context.textFile("books/", 2)
        try:
            counts_of(words_of(lines)).coalesce(1).saveAsTextFile("counts")
        except PythonException as error:
            print(error, error.__cause__)
        print(longest(words_of(lines)), numbers(context), pairs(context))
        shared(context)
        columns(context)
