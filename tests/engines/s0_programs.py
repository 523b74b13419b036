#!/usr/bin/env python3
"""The four PySpark programs of a published project on Bloom filters in MapReduce (docs/papers.md, s0), written after its
text, for tests/engines/spark --bench: the baseline of glint's jobs inside Spark.

    s0_programs.py MASTER split INPUT TRAIN TEST
    s0_programs.py MASTER count TRAIN OUTPUT
    s0_programs.py MASTER build P TRAIN COUNTS OUTPUT
    s0_programs.py MASTER test P TEST FILTERS COUNTS OUTPUT

Several programs run in one application, with `+` between their words.

COUNTS are lines of RATING TAB COUNT; FILTERS is the output of `build`, a file of pickled pairs.
"""
import math
import sys

import mmh3
from pyspark import SparkConf, SparkContext


def rating_of(line):
    return int(float(line.split("\t")[1]) + 0.5)


def split(sc, dataset, train, test):
    lines = sc.textFile(dataset)
    header = lines.first()
    first, second = lines.filter(lambda line: line != header).randomSplit([0.6, 0.4])
    first.saveAsTextFile(train)
    second.saveAsTextFile(test)


def count(sc, train, output):
    sc.textFile(train) \
        .map(lambda line: (rating_of(line), 1)) \
        .reduceByKey(lambda a, b: a + b) \
        .map(lambda pair: f"{pair[0]}\t{pair[1]}") \
        .saveAsTextFile(output)


def sizes_of_filters(sc, counts, p):
    return dict(sc.textFile(counts)
                .map(lambda line: line.split("\t")[0:2])
                .map(lambda words: (int(words[0]), math.ceil(-int(words[1]) * math.log(p) / math.log(2) ** 2)))
                .collect())


def number_of_hashes(p):
    return math.ceil(-math.log(p) / math.log(2))


def rating_and_indexes(line, sizes, hashes):
    """The pair that both programs map a line to: its rating, and the bits of its id."""
    name, rating = line.split("\t")[0:2]
    rating = int(float(rating) + 0.5)
    size = sizes.get(rating)
    if size is None:
        return rating, []
    return rating, [mmh3.hash(name, seed) % size for seed in range(hashes)]


def extend_list(first, second):
    first.extend(second)
    return first


def generate_filter(indexes, size):
    if size is None:
        return []
    bits = [False for _ in range(size)]
    for index in indexes:
        bits[index] = True
    return bits


def build(sc, p, train, counts, output):
    hashes = sc.broadcast(number_of_hashes(float(p)))
    sizes = sc.broadcast(sizes_of_filters(sc, counts, float(p)))
    sc.textFile(train) \
        .map(lambda line: rating_and_indexes(line, sizes.value, hashes.value)) \
        .reduceByKey(extend_list) \
        .map(lambda pair: (pair[0], generate_filter(pair[1], sizes.value.get(pair[0])))) \
        .saveAsPickleFile(output)


def false_positive(indexes, bits):
    for index in indexes:
        if not bits[index]:
            return 0
    return 1


def test(sc, p, lines, filters, counts, output):
    hashes = sc.broadcast(number_of_hashes(float(p)))
    sizes = sc.broadcast(sizes_of_filters(sc, counts, float(p)))
    bits = sc.broadcast(dict(sc.pickleFile(filters).collect()))
    sc.textFile(lines) \
        .map(lambda line: rating_and_indexes(line, sizes.value, hashes.value)) \
        .map(lambda pair: (pair[0], [false_positive(pair[1], bits.value[pair[0]]), 1])) \
        .reduceByKey(lambda first, second: [x + y for x, y in zip(first, second)]) \
        .map(lambda pair: (pair[0], (pair[1][0], pair[1][1], pair[1][0] / pair[1][1]))) \
        .saveAsTextFile(output)


def main():
    master, *words = sys.argv[1:]
    sc = SparkContext(conf=SparkConf().setMaster(master).setAppName(f"s0 {words[0]}"))
    while words:
        end = words.index("+") if "+" in words else len(words)
        program, *arguments = words[:end]
        {"split": split, "count": count, "build": build, "test": test}[program](sc, *arguments)
        words = words[end + 1:]
    sc.stop()


if __name__ == "__main__":
    main()
