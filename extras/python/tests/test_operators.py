"""Sources, samples, statistics and pairs of elements in glint.Context, beside plain Python."""

import functools
import math
import os
import random
import statistics
import tempfile
import unittest

from glint._names import NAMES
from test_context import Base, context


class Operators(Base):
    def test_ranges_and_pairs_of_elements(self):
        with context() as sc:
            for bounds in ((5,), (3, 9), (3, 20, 4), (5, -6, -2), (0, 0)):
                self.assertEqual(sc.range(*bounds).collect(), list(range(*bounds)))
            numbers = sc.range(10, numSlices=3)
            words = sc.parallelize([f"w{i}" for i in range(10)], 3)
            self.assertEqual(numbers.zip(words).collect(), [(i, f"w{i}") for i in range(10)])
            self.assertEqual(sc.range(2).cartesian(sc.range(3)).collect(),
                             [(a, b) for a in range(2) for b in range(3)])
            self.assertEqual(numbers.glom().collect(), [(0, 1, 2), (3, 4, 5), (6, 7, 8, 9)])
            self.assertEqual(dict(numbers.zipWithUniqueId().collect()),
                             {i: k * 3 + p for p, part in enumerate(numbers.glom().collect())
                              for k, i in enumerate(part)})
            self.assertEqual(list(numbers.toLocalIterator()), list(range(10)))
            pairs = words.zipWithIndex()
            self.assertEqual(pairs.zip(numbers).collect(), [((f"w{i}", i), i) for i in range(10)])
            self.assertEqual(sc.range(2).cartesian(pairs).take(2), [(0, ("w0", 0)), (0, ("w1", 1))])
            for column in (range(10_000), [f"w{i}" * (i % 9) for i in range(10_000)],
                           [i / 7 for i in range(10_000)], [b"x" * (i % 3) for i in range(10_000)],
                           [(f"k{i}", i) for i in range(10_000)]):
                rdd = sc.parallelize(column, 2)
                self.assertEqual(list(rdd.toLocalIterator()), list(column))
            few = words.toLocalIterator()
            self.assertEqual((next(few), next(few)), ("w0", "w1"))
        with context() as sc:
            self.fails("E0403", lambda: sc.range(3).zip(sc.range(4)).collect())

    def test_reducers_by_name(self):
        """Each reduces what its type is as its function of Python does."""
        columns = {"i64": [i * 7 % 11 - 3 for i in range(40)], "text": [f"{i}" for i in range(40)],
                   "f64": [i * 7 % 11 / 4 - 1 for i in range(40)]}
        with context() as sc:
            for name, function in NAMES["reduce"].items():
                column = columns.get(name.rpartition("_")[2], columns["f64"])
                wanted = functools.reduce(function, column)
                for slices in (1, 3):
                    rdd = sc.parallelize(column, slices)
                    self.assertEqual((rdd.reduce(name), rdd.treeReduce(name)), (wanted,) * 2, name)
                    pairs = sc.parallelize([("k", x) for x in column], slices)
                    self.assertEqual(pairs.reduceByKey(name).collect(), [("k", wanted)], name)
                    self.assertEqual(pairs.reduceByKeyLocally(name), {"k": wanted}, name)

    def test_persisted_and_named(self):
        with context() as sc:
            for level in ("memory", "disk", "both"):
                rdd = sc.range(100, numSlices=4).zipWithIndex().setName(f"on {level}")
                rdd.persist(level)
                hits = sc.counter("cache hits")
                self.assertEqual((rdd.count(), rdd.collect()), (100, [(i, i) for i in range(100)]))
                self.assertEqual(sc.counter("cache hits") - hits, 4)
                self.assertIs(rdd.unpersist(), rdd)
                self.assertEqual(rdd.cache().count(), 100)
            self.assertRaises(ValueError, rdd.persist, "tape")
        with context() as sc:
            self.fails("E0403", lambda: sc.range(3).setName("").collect())

    def test_checkpoint(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "saved")
            with context() as sc:
                saved = sc.range(100, numSlices=4).checkpoint(path)
                self.assertIn("_SUCCESS", os.listdir(path))
                self.assertEqual((saved.collect(), saved.getNumPartitions()), (list(range(100)), 4))
                self.fails("E0301", lambda: saved.checkpoint(path))

    def test_whole_files(self):
        text, data = self.write("a", "one\ntwo\n"), self.work / "b"
        data.write_bytes(bytes(range(200)))
        with context() as sc:
            self.assertEqual(sc.wholeTextFiles(text).collect(), [(str(text), "one\ntwo\n")])
            self.assertEqual(sc.binaryFiles([data]).collect(), [(str(data), bytes(range(200)))])
            records = sc.binaryRecords(data, 50).collect()
            self.assertEqual(records, [bytes(range(i, i + 50)) for i in range(0, 200, 50)])

    def test_samples(self):
        with context() as sc:
            numbers = sc.range(1000, numSlices=4)
            self.assertEqual(len(set(numbers.takeSample(False, 100, seed=3))), 100)
            self.assertEqual(len(numbers.takeSample(True, 3000, seed=3)), 3000)
            twice = numbers.sample(True, 2, seed=1)
            self.assertTrue(1800 < twice.count() < 2200)
            parts = numbers.randomSplit([1, 3], seed=2)
            self.assertCountEqual(parts[0].collect() + parts[1].collect(), range(1000))
            pairs = sc.parallelize([(i % 2, i) for i in range(1000)], 3)
            kept = pairs.sampleByKey(False, {0: 0.0, 1: 1.0}).values().collect()
            self.assertEqual(kept, list(range(1, 1000, 2)))
            with self.assertRaises(TypeError):
                pairs.sampleByKey(False, {"0": 1.0})

    def test_sums_are_exact(self):
        drawn = random.Random(3)
        numbers = [drawn.randrange(-(1 << 63), 1 << 63) for _ in range(5000)]
        with context() as sc:
            for column in ([1 << 62] * 4, [(1 << 63) - 1, 1], [-(1 << 63)] * 3, [-1, 0, 1], [-1],
                           numbers, [abs(number) - 1 for number in numbers]):
                for partitions in (1, 3):
                    self.assertEqual(sc.parallelize(column, partitions).sum(), sum(column))
            self.assertEqual(sc.parallelize([("a", 1 << 62)] * 9).sum(), 9 << 62)
            self.assertEqual(sc.parallelize([]).sum(), 0)
            huge = sc.parallelize([("a", 1 << 62), ("a", 1 << 61)] * 2, 2)
            self.fails("E0504", lambda: huge.reduceByKey("sum_i64").collect())
            self.fails("E0504", lambda: huge.values().reduce("sum_i64"))
            self.assertEqual(sc.parallelize([1.5, -0.25]).sum(), 1.25)

    def test_statistics(self):
        values = [random.Random(5).gauss(10, 3) for _ in range(1000)]
        with context() as sc:
            numbers = sc.parallelize(values, 7)
            stats = numbers.stats()
            self.assertEqual((stats.count(), stats.min(), stats.max()),
                             (1000, min(values), max(values)))
            for got, expected in ((numbers.mean(), statistics.fmean(values)),
                                  (numbers.variance(), statistics.pvariance(values)),
                                  (numbers.stdev(), statistics.pstdev(values)),
                                  (numbers.sampleVariance(), statistics.variance(values)),
                                  (numbers.sampleStdev(), statistics.stdev(values)),
                                  (stats.sum(), math.fsum(values))):
                self.assertAlmostEqual(got, expected, 9)
            ints = sc.range(51, numSlices=3)
            self.assertEqual(ints.histogram(2), ([0, 25, 50], [25, 26]))
            self.assertEqual(ints.histogram([0, 5, 25, 50]), ([0, 5, 25, 50], [5, 20, 26]))
            for bad in (0, [1], [2, 1], [0, 2**53 + 1]):
                with self.assertRaises(ValueError):
                    ints.histogram(bad)
            for call in ("stats", "mean"):
                with self.assertRaisesRegex(TypeError, "int or float"):
                    getattr(sc.parallelize(["a"]), call)()
            self.assertEqual((ints.reduce("max_i64"), ints.treeReduce("sum_i64")), (50, 1275))
            self.assertEqual(sc.range(100, numSlices=50).treeReduce("sum_i64", 3), 4950)
            pairs = sc.parallelize([(i % 3, i) for i in range(10)], 3)
            self.assertEqual(pairs.reduceByKeyLocally("sum_i64"), {0: 18, 1: 12, 2: 15})
            self.assertTrue(970 < sc.range(1000, numSlices=3).countApproxDistinct() < 1030)
            for call in (lambda rdd: rdd.reduce("sum_i64"), lambda rdd: rdd.histogram(2)):
                with self.assertRaisesRegex(ValueError, "the RDD is empty"):
                    call(sc.range(0))

    def test_histograms_are_those_of_pyspark(self):
        def expected(values, count):
            """rdd.histogram(count) of PySpark 3.5."""
            numbers = [value for value in values if value == value]
            least, greatest = min(numbers), max(numbers)
            if count == 1 or least == greatest:
                return [least, greatest], [len(numbers)]
            width = int((greatest - least) / count)
            if width * count != greatest - least:
                width = float(greatest - least) / count
            counts = [0] * count
            for value in numbers:
                counts[min(int((value - least) / width), count - 1)] += 1
            return [i * width + least for i in range(count)] + [greatest], counts

        drawn = random.Random(7)
        with context() as sc:
            for _ in range(300):
                base = drawn.choice([0, -5, 2**53, 2**60 + 3, -(2**63)])
                spread = 2 ** drawn.randrange(1, 62)
                values = [base + drawn.randrange(spread) for _ in range(drawn.randrange(1, 60))]
                kind = drawn.randrange(3)
                if kind == 1:
                    values = [float(value) for value in values] + [math.nan]
                elif kind == 2:
                    unit = 2.0 ** drawn.randrange(-60, 60)
                    values = [(1 + drawn.randrange(40) * 2.0**-52) * unit for _ in values]
                count = drawn.randrange(1, 12)
                bounds, counts = sc.parallelize(values, drawn.randrange(1, 5)).histogram(count)
                wanted = expected(values, count)
                self.assertEqual((bounds, counts), wanted)
                self.assertEqual(list(map(type, bounds)), list(map(type, wanted[0])))
            edges = [bound * 2**58 - below for bound in range(1, 6)
                     for below in (0, 1, 31, 32, 33, 64, 200)]
            self.assertEqual(sc.parallelize([0] + edges, 2).histogram(5), expected([0] + edges, 5))
            with self.assertRaisesRegex(ValueError, "only NaN"):
                sc.parallelize([math.nan]).histogram(2)
            self.fails("E0104", lambda: sc.parallelize([math.inf, 1.0]).histogram(2))
            self.assertEqual(sc.parallelize([3, 3]).histogram(4), ([3, 3], [2]))


if __name__ == "__main__":
    unittest.main()
