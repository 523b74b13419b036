"""What PySpark 4.3.0 gave for programs that its documentation does not decide."""

from __future__ import annotations

import collections
import operator
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any

from glint.pyspark import SparkContext
from glint.pyspark.errors import PythonException
from test_spark import WithContext

Named = collections.namedtuple("Named", "x y")


class NoPickle:
    def __reduce__(self) -> Any:
        return 1 // 0


class Never:
    def __iter__(self) -> Any:
        raise AssertionError("a job looked at it again")


class Checkpoints(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.mkdtemp()
        self.sc: Any = SparkContext("local[2]", "tests")
        self.sc.setCheckpointDir(os.path.join(self.directory, "checkpoints"))
        self.computed = self.sc.accumulator(0)

    def tearDown(self) -> None:
        self.sc.stop()
        shutil.rmtree(self.directory)

    def marked(self) -> Any:
        computed = self.computed

        def count(x: int) -> int:
            computed.add(1)
            return x

        rdd = self.sc.parallelize(range(10), 3).map(count)
        rdd.checkpoint()
        return rdd

    def test_by_a_job_of_a_descendant(self) -> None:
        """After it, so the elements are computed twice; what the job made reads them then."""
        rdd = self.marked()
        sums = rdd.map(lambda x: (x % 2, x)).reduceByKey(operator.add)
        texts = rdd.map(str)
        self.assertFalse(rdd.isCheckpointed())
        for _ in range(2):
            self.assertEqual(sorted(sums.collect()), [(0, 20), (1, 25)])
            self.assertTrue(rdd.isCheckpointed())
            self.assertEqual(self.computed.value, 20)
        self.assertEqual((texts.count(), self.computed.value), (10, 20))
        shutil.rmtree(rdd.getCheckpointFile())
        with self.assertRaisesRegex(PythonException, "FileNotFoundError"):
            texts.count()

    def test_jobs_of_all_kinds(self) -> None:
        for job in (lambda r: r.count(), lambda r: r.take(1), lambda r: r.foreach(str),
                    lambda r: r.map(str).sortBy(len), lambda r: r.zipWithIndex(),
                    lambda r: r.union(r).cartesian(r).count(), lambda r: r.repartition(2).sum(),
                    lambda r: r.map(str).saveAsTextFile(os.path.join(self.directory, "text"))):
            rdd = self.marked()
            job(rdd)
            self.assertTrue(rdd.isCheckpointed())
            self.assertEqual((rdd.getNumPartitions(), rdd.collect()), (3, list(range(10))))

    def test_the_nearest_only(self) -> None:
        far = self.marked()
        near = far.map(lambda x: x + 1)
        near.checkpoint()
        self.assertEqual(near.union(near).count(), 20)
        self.assertEqual((far.isCheckpointed(), near.isCheckpointed()), (False, True))

    def test_not_after_another_job(self) -> None:
        """A job looks at each RDD that it computes once: what is marked later it does not save."""
        plain = self.sc.parallelize(range(4), 2)
        for first, then, saved in (
                (lambda r: r.count(), lambda r: r.count(), True),
                (lambda r: r.collect(), lambda r: (r.collect(), r.count()), False),
                (lambda r: r.cache().count(), lambda r: r.count(), False),
                (lambda r: r.union(r).count(), lambda r: r.count(), False),
                (lambda r: list(r.toLocalIterator()), lambda r: r.count(), True),
                (lambda r: None, lambda r: list(r.toLocalIterator()), False),
                (lambda r: r.getNumPartitions(), lambda r: r.isEmpty(), True)):
            rdd = plain.map(abs)
            first(rdd)
            rdd.checkpoint()
            then(rdd)
            self.assertEqual(rdd.isCheckpointed(), saved)

    def test_looks_no_further_than_new_rdds(self) -> None:
        """Else each step of a loop would cost more than the one before."""
        waiting, rdd = self.marked(), self.sc.parallelize(range(10), 2)
        for _ in range(3):
            rdd = rdd.map(abs).cache()
            rdd.count()
            rdd._reads = Never()
        self.assertFalse(waiting.isCheckpointed())

    def test_not_by_a_job_that_fails(self) -> None:
        rdd = self.marked()
        with self.assertRaises(PythonException):
            rdd.map(lambda x: 1 // x).count()
        self.assertFalse(rdd.isCheckpointed())

    def test_of_what_is_persisted(self) -> None:
        rdd = self.marked().cache()
        self.assertEqual((rdd.map(str).count(), rdd.isCheckpointed()), (10, True))
        self.assertEqual((rdd.sum(), self.computed.value), (45, 10))


class Shuffles(WithContext):
    def test_are_computed_once(self) -> None:
        """However many jobs and RDDs read them."""
        computed = self.sc.accumulator(0)

        def pair(x: int) -> tuple[int, int]:
            computed.add(1)
            return x % 3, x

        pairs = self.sc.parallelize(range(10), 2).map(pair)
        for read, shuffled in ((10, pairs.reduceByKey(operator.add)), (10, pairs.partitionBy(2)),
                               (10, pairs.groupByKey()), (20, pairs.join(pairs)),
                               (10, pairs.keys().distinct()), (10, pairs.repartition(3))):
            computed.value = 0
            texts = shuffled.map(str)
            elements = [shuffled.map(repr).count(), texts.count(), shuffled.count()]
            self.assertEqual(elements, [len(shuffled.collect())] * 3)
            self.assertEqual(shuffled.filter(lambda _: True).union(texts).count(), 2 * elements[0])
            self.assertEqual(computed.value, read)

    def test_a_long_lineage_needs_no_deep_stack(self) -> None:
        sums = self.sc.parallelize([(1, 1), (2, 1)], 1)
        for _ in range(400):
            sums = sums.reduceByKey(operator.add, 1)
        self.assertEqual(sums.getNumPartitions(), 1)

    def test_after_a_job_that_failed_in_it(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "now")

            def pair(x: int) -> tuple[int, int]:
                os.stat(path)
                return x % 2, x

            sums = self.sc.parallelize(range(4), 2).map(pair).reduceByKey(operator.add)
            for _ in range(2):
                with self.assertRaisesRegex(PythonException, "FileNotFoundError"):
                    sums.count()
            os.mkdir(path)
            self.assertEqual(sorted(sums.collect()), [(0, 2), (1, 4)])

    def test_functions_see_what_they_refer_to(self) -> None:
        """As it is when an RDD is first computed."""
        some = [1]
        lengths = self.sc.parallelize([0], 1).map(lambda _: len(some))
        self.assertEqual(lengths.collect(), [1])
        some.append(2)
        self.assertEqual((lengths.collect(), lengths.map(abs).collect()), ([1], [2]))


class Values(WithContext):
    def test_pickle_files_by_pattern(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            for i in range(2):
                self.sc.parallelize([i], 1).saveAsPickleFile(f"{directory}/{i}")
            for paths in (f"{directory}/*", f"{directory}/0,{directory}/1",
                          f"file:{directory}/[01]/part-*"):
                self.assertEqual(self.sc.pickleFile(paths).collect(), [0, 1])
            with self.assertRaises(FileNotFoundError):
                self.sc.pickleFile(f"{directory}/3*")

    def test_lists_and_named_tuples_become_pairs(self) -> None:
        """In a shuffle of pairs as they are."""
        rdd = self.sc.parallelize([Named(1, 2), [3, 4], "ab"], 2)
        for shuffled in (rdd.partitionBy(2), rdd.filter(lambda x: x != "ab").sortByKey()):
            for pair in shuffled.collect():
                self.assertIs(type(pair), tuple)

    def test_foreach_partition_runs_a_generator(self) -> None:
        added = self.sc.accumulator(0)

        def each(items: Any) -> Any:
            for x in items:
                added.add(x)
                yield x

        self.sc.parallelize([1, 2, 3], 2).foreachPartition(each)
        self.assertEqual(added.value, 6)
        self.sc.parallelize([1, 2, 3], 2).foreachPartition(lambda items: 5)

    def test_what_is_a_line(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            for text, lines in ((b"a\rb\r\nc\n\r\nd", ["a", "b", "c", "", "d"]),
                                (b"a\r\r\nb", ["a", "", "b"]), (b"a\nb\r", ["a", "b"]),
                                (b"a\r\n\rb\r\r", ["a", "", "b", ""]), (b"\r", [""]),
                                (b"a\0\n\0", ["a\0", "\0"])):
                with open(os.path.join(directory, "lines"), "wb") as file:
                    file.write(text)
                self.assertEqual(self.sc.textFile(directory, 1).collect(), lines)
                self.assertEqual(self.sc.textFile(directory, 1, False).collect(),
                                 [line.encode() for line in lines])

    def test_empty_files(self) -> None:
        """They have no partition."""
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "empty"), "wb"):
                pass
            lines = self.sc.textFile(directory)
            pairs = lines.map(lambda x: (x, 1))
            one = self.sc.parallelize(["a"], 1)
            self.assertEqual((lines.getNumPartitions(), lines.union(lines).getNumPartitions(),
                              lines.countApproxDistinct(), lines.treeAggregate(7, max, max)),
                             (0, 0, 0, 7))
            self.assertEqual(lines.union(one).coalesce(1).zipWithIndex().collect(), [("a", 0)])
            for empty in (pairs.reduceByKey(operator.add), pairs.groupByKey(), pairs.sortByKey(),
                          pairs.partitionBy(2), pairs.join(pairs), pairs.subtractByKey(pairs),
                          lines.zip(lines), lines.zipWithIndex(), lines.zipWithUniqueId(),
                          lines.distinct(), lines.intersection(one), lines.cartesian(one)):
                self.assertEqual(empty.collect(), [])
            for call in (lines.first, lines.max, lambda: lines.treeReduce(max)):
                with self.assertRaisesRegex(ValueError, "empty RDD|RDD is empty"):
                    call()

    def test_no_partitions(self) -> None:
        empty, one = self.sc.emptyRDD(), self.sc.parallelize([("a", 1), ("b", 2)], 2)
        counts = [rdd.getNumPartitions() for rdd in (
            empty, empty.map(abs), empty.union(empty), empty.union(one), one.union(empty),
            empty.reduceByKey(operator.add), empty.groupByKey(3), empty.distinct(),
            empty.repartition(2), empty.coalesce(2), empty.join(empty), empty.join(one),
            empty.partitionBy(2), empty.map(lambda x: (x, 1)).sortByKey())]
        self.assertEqual(counts, [0, 0, 0, 2, 2, 0, 3, 0, 2, 0, 0, 2, 2, 0])
        self.assertEqual((empty.glom().collect(), empty.fold(5, max), empty.takeOrdered(2),
                          empty.groupByKey(3).collect(), empty.partitionBy(2).glom().collect()),
                         ([], 5, [], [], [[], []]))
        for call in (empty.max, empty.stats, lambda: empty.top(2), empty.countByValue,
                     lambda: empty.reduceByKeyLocally(max), lambda: empty.histogram([0, 1])):
            with self.assertRaisesRegex(ValueError, r"Can not reduce\(\) empty RDD"):
                call()

    def test_union_of_what_is_partitioned_alike(self) -> None:
        """Each partition with the same one of the others."""
        def by(key: int) -> int:
            return key

        pairs = [(i, i) for i in range(6)]
        a = self.sc.parallelize(pairs, 3).partitionBy(2, by)
        b = self.sc.parallelize(pairs[:3], 2).mapValues(str).partitionBy(2, by)
        both = [[(0, 0), (2, 2), (4, 4), (0, "0"), (2, "2")], [(1, 1), (3, 3), (5, 5), (1, "1")]]
        twice = [part + part[3:] for part in both]
        for union, parts in ((a.union(b), both), (a.cache() + b, both),
                             (a.union(b).union(b), twice), (self.sc.union([a, b, b]), twice),
                             (a.union(b).mapValues(lambda v: v), both)):
            self.assertEqual(union.glom().collect(), parts)
            self.assertEqual(union.partitioner, a.partitioner)
        self.assertEqual(a.union(b).join(a).getNumPartitions(), 2)
        self.assertEqual(self.sc.parallelize("abcdefab", 3).sortBy(ord, True, 2).glom().collect(),
                         [["a", "a", "b", "b", "c"], ["d", "e", "f"]])
        ranges = self.sc.parallelize(pairs, 3).sortByKey(numPartitions=2)
        self.assertEqual(ranges.union(ranges.mapValues(str)).getNumPartitions(), 2)
        for other in (a.map(lambda pair: pair), b.partitionBy(2, lambda key: 0), b.partitionBy(3),
                      self.sc.parallelize(pairs, 2), ranges):
            union = a.union(other)
            self.assertIsNone(union.partitioner)
            self.assertEqual(union.getNumPartitions(), 2 + other.getNumPartitions())

    def test_joins_need_two_of_each_element(self) -> None:
        longer, text = self.sc.parallelize([("a", 1, 2), ["b", 3]], 2), self.sc.parallelize(["ab"])
        self.assertEqual(sorted(longer.leftOuterJoin(text).collect()),
                         [("a", (1, "b")), ("b", (3, None))])
        with self.assertRaisesRegex(PythonException, "too many values to unpack"):
            longer.groupByKey().collect()

    def test_as_dict_of_a_sample_is_the_default(self) -> None:
        stats = self.sc.parallelize([1.0, 2.0, 3.0, 4.0]).stats()
        self.assertEqual((stats.asDict()["variance"], stats.asDict(sample=True)["variance"]),
                         (stats.sampleVariance(), stats.variance()))
        self.assertEqual(stats.variance(), 1.25)

    def test_a_sort_looks_at_a_sample(self) -> None:
        """Of what functions of single elements read; then they run once for each element."""
        n, calls = 40_000, self.sc.accumulator(0)

        def call(x: int) -> int:
            calls.add(1)
            return x * 7919 % n

        rdd = self.sc.range(0, n, 1, 4).map(call)
        by = rdd.sortBy(lambda x: x)
        self.assertLess(calls.value, n // 4)
        before = calls.value
        self.assertEqual(by.collect(), list(range(n)))
        self.assertEqual(calls.value - before, n)
        few = rdd.filter(lambda x: x % 1000 == 0).sortBy(lambda x: -x)
        self.assertEqual(few.collect(), list(range(n - 1000, -1, -1000)))
        for size in few.glom().map(len).collect():  # of a sample of what the filter leaves
            self.assertLess(abs(size - 10), 4)
        words = rdd.flatMap(lambda x: [(x, "b"), (-x, "a")]).sortByKey(False, 3)
        self.assertEqual(words.keys().collect(), [*range(n - 1, 0, -1), 0, 0, *range(-1, -n, -1)])
        for size in words.glom().map(len).collect():
            self.assertLess(abs(size - n * 2 // 3), n // 6)

    def test_indexes_of_what_is_sorted(self) -> None:
        """The sizes of partitions need no function of elements, and no sort."""
        n, calls = 3000, self.sc.accumulator(0)
        by = self.sc.parallelize(range(n), 3).map(lambda i: (i * 7 % n, [i], str(i))) \
            .sortBy(lambda t: t[2])

        def call(t: Any) -> Any:
            calls.add(1)
            return t[2]

        indexed = by.map(call).zipWithIndex()
        self.assertEqual(calls.value, 0)
        self.assertEqual(indexed.collect(), [(text, i) for i, text in
                                             enumerate(sorted(map(str, range(n))))])
        self.assertEqual(calls.value, n)
        self.assertEqual(by.filter(lambda t: t[0] % 2).flatMap(lambda t: t[:1] * 2).zipWithIndex()
                         .values().collect(), list(range(n)))
        self.assertEqual(by.map(lambda t: (t[0] % 5, t[2])).partitionBy(4).zipWithIndex()
                         .values().collect(), list(range(n)))

    def test_a_sort_by_a_random_key_keeps_its_order(self) -> None:
        by = self.sc.parallelize(range(1000), 3).sortBy(lambda _: random.random())
        once = by.collect()
        self.assertEqual(sorted(once), list(range(1000)))
        self.assertEqual(by.collect(), once)


class Start(unittest.TestCase):
    def test_cloudpickle_without_what_it_rarely_needs(self) -> None:
        """What those modules do with it is the same."""
        program = """
import subprocess
import sys
from glint._pickling import load_cloudpickle
print(load_cloudpickle().__name__, {"inspect", "traceback"} & set(sys.modules))
import dataclasses, logging
@dataclasses.dataclass
class Point:
    x: int = 1
print(Point.__doc__, dataclasses.inspect.__name__)
try:
    1 // 0
except ZeroDivisionError:
    logging.basicConfig(stream=sys.stdout, format="%(message)s")
    logging.exception("failed")
import inspect, traceback
print(inspect.getfile(inspect) == inspect.__file__, callable(traceback.print_exc))
"""
        done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True,
                              check=False, env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:3] + lines[-2:], [
            "cloudpickle set()", "Point(x: int = 1) inspect", "failed",
            "ZeroDivisionError: integer division or modulo by zero", "True True"])


class Errors(WithContext):
    def test_what_cannot_be_pickled(self) -> None:
        rdd, lock = self.sc.parallelize([1], 1), threading.Lock()
        for call, what in (
                (lambda: rdd.map(lambda x: lock).collect(), "object: TypeError"),
                (lambda: rdd.map(lambda x: rdd).collect(), "object: PySparkRuntimeError"),
                (lambda: self.sc.broadcast(x for x in []), "broadcast: TypeError"),
                (lambda: self.sc.broadcast(rdd), "broadcast: PySparkRuntimeError"),
                (lambda: self.sc.parallelize([lock]), "object: TypeError")):
            with self.assertRaisesRegex(pickle.PicklingError, f"Could not serialize {what}"):
                call()
        with self.assertRaisesRegex(PythonException, "serialize object: TypeError: .*generator"):
            rdd.map(lambda x: (y for y in [x])).collect()
        with self.assertRaisesRegex(pickle.PicklingError, "object: ZeroDivisionError"):
            self.sc.parallelize([NoPickle()])

    def test_whole_files_of_nested_directories(self) -> None:
        """Are not read; lines of them are an error."""
        with tempfile.TemporaryDirectory() as directory:
            os.makedirs(os.path.join(directory, "nested", "more"))
            for name in ("a", "nested/b", "nested/more/c"):
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(name)
            for read in (self.sc.wholeTextFiles, self.sc.binaryFiles):
                self.assertEqual([os.path.basename(path) for path in read(directory).keys()
                                  .collect()], ["a"])
                self.assertEqual(sorted(os.path.basename(path) for path in read(directory + "/*")
                                        .keys().collect()), ["a", "b"])
            with self.assertRaisesRegex(Exception, "nested directory"):
                self.sc.textFile(directory).count()

    def test_a_sort_into_one_partition_needs_no_pairs(self) -> None:
        some = [(2, "b", "x"), (1, "a", "y"), (3,)]
        self.assertEqual(self.sc.parallelize(some, 1).sortByKey().collect(), sorted(some))
        self.assertEqual(self.sc.parallelize(some, 2).sortByKey(False, 1).collect(),
                         sorted(some, reverse=True))
        with self.assertRaisesRegex(PythonException, "too many values"):
            self.sc.parallelize(some, 2).sortByKey().collect()

    def test_other_than_an_rdd(self) -> None:
        rdd = self.sc.parallelize([(1, 2)])
        for call in (lambda: rdd + [1], lambda: rdd.union([1]), lambda: rdd.cartesian([1]),
                     lambda: rdd.join([(1, 2)], 2), lambda: rdd.cogroup([(1, 2)], 2)):
            with self.assertRaisesRegex(TypeError, "an RDD is needed, not list"):
                call()

    def test_a_context_has_no_jvm(self) -> None:
        for name in ("_jsc", "_jvm", "_gateway"):
            with self.assertRaisesRegex(NotImplementedError, f"SparkContext.{name} is not part .* "
                                        "environment"):
                getattr(self.sc, name)

    def test_what_a_context_says_of_itself(self) -> None:
        shown = self.sc._repr_html_()
        self.assertIn(f"<code>v{self.sc.version}</code>", shown)
        self.assertNotIn("href", shown)
        self.assertEqual((self.sc.sparkHome, self.sc.pythonExec, self.sc.environment),
                         (None, sys.executable, {}))
        self.assertEqual(self.sc.pythonVer, "%d.%d" % sys.version_info[:2])
        self.assertEqual(type(self.sc.serializer).__name__, "CPickleSerializer")
        self.sc.setLogLevel("warn")
        with self.assertRaisesRegex(ValueError, "INFO"):
            self.sc.setLogLevel("NOPE")

    def test_accumulators(self) -> None:
        added = self.sc.accumulator(0)
        with self.assertRaisesRegex(PythonException, "VALUE_NOT_ACCESSIBLE"):
            self.sc.parallelize([1], 1).map(lambda x: added.value).collect()
        with self.assertRaises(TypeError):
            self.sc.accumulator("a")


if __name__ == "__main__":
    unittest.main()
