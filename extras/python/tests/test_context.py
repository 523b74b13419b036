"""glint.Context with nothing installed but the wheel, compared with plain Python."""

import collections
import gc
import math
import operator
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import glint
import glint.pyspark.errors
from fifo import Fifo
from glint._values import unpack

SETTINGS = {"master": "local[2]", "memory": "256M", "no_sync": True}
ODD = ["", " ", "a", "a", "A", "\u00e9", "\U0001f600", "nul\0in it", "\udcff\udc80", "x" * 70_000,
       "tab\tand quote\"", "-0", "\r"]


def context(**settings):
    return glint.Context(**{**SETTINGS, **settings})


class Base(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = pathlib.Path(work.name)

    def write(self, name, text):
        path = self.work / name
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return path

    def text(self):
        drawn = random.Random(7)
        words = [f"w{drawn.randrange(400)}" for _ in range(20_000)]
        space = [" ", "  ", "\t", "\n", " \n\n"]
        return "".join(word + drawn.choice(space) for word in words)

    def fails(self, code, call):
        with self.assertRaises(glint.Error) as raised:
            call()
        self.assertEqual(raised.exception.code, code, raised.exception)
        return raised.exception


class Rows(Base):
    def test_values_return_as_they_were(self):
        columns = [
            ODD,
            [value.encode("utf-8", "surrogateescape") for value in ODD],
            [0, -1, (1 << 63) - 1, -(1 << 63)],
            [0.0, 0.1, -1e300, 5e-324, math.inf, -math.inf],
        ]
        with context() as sc:
            for column in columns:
                for partitions in (1, 3, 50):
                    rdd = sc.parallelize(column, partitions)
                    self.assertEqual(rdd.getNumPartitions(), partitions)
                    self.assertEqual(rdd.collect(), column)
            for keys in columns:
                for values in columns:
                    pairs = list(zip(keys, values))
                    self.assertEqual(sc.parallelize(pairs, 2).collect(), pairs)
            self.assertTrue(math.isnan(sc.parallelize([math.nan]).collect()[0]))
            self.assertEqual(sc.parallelize([]).collect(), [])
            self.assertEqual(sc.parallelize(str(i) for i in range(10_000)).collect(),
                             [str(i) for i in range(10_000)])

    def test_rows_of_other_types(self):
        with context() as sc:
            for rows in ([None], [True], [1, 2.0], ["a", b"a"], [("a", 1), "a"], ["a", ("a", 1)],
                         [("a", 1, 2)], [("a", 1), ("a", "b")], [[1, 2]], [("a", None)]):
                with self.subTest(rows), self.assertRaises(TypeError):
                    sc.parallelize(rows)
            for number in (1 << 63, -(1 << 63) - 1):
                with self.assertRaises(OverflowError):
                    sc.parallelize([number])
            self.assertEqual(sc.parallelize([1]).collect(), [1])  # the context is not affected

    def test_msgpack(self):
        cases = {
            b"\xc0": None, b"\x7f": 127, b"\xe0": -32, b"\xd0\x80": -128, b"\xcd\x01\x00": 256,
            b"\xcf" + b"\xff" * 8: (1 << 64) - 1, b"\xcb\x40\x04" + bytes(6): 2.5,
            b"\xa1\xff": "\udcff", b"\xc4\x02\0\xff": b"\0\xff", b"\xd9\x01a": "a",
            b"\x92\x01\x91\xc3": (1, (True,)), b"\x81\xa1a\x90": {"a": ()},
            b"\xdc\x00\x01\xc2": (False,),
        }
        for data, value in cases.items():
            self.assertEqual(unpack(data), value)
        for data in (b"\x01\x01", b"\xc1", b"\xd4\x01a"):
            with self.assertRaises(ValueError):
                unpack(data)


class Plans(Base):
    def test_word_count(self):
        """By a context, by a job, by Python."""
        path = self.write("text", self.text())
        expected = collections.Counter(path.read_text().split())
        with context() as sc:
            ones = sc.textFile(path).flatMap("split_words").map("pair_with_one")
            counts = ones.reduceByKey("sum_i64")
            self.assertEqual(dict(counts.collect()), expected)
            self.assertEqual(counts.collectAsMap(), expected)
            self.assertEqual(dict(ones.combineByKey("count").collect()), expected)
            self.assertEqual(ones.countByKey(), expected)
            self.assertEqual(ones.keys().countByValue(), expected)
            self.assertGreater(sc.counter("rows read"), 0)
            counts.saveAsTextFile(self.work / "a")
            counts.saveAsTextFile(self.work / "b", compress=True)
            self.assertEqual(sorted(sc.textFile(self.work / "a").collect()),
                             sorted(f"{word}\t{count}" for word, count in expected.items()))
            self.assertFalse((self.work / "a").exists())
        job = glint.run("wordcount", path, self.work / "c", master="local[2]")
        lines = list(job.outputs[0])
        self.assertEqual(list(glint.Output(self.work / "a")), lines)
        self.assertEqual(len(lines), len(expected))
        with context() as sc:
            self.assertEqual(sc.textFile(self.work / "b").collect(), lines)
            self.assertEqual(sc.key_value_text_file(self.work / "a").count(), len(expected))

    def test_joins(self):
        left = [("a", 1), ("b", 2), ("b", 3), ("\udcff", 4), ("", 5)]
        right = [("b", "x"), ("b", "\udc80"), ("c", ""), ("", "e")]
        inner = [(k, (v, w)) for k, v in left for j, w in right if k == j]
        only_left = [(k, (v, None)) for k, v in left if k not in dict(right)]
        only_right = [(k, (None, w)) for k, w in right if k not in dict(left)]
        with context() as sc:
            a, b = sc.parallelize(left, 3), sc.parallelize(right, 2)
            for got, expected in (
                (a.join(b), inner),
                (a.leftOuterJoin(b), inner + only_left),
                (a.rightOuterJoin(b), inner + only_right),
                (a.fullOuterJoin(b), inner + only_left + only_right),
            ):
                self.assertCountEqual(got.collect(), expected)
            self.assertEqual(a.subtractByKey(b).sortByKey().collect(), [("a", 1), ("\udcff", 4)])
            nested = a.join(b).join(sc.parallelize([("b", 0.5)]))
            self.assertCountEqual(nested.collect(), [("b", (v, 0.5)) for k, v in inner if k == "b"])

    def test_sets(self):
        a, b = [3, 1, 3, 2, -7], [3, 2, 2, 9]
        with context() as sc:
            x, y = sc.parallelize(a, 2), sc.parallelize(b, 2)
            self.assertEqual(x.union(y).collect(), a + b)
            self.assertEqual(sc.union([x, y, x]).collect(), a + b + a)
            self.assertCountEqual(x.distinct().collect(), set(a))
            self.assertCountEqual(x.intersection(y).collect(), {3, 2})
            self.assertCountEqual(x.subtract(y).collect(), [1, -7])
            self.assertEqual(x.zipWithIndex().collect(), [(v, i) for i, v in enumerate(a)])
            self.assertCountEqual(x.repartition(4).collect(), a)
            self.assertEqual(x.coalesce(1).getNumPartitions(), 1)
            half = sc.parallelize(range(10_000), 4).sample(False, 0.5, seed=3)
            self.assertEqual(half.collect(), half.collect())
            self.assertTrue(4500 < half.count() < 5500)

    def test_sort(self):
        drawn = random.Random(1)
        texts = [bytes(drawn.choices(b"ab\xc3\xa9\xff", k=drawn.randrange(5))) for _ in range(500)]
        columns = [[drawn.randrange(-50, 50) for _ in range(500)],
                   [drawn.uniform(-1, 1) for _ in range(500)], texts]
        with context() as sc:
            for column in columns:
                pairs = [(key, i) for i, key in enumerate(column)]
                for ascending in (True, False):
                    got = sc.parallelize(pairs, 3).sortByKey(ascending).withPartitions(3).collect()
                    wanted = sorted(pairs, key=lambda pair: pair[0], reverse=not ascending)
                    self.assertEqual(got, wanted)

    def test_numbers(self):
        lines = self.write("table", "id\tn\na\t1\nb\t2.5\na\t-3\n")
        with context() as sc:
            pairs = sc.textFile(lines, header=True).map("key_value").flatMapValues("parse_f64")
            self.assertCountEqual(pairs.reduceByKey("sum_f64").collect(), [("a", -2.0), ("b", 2.5)])
            self.assertEqual((pairs.sum(), pairs.values().sum()), (0.5, 0.5))
            numbers = sc.parallelize([5, -2, 9, 0], 3)
            self.assertEqual((numbers.sum(), numbers.min(), numbers.max()), (12, -2, 9))
            self.assertEqual((numbers.takeOrdered(2), numbers.top(3)), ([-2, 0], [9, 5, 0]))
            self.assertEqual((numbers.take(2), numbers.first()), ([5, -2], 5))
            self.assertEqual((numbers.isEmpty(), sc.parallelize([]).isEmpty()), (False, True))
            results = {"min_i64": 1, "max_i64": 4, "or_i64": 7, "first": 2, "last_i64": 4}
            for name, result in results.items():
                rows = sc.parallelize([("k", 2), ("k", 1), ("k", 4)], 2)
                self.assertEqual(rows.reduceByKey(name).collect(), [("k", result)])
            results = {"min_text": "a", "max_text": "c", "concat_text": "bca", "last_text": "a"}
            for name, result in results.items():
                rows = sc.parallelize([("k", "b"), ("k", "c"), ("k", "a")], 2)
                self.assertEqual(rows.reduceByKey(name).collect(), [("k", result)])
            floats = sc.parallelize([("a", 1.5), ("b", 7.0), ("a", 2.0)], 2)
            self.assertCountEqual(floats.meanByKey().collect(), [("a", 1.75), ("b", 7.0)])
            self.assertEqual(dict(floats.reduceByKey("last_f64").collect()), {"a": 2.0, "b": 7.0})
            ints = sc.parallelize([("k", 2), ("k", 1), ("k", 4)], 2)
            self.assertEqual(ints.meanByKey().collect(), [("k", 7 / 3)])
            for call in ("first", "min", "max"):
                with self.assertRaisesRegex(ValueError, "the RDD is empty"):
                    getattr(sc.parallelize([]), call)()
            with self.assertRaisesRegex(TypeError, "int or float"):
                sc.parallelize(["a"]).sum()

    def test_bad_rows_can_be_skipped(self):
        with context(bad_rows="skip") as sc:
            pairs = sc.parallelize([("a", "1"), ("a", "x"), ("b", " 2")])
            self.assertEqual(pairs.flatMapValues("parse_i64").collect(), [("a", 1)])
            self.assertEqual(sc.counter("bad rows"), 2)

    def test_pipe(self):
        with context() as sc:
            words = sc.parallelize(["b", "a c", "\u00e9\udcff"], 2)
            self.assertEqual(words.pipe("cat").collect(), ["b", "a c", "\u00e9\udcff"])
            self.assertEqual(words.pipe(["sed", "s/ /;/g"]).collect(), ["b", "a;c", "\u00e9\udcff"])
            self.assertEqual(words.pipe("grep 'a c' ", ok=(0, 1)).collect(), ["a c"])
            printed = sc.parallelize(["x"]).pipe(["sh", "-c", "cat; echo $ONE"], env={"ONE": "1 2"})
            self.assertEqual(printed.collect(), ["x", "1 2"])
            with self.assertRaisesRegex(ValueError, "illegal environment variable name"):
                sc.parallelize(["x"]).pipe("cat", env={"A=B": "1"})
            self.assertEqual(sc.parallelize([("k", "v w")]).pipe("cat").collect(), ["k\tv w"])
            self.assertEqual(sc.parallelize(["$HOME *"]).pipe("cat").collect(), ["$HOME *"])
            python = [sys.executable, "-c", "import sys\nfor l in sys.stdin: print(len(l) - 1)"]
            self.assertEqual(words.pipe(python).take(2), ["1", "3"])
            for ok in ((-1,), (256,)):
                with self.assertRaises(ValueError):
                    words.pipe("cat", ok=ok)
            with self.assertRaisesRegex(ValueError, "null"):
                words.pipe(["a\0b"])

    def test_collect_each(self):
        with context() as sc:
            rdd, seen = sc.parallelize(range(1000), 7), []
            rdd.collectEach(seen.append)
            self.assertEqual(seen, list(range(1000)))

            def stop(row):
                if row == 10:
                    raise KeyError(row)

            with self.assertRaises(KeyError):
                rdd.collectEach(stop)
            with self.assertRaisesRegex(RuntimeError, "is running"):
                rdd.collectEach(lambda row: rdd.count())
            self.assertEqual(rdd.count(), 1000)

    def test_both_spellings(self):
        for kind in (glint.Context, glint.RDD):
            for name in dir(kind):
                plain = "".join("_" + c.lower() if c.isupper() else c for c in name)
                if plain != name and not name.startswith("_"):
                    self.assertIs(getattr(kind, plain), getattr(kind, name))


class Functions(Base):
    """Functions of Python in glint.Context: its RDDs are those of glint.pyspark."""

    def test_one_class(self):
        self.assertIs(glint.RDD, glint.pyspark.RDD)
        with context() as sc:
            lines = sc.parallelize(["a b", "b"])
            self.assertEqual(repr(lines), "<glint.RDD of text, of <glint.Context active>>")
            self.assertIsInstance(lines, glint.RDD)
            self.assertIsInstance(lines.map(len), glint.RDD)

    def test_names_and_functions(self):
        """A name means the same beside functions of Python, and in SparkContext."""
        path = self.write("text", "a b\udcff b\n\nx\x0by c\xa0d\n")
        words = ["a", "b\udcff", "b", "x", "y", "c\xa0d"]
        with context() as sc:
            lines = sc.textFile(path)
            self.assertEqual(lines.flatMap("split_words").collect(), words)
            self.assertEqual(lines.filter(bool).flatMap("split_words").collect(), words)
            for ones in (lines.flatMap("split_words").map("pair_with_one"),
                         lines.flatMap("split_words").map(lambda word: (word, 1)),
                         lines.map(str).flatMap("split_words").map("pair_with_one")):
                for reduce in ("sum_i64", operator.add, lambda a, b: a + b):
                    self.assertEqual(sorted(ones.reduceByKey(reduce).collect()),
                                     sorted((word, 1) for word in words))
                self.assertEqual(dict(ones.combineByKey("count").collect()),
                                 dict.fromkeys(words, 1))
            pairs = sc.parallelize([("a", "1"), ("b", "-2"), ("a", "4")], 2)
            for numbers in (pairs.flatMapValues("parse_i64"),
                            pairs.mapValues(str).flatMapValues("parse_i64")):
                self.assertEqual(numbers.values().collect(), [1, -2, 4])
                self.assertEqual(numbers.values().reduce("max_i64"), 4)
                self.assertEqual(numbers.values().treeReduce("min_i64"), -2)
                self.assertEqual(numbers.reduceByKeyLocally("sum_i64"), {"a": 5, "b": -2})
                self.assertEqual(dict(numbers.meanByKey().collect()), {"a": 2.5, "b": -2.0})
        with glint.pyspark.SparkContext("local[2]") as spark:
            self.assertEqual(spark.textFile(str(path)).flatMap("split_words").collect(),
                             ["a", "b\ufffd", *words[2:]])

    def test_records_reach_functions_as_they_are(self):
        columns = [ODD, [value.encode("utf-8", "surrogateescape") for value in ODD],
                   [0, -1, (1 << 63) - 1, -(1 << 63)], [0.0, -1e300, 5e-324, math.inf],
                   [("k\n", -1), ("", 2)], [(0.5, b"\n"), (-0.0, b"")], [(1, 1.5)], [(b"", "\n")]]
        with context() as sc:
            for column in columns:
                rdd = sc.parallelize(column, 2)
                self.assertEqual(rdd.map(lambda x: [x]).collect(), [[x] for x in column])
            pairs = sc.parallelize([("a", 1), ("b", 2)], 2)
            joined = pairs.leftOuterJoin(sc.parallelize([("a", "x")]))
            self.assertCountEqual(joined.map(lambda x: x).collect(),
                                  [("a", (1, "x")), ("b", (2, None))])
            self.assertEqual(sc.range(3).filter(lambda x: x).collect(), [1, 2])

    def test_both_kinds_together(self):
        with context() as sc:
            typed = sc.parallelize([("a", 1), ("b", 2)], 2)
            plain = typed.mapValues(str)
            for left, right in ((typed, plain), (plain, typed)):
                rows = left.collect() + right.collect()
                self.assertEqual(left.union(right).collect(), rows)
                self.assertEqual(sc.union([left, right, left]).count(), 6)
                self.assertEqual(sorted(left.join(right).keys().collect()), ["a", "b"])
                self.assertEqual(left.zip(right).keys().keys().collect(), ["a", "b"])
                self.assertEqual(left.cartesian(right).count(), 4)
                self.assertEqual(left.subtractByKey(right).collect(), [])
                self.assertCountEqual(left.subtract(right).collect(), left.collect())
            downward = typed.sortByKey(keyfunc=lambda key: -ord(key))
            self.assertEqual(downward.keys().collect(), ["b", "a"])
            self.assertEqual(typed.max(lambda pair: -pair[1]), ("a", 1))
            self.assertEqual(typed.partitionBy(2, lambda k: 1).glom().map(len).collect(), [0, 2])
            self.assertEqual(plain.persist("disk").count(), 2)
            seen = []
            plain.collectEach(seen.append)
            self.assertEqual(seen, [("a", "1"), ("b", "2")])
        with context() as sc, context() as other:
            with self.assertRaisesRegex(ValueError, "same context"):
                sc.range(2).map(str).union(other.range(2).map(str)).collect()

    def test_outputs_appear_together(self):
        with context() as sc:
            shouted = sc.parallelize(["a\udcff", "b"], 2).map(str.upper)
            shouted.saveAsTextFile(self.work / "a")
            shouted.map(lambda line: (line, 1)).saveAsTextFile(self.work / "b", compress=True)
            self.assertFalse((self.work / "a").exists())
            self.assertEqual(sc.textFile(self.work / "a").collect(), ["A\udcff", "B"])
            with self.assertRaises(glint.pyspark.errors.PythonException) as raised:
                shouted.map(int).saveAsTextFile(self.work / "c")
            self.assertIsInstance(raised.exception.__cause__, ValueError)
        self.assertEqual({path.name for path in self.work.iterdir()}, {"a", "b"})
        self.assertEqual(list(glint.Output(self.work / "a")), ["A\udcff", "B"])
        self.assertEqual(list(glint.Output(self.work / "b"))[1], "('B', 1)")

    def test_nothing_is_left(self):
        directories = set(pathlib.Path(tempfile.gettempdir()).glob("glint-python-*"))
        with context() as sc:
            self.assertIsNone(sc._started)
            self.assertEqual(sc.range(3).map(str).collect(), ["0", "1", "2"])
            made = set(pathlib.Path(tempfile.gettempdir()).glob("glint-python-*")) - directories
            self.assertIn(pathlib.Path(sc._workers.directory), made)
            directory = pathlib.Path(sc._workers.directory)
        self.assertFalse(directory.exists())


class Errors(Base):
    def test_missing_input(self):
        with context() as sc:
            error = self.fails("E0201", lambda: sc.textFile(self.work / "nowhere"))
            self.assertEqual((error.name, error.text, error.exit_status),
                             ("INPUT_NOT_FOUND", "input not found", 66))
            self.assertIn("nowhere: No such file", error.cause)
            self.assertEqual(sc.parallelize([1]).count(), 1)

    def test_calls_after_an_error(self):
        """Each ends its own call only; what was saved before and after it is published."""
        taken = self.write("taken", "x")
        with context() as sc:
            lines = sc.parallelize(["a", "b"], 2)
            lines.saveAsTextFile(self.work / "one")
            bad = sc.parallelize([("a", "b")]).flatMapValues("parse_i64")
            failing = sc.parallelize(["a"]).pipe("sh -c 'exit 3'")
            for _ in range(3):
                self.fails("E0210", bad.collect)
                self.fails("E0407", failing.count)
                self.fails("E0407", lambda: failing.saveAsTextFile(self.work / "two"))
                self.fails("E0301", lambda: lines.saveAsTextFile(taken))
                self.fails("E0403", lambda: sc.range(3).zip(sc.range(4)).count())
                self.fails("E0401", lambda: sc.parallelize([("a", "b")]).reduceByKey("sum_i64"))
                self.fails("E0210", lambda: list(bad.toLocalIterator()))
                self.fails("E0210", bad.sortByKey().collect)
                self.assertEqual(lines.distinct().count(), 2)
            self.assertEqual(sc.textFile(self.work / "one").collect(), ["a", "b"])
            lines.saveAsTextFile(self.work / "two")
            self.fails("E0301", lambda: lines.saveAsTextFile(self.work / "two"))
        for name in ("one", "two"):
            self.assertEqual(list(glint.Output(self.work / name)), ["a", "b"])
        self.assertEqual({path.name for path in self.work.iterdir()}, {"one", "two", "taken"})

    def test_commands_that_fail(self):
        with context() as sc:
            failing = sc.parallelize(["a"]).pipe("sh -c 'echo no >&2; exit 3'")
            error = self.fails("E0407", failing.count)
            self.assertIn("3", error.cause)
        with context() as sc:
            self.fails("E0407", sc.parallelize(["a"]).pipe("no-such-command-here").collect)
        with context() as sc:
            self.fails("E0403", lambda: sc.parallelize([1]).pipe("cat"))

    def test_types_that_do_not_match(self):
        with context() as sc:
            self.fails("E0401", lambda: sc.parallelize([("a", "b")]).reduceByKey("sum_i64"))
        with context() as sc:
            self.fails("E0401", lambda: sc.parallelize([("a", 1)]).join(sc.parallelize([(1, 1)])))
        with context() as sc:
            self.fails("E0210", sc.parallelize([("a", "b")]).flatMapValues("parse_i64").collect)
        with context() as sc, context() as other:
            rdd = sc.parallelize(["a"])
            for call in (rdd.map, rdd.flatMap, rdd.reduceByKey, rdd.flatMapValues):
                with self.assertRaisesRegex(ValueError, "no built-in function 'cat' here"):
                    call("cat")
            with self.assertRaises(TypeError):
                rdd.union(["a"])
            with self.assertRaisesRegex(ValueError, "same context"):
                rdd.union(other.parallelize(["a"]))
            self.assertEqual(rdd.count(), 1)

    def test_settings(self):
        for code, settings in (("E0102", {"memroy": "1G"}), ("E0104", {"master": "mesos"}),
                               ("E0502", {"memory": "1M"}), ("E0104", {"overwrite": "yes"})):
            self.fails(code, lambda settings=settings: context(**settings))

    def test_outputs_after_an_exception(self):
        out = self.work / "out"
        with self.assertRaises(ZeroDivisionError), context() as sc:
            sc.parallelize(["a"]).saveAsTextFile(out)
            raise ZeroDivisionError
        self.assertEqual(list(self.work.iterdir()), [])
        with self.assertRaises(glint.Error), context() as sc:
            sc.parallelize(["a"]).saveAsTextFile(out)
            sc.textFile(self.work / "nowhere")
        self.assertEqual(list(self.work.iterdir()), [])
        with context() as sc:
            sc.parallelize(["a"]).saveAsTextFile(out)
            sc.stop()
            self.assertEqual(list(glint.Output(out)), ["a"])
        with self.assertRaises(glint.Error) as raised, context() as sc:
            sc.parallelize(["b"]).saveAsTextFile(out)
        self.assertEqual(raised.exception.code, "E0301")
        with context(overwrite=True) as sc:
            sc.parallelize(["b"]).saveAsTextFile(out)
        self.assertEqual(list(glint.Output(out)), ["b"])

    def test_after_stop(self):
        sc = context()
        rdd = sc.parallelize([1])
        sc.stop()
        sc.stop()
        for call in (rdd.count, rdd.collect, rdd.distinct, rdd.sum, rdd.getNumPartitions,
                     lambda: sc.parallelize([1]), lambda: sc.textFile("a"), sc.__enter__,
                     lambda: sc.counter("rows read"), lambda: rdd.collectEach(print)):
            with self.assertRaisesRegex(ValueError, "the context is stopped"):
                call()

    def test_another_thread(self):
        with context() as sc:
            rdd, found = sc.parallelize([1]), []

            def work():
                found.append((rdd.count(), rdd.distinct().collect(), list(rdd.toLocalIterator())))
                sc.stop()

            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            self.assertEqual(found, [(1, [1], [1])])
            with self.assertRaisesRegex(ValueError, "the context is stopped"):
                rdd.count()

    def test_a_forked_process(self):
        with context() as sc:
            rdd = sc.parallelize([1])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # fork with threads
                child = os.fork()
            if child == 0:
                try:
                    rdd.count()
                except RuntimeError as error:
                    os._exit(7 if "forked process" in str(error) else 1)
                os._exit(2)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
            self.assertEqual(rdd.count(), 1)

    def test_forgotten(self):
        with self.assertWarns(ResourceWarning):
            sc = context()
            sc.parallelize(["a"]).saveAsTextFile(self.work / "out")
            del sc
            gc.collect()
        self.assertEqual(list(self.work.iterdir()), [])

    def test_forgotten_until_the_program_ends(self):
        code = f"""
import glint
sc = glint.Context("local[1]")
rdd = sc.parallelize(["a"])
rdd.saveAsTextFile({str(self.work / "out")!r})
"""
        subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
        self.assertEqual(list(self.work.iterdir()), [])


class Process(Base):
    def test_many_contexts(self):
        def descriptors():
            return len(os.listdir("/proc/self/fd")), threading.active_count()

        def once():
            with context() as sc:
                self.assertEqual(sc.parallelize([("a", 1)] * 9, 2).reduceByKey("sum_i64").collect(),
                                 [("a", 9)])

        once()
        before = descriptors()
        handlers = [signal.getsignal(number) for number in signal.valid_signals()]
        for _ in range(40):
            once()
        self.assertEqual(descriptors(), before)
        after = [signal.getsignal(number) for number in signal.valid_signals()]
        self.assertEqual(after, handlers)

    def test_contexts_in_threads(self):
        results = []

        def work():
            with context() as sc:
                results.append(sc.parallelize(range(1000), 4).sum())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [499_500] * 4)

    def test_first_contexts_in_threads(self):
        """Of a process, so that several threads are the first to load the library."""
        code = """
import glint, threading
together, sums = threading.Barrier(8), []
def work():
    together.wait()
    with glint.Context("local[1]") as sc:
        sums.append(sc.range(10).sum())
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sums)
"""
        printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        self.assertEqual(printed.stdout.decode(), f"{[45] * 8}\n")

    def test_interrupt(self):
        fifo = Fifo(self, self.work / "started")
        code = f"""
import glint, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process may ignore it
try:
    with glint.Context("local[1]") as sc:
        sc.parallelize(["a"]).saveAsTextFile({str(self.work / "out")!r})
        command = "echo $$ >{fifo.path}; exec sleep 100"
        sc.parallelize(["a"]).pipe(["sh", "-c", command]).count()
except KeyboardInterrupt:
    print("interrupted")
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
with glint.Context("local[1]") as sc:
    print(sc.parallelize([1]).count())
"""
        python = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        command = int(fifo.read())
        python.send_signal(signal.SIGINT)
        printed, _ = python.communicate(timeout=300)
        self.assertEqual((printed.split(), python.returncode), (["interrupted", "1"], 0))
        self.assertEqual(list(self.work.iterdir()), [fifo.path])
        with self.assertRaises(ProcessLookupError):
            os.kill(command, 0)
