"""RDDs are freed when Python drops them: loops of any length, and what other RDDs still need."""

import gc
import threading
import unittest

from test_context import Base, context


def operators(sc):
    """How many operators of the library are alive; there may be 16,384."""
    sc._open()  # frees what was dropped
    made = 0
    kept = []
    try:
        while True:
            kept.append(sc.range(1))
            made += 1
    except Exception as error:
        if getattr(error, "code", None) != "E0404":
            raise
    return 16_384 - made


class Lifetimes(Base):
    def test_dropped_rdds_are_freed(self):
        with context(master="local[1]") as sc:
            for _ in range(20_000):  # more than there may be at a time
                sc.range(10)
            kept = sc.range(10).zipWithIndex().distinct().sortByKey()
            for _ in range(50):
                pairs = sc.parallelize([(1, 2), (1, 3)])
                joined = pairs.join(pairs).distinct().subtractByKey(pairs.reduceByKey("sum_i64"))
                self.assertEqual(joined.count(), 0)
                halves = pairs.intersection(pairs).randomSplit([1, 1])
                self.assertEqual(sum(half.count() for half in halves), 2)
            del pairs, joined, halves
            gc.collect()
            self.assertLess(operators(sc), 20)
            self.assertEqual(kept.count(), 10)
            del kept
            self.assertEqual(operators(sc), 0)

    def test_what_is_needed_is_kept(self):
        with context() as sc:
            numbers = sc.range(10, numSlices=2).cache()
            self.assertEqual(numbers.count(), 10)
            pairs = numbers.zipWithIndex()
            rows = pairs.toLocalIterator()
            self.assertEqual(next(rows), (0, 0))
            del numbers, pairs
            gc.collect()
            self.assertEqual(sc.range(3).count(), 3)
            self.assertEqual(list(rows), [(i, i) for i in range(1, 10)])
            self.assertEqual(sc.range(5).union(sc.range(2)).distinct().count(), 5)

    def test_dropped_by_another_thread_and_inside_an_action(self):
        with context() as sc:
            some = [sc.range(10) for _ in range(100)]
            thread = threading.Thread(target=some.clear)
            thread.start()
            thread.join()
            self.assertEqual(some, [])
            held = [sc.range(3)]
            sc.range(5).collectEach(lambda _: held.clear())
            self.assertEqual(operators(sc), 0)

    def test_errors_leave_nothing(self):
        with context() as sc:
            words = sc.parallelize([("a", "b")])
            for _ in range(100):
                self.fails("E0401", lambda: words.distinct().reduceByKey("sum_i64"))
                self.fails("E0401", lambda: words.join(sc.range(3)))
            self.assertEqual(operators(sc), 1)

    def test_long_loops(self):
        """Each iteration needs the one before; all together have more operators than there may be,
        and those of the last ones only are alive."""
        ones = [(i % 3, 1) for i in range(6)]
        with context(master="local[1]") as sc:
            counts = step = sc.parallelize(ones)
            for i in range(6_000):
                counts = counts.union(step).reduceByKey("sum_i64", 1).cache()
                self.assertEqual(counts.count(), 3)
            self.assertEqual(sorted(counts.collect()), [(key, 12_002) for key in range(3)])
            self.assertLess(operators(sc), 500)

    def test_large_unions(self):
        with context() as sc:
            numbers = sc.union(sc.parallelize([i]) for i in range(3_000))
            self.assertEqual(numbers.collect(), list(range(3_000)))
            self.assertEqual(numbers.getNumPartitions(), 3_000)
            with self.assertRaisesRegex(ValueError, "needs an RDD"):
                sc.union([])


if __name__ == "__main__":
    unittest.main()
