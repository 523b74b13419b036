"""glint.pyspark: Python functions in workers. What PySpark gives is in spark/docstrings.py; here is
what its docstrings do not say: types of keys, order, lifetimes and faults."""

from __future__ import annotations

import decimal
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
import urllib.request
from typing import Any

import glint
from glint.pyspark import SparkConf, SparkContext, SparkFiles, StorageLevel, TaskContext
from glint.pyspark.errors import PySparkRuntimeError, PythonException


class Point:
    """Equal points have different pickles."""

    def __init__(self, x: int, note: str) -> None:
        self.x, self.note = x, note

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self.x == other.x

    def __hash__(self) -> int:
        return hash(self.x)


class WithContext(unittest.TestCase):
    sc: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.sc = SparkContext("local[2]", "tests")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.sc.stop()


class Elements(WithContext):
    def test_any_type_travels(self) -> None:
        items = [None, True, 1, 1 << 100, 1.5, "é\n", b"\0\n", (1, [2]), {"a": {3}}, Ellipsis,
                 decimal.Decimal("1.10")]
        self.assertEqual(self.sc.parallelize(items, 3).map(lambda x: x).collect(), items)

    def test_what_only_the_main_program_has(self) -> None:
        """Its classes, and those made in functions, go by value and come back as its own."""
        code = """
import collections, enum
from glint.pyspark import SparkContext
class Point:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return isinstance(other, Point) and self.x == other.x
    def __hash__(self): return hash(self.x)
Pair = collections.namedtuple("Pair", "a b")
class Color(enum.Enum): RED = 1
def local():
    class Local(Point): pass
    return Local
with SparkContext("local[2]") as sc:
    Local = local()
    items = [Point(1), Pair(1, 2), Color.RED, Local(3), Point, "__main__"]
    again = sc.parallelize(items, 3).map(lambda x: x).repartition(2).collect()
    assert len(again) == 6 and all(x in again for x in items), again
    assert sc.parallelize([5, 6], 2).map(Point).map(lambda p: (p, 1)).keys().first() == Point(5)
    for keys in ([Point(1), Point(2), Point(1.0)], [Pair(1, 2), (2, 2), (1, 2)],
                 [Color.RED, None, Color.RED], [Local(1), Local(2), Local(True)]):
        pairs = sc.parallelize(keys, 3).map(lambda key: (key, 1))
        found = pairs.reduceByKey(lambda a, b: a + b, 2).collectAsMap()
        assert found == collections.Counter(keys), found
        assert sorted(pairs.groupByKey().mapValues(len).values().collect()) == [1, 2]
        assert sorted(sc.parallelize(keys).countByValue().values()) == [1, 2]
        assert sc.parallelize(keys).distinct().count() == 2
        joined = pairs.join(sc.parallelize(keys[:1], 2).map(lambda key: (key, "x")))
        assert joined.values().collect() == [(1, "x")] * 2
    print(sc.parallelize([1]).map(lambda x: lambda y: x + y).collect()[0](4))
"""
        printed = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE,
                                 text=True, timeout=300)
        self.assertEqual(printed.stdout, "5\n")

    def test_lines(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "lines")
            text = "".join(f"{'é' * (i % 40)} {i}\n" for i in range(20000))
            text += "x" * 600000 + "\nend"
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            lines = self.sc.textFile(path, 3)
            self.assertEqual(lines.map(lambda x: x).collect(), text.split("\n"))
            self.assertEqual(self.sc.textFile(path, use_unicode=False).collect(),
                             text.encode().split(b"\n"))
            self.assertEqual(lines.union(lines).count(), 2 * 20002)

    def test_large_element(self) -> None:
        large = self.sc.parallelize([5 << 20, 1], 1).map(lambda n: b"x" * n)
        self.assertEqual([len(x) for x in large.collect()], [5 << 20, 1])
        self.assertEqual(large.map(lambda x: (1, x)).groupByKey().mapValues(len).collect(),
                         [(1, 2)])

    def test_take_computes_little(self) -> None:
        added = self.sc.accumulator(0)

        def count(x: int) -> int:
            added.add(1)
            return x

        self.assertEqual(self.sc.parallelize(range(1000), 10).map(count).take(3), [0, 1, 2])
        self.assertLess(added.value, 500)

    def test_partitions_after_union_and_coalesce(self) -> None:
        def tag(i: int, items: Any) -> list[Any]:
            return [(i, list(items))]

        five = self.sc.parallelize(range(5), 5).mapPartitionsWithIndex(tag)
        self.assertEqual(five.coalesce(2).mapPartitionsWithIndex(tag).collect(), [
            (0, [(0, [0]), (1, [1])]), (1, [(2, [2]), (3, [3]), (4, [4])])])
        self.assertEqual(five.union(five).getNumPartitions(), 10)


    def test_long_lineages(self) -> None:
        """Deeper than a pickle, or Python's stack, may be: functions in a row, and kept steps."""
        numbers = self.sc.parallelize(range(3), 1)
        for _ in range(400):
            numbers = numbers.map(lambda n: n + 1)
        self.assertEqual(numbers.collect(), [400, 401, 402])
        kept = self.sc.parallelize(range(3), 1)
        for _ in range(1500):
            kept = kept.map(lambda n: n + 1).cache()
        self.assertEqual(kept.getNumPartitions(), 1)
        self.assertEqual(kept.toDebugString().count(b"\n"), 1500)

    def test_cached_steps(self) -> None:
        """Each action computes the last one only."""
        made = self.sc.accumulator(0)
        kept = self.sc.parallelize(range(3), 1)

        def step(number: int) -> int:
            made.add(1)
            return number + 1
        for _ in range(10):
            kept = kept.map(step).cache()
            self.assertEqual(kept.count(), 3)
        self.assertEqual(made.value, 30)
        self.assertEqual(kept.collect(), [10, 11, 12])


class Keys(WithContext):
    def counts(self, keys: list[Any]) -> list[int]:
        pairs = self.sc.parallelize(keys, 3).map(lambda k: (k, 1))
        return sorted(n for _, n in pairs.reduceByKey(lambda a, b: a + b).collect())

    def test_equal_as_in_python(self) -> None:
        self.assertEqual(self.counts([1, 1.0, True, 2, 0.0, -0.0, False, "1", b"1"]),
                         [1, 1, 1, 3, 3])
        self.assertEqual(self.counts([(1, None), (1.0, None), (True, None)]), [3])
        self.assertEqual(self.counts([None, None, "é", "é", 1 << 70, float(1 << 70)]), [2, 2, 2])

    def test_of_user_classes(self) -> None:
        self.assertEqual(self.counts([Point(1, "a"), Point(1, "b" * 50), Point(2, "c")]), [1, 2])

    def test_unhashable(self) -> None:
        with self.assertRaisesRegex(PythonException, "unhashable type: 'list'"):
            self.counts([[1]])

    def test_many_keys_and_values_in_order(self) -> None:
        pairs = self.sc.parallelize(range(300000), 3).map(lambda i: (i % 70001, i))
        grouped = pairs.groupByKey(2).mapValues(list).collectAsMap()
        self.assertEqual(len(grouped), 70001)
        self.assertTrue(all(values == list(range(k, 300000, 70001))
                            for k, values in grouped.items()))
        added = pairs.reduceByKey(lambda a, b: a + b, 2).collectAsMap()
        self.assertEqual(added, {k: sum(values) for k, values in grouped.items()})

    def test_partition_by_keeps_order(self) -> None:
        parts = self.sc.parallelize([(i % 5, i) for i in range(50)], 4).partitionBy(
            3, lambda key: key).glom().collect()
        self.assertEqual(parts, [[(i % 5, i) for i in range(50) if i % 5 % 3 == p]
                                 for p in range(3)])

    def test_sort_is_stable(self) -> None:
        pairs = [(i * 7919 % 100, i) for i in range(5000)]
        rdd = self.sc.parallelize(pairs, 4)
        for ascending in (True, False):
            self.assertEqual(rdd.sortByKey(ascending, 3).collect(),
                             sorted(pairs, key=lambda p: p[0], reverse=not ascending))
        self.assertEqual(rdd.sortBy(lambda p: (-p[0], p[1])).first(), min(
            pairs, key=lambda p: (-p[0], p[1])))
        self.assertEqual(self.sc.emptyRDD().map(lambda x: (x, 1)).sortByKey().collect(), [])

    def test_joins(self) -> None:
        a = self.sc.parallelize([(1, "a"), (2, "b"), (2, "c")], 2)
        b = self.sc.parallelize([(2.0, "x"), (3, "y")], 3)
        self.assertEqual(sorted(a.join(b).collect()), [(2, ("b", "x")), (2, ("c", "x"))])
        self.assertEqual(sorted(a.leftOuterJoin(b).collect()),
                         [(1, ("a", None)), (2, ("b", "x")), (2, ("c", "x"))])
        self.assertEqual(sorted(a.rightOuterJoin(b).collect()),
                         [(2, ("b", "x")), (2, ("c", "x")), (3, (None, "y"))])
        self.assertEqual(len(a.fullOuterJoin(b).collect()), 4)
        self.assertEqual(a.subtractByKey(b).collect(), [(1, "a")])

    def test_the_same_in_any_shape(self) -> None:
        seen = []
        for parts in (1, 8):
            rdd = self.sc.parallelize(range(1000), parts).map(lambda i: (i % 37, i))
            seen.append(sorted(rdd.aggregateByKey([], lambda a, v: [*a, v],
                                                  lambda a, b: a + b, 4).collect()))
        self.assertEqual(seen[0], seen[1])


class Shared(WithContext):
    def test_broadcast(self) -> None:
        table = self.sc.broadcast({1: "one"})
        self.assertEqual(self.sc.parallelize([1], 1).map(lambda x: table.value[x]).collect(),
                         ["one"])
        table.destroy()
        with self.assertRaises(Exception):
            self.sc.parallelize([1], 1).map(lambda x: table.value[x]).collect()

    def test_accumulators_count_successful_tasks(self) -> None:
        added = self.sc.accumulator(0)
        rdd = self.sc.parallelize(range(10), 4)
        rdd.foreach(lambda x: added.add(x))
        self.assertEqual(added.value, 45)
        with self.assertRaises(PythonException):
            self.sc.parallelize([1], 1).foreach(lambda x: (added.add(x), 1 // 0))
        self.assertEqual(added.value, 45)

    def test_persisted_is_computed_once(self) -> None:
        computed = self.sc.accumulator(0)

        def count(x: int) -> int:
            computed.add(1)
            return x

        rdd = self.sc.parallelize(range(10), 2).map(count).persist(StorageLevel.DISK_ONLY)
        self.assertEqual((rdd.count(), rdd.map(lambda x: x + 1).sum()), (10, 55))
        self.assertEqual(computed.value, 10)
        rdd.unpersist()
        self.assertEqual((rdd.count(), computed.value), (10, 20))

    def test_files_and_modules(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "spark_test_module.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("def f(x): return x * 3\n")
            self.sc.addPyFile(path)

            def use(x: int) -> Any:
                import spark_test_module  # type: ignore[import-not-found]

                with open(SparkFiles.get("spark_test_module.py"), encoding="utf-8") as file:
                    return spark_test_module.f(x), len(file.read())

            self.assertEqual(self.sc.parallelize([1], 1).map(use).collect(), [(3, 23)])

    def test_saved_text(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out")
            rdd = self.sc.parallelize(["a", 1, b"\xff"], 2)
            rdd.saveAsTextFile(path)
            self.assertEqual(sorted(os.listdir(path)), ["_SUCCESS", "part-00000", "part-00001"])
            self.assertEqual(self.sc.textFile(path, use_unicode=False).collect(),
                             [b"a", b"1", b"\xff"])
            with self.assertRaises(FileExistsError):
                rdd.saveAsTextFile(path)
            with self.assertRaises(PythonException):
                rdd.map(lambda x: x + 1).saveAsTextFile(os.path.join(directory, "bad"))
            self.assertEqual(os.listdir(directory), ["out"])

    def test_what_is_not_here_says_so(self) -> None:
        rdd = self.sc.parallelize([1])
        for call in (lambda: rdd.barrier(), lambda: rdd.toDF(), lambda: self.sc.sequenceFile("x"),
                     lambda: rdd.saveAsTextFile("/nowhere/x", "org.example.Codec")):
            with self.assertRaisesRegex(NotImplementedError, "is not part of glint: "):
                call()

    def test_only_in_the_driver(self) -> None:
        sc, rdd = self.sc, self.sc.parallelize([1])
        for captured in (sc, rdd):
            with self.assertRaisesRegex(pickle.PicklingError, "VALID_ON_DRIVER"):
                rdd.map(lambda x, captured=captured: x).collect()


class Faults(WithContext):
    def tearDown(self) -> None:
        self.assertEqual(self.sc.parallelize(range(3), 2).map(lambda x: x + 1).collect(),
                         [1, 2, 3], "the context works after an error")
        self.assertEqual(sorted(n for n in os.listdir(self.sc._workers.directory)
                                if n.startswith(("error", "added"))), [])

    def fails(self, f: Any) -> Any:
        with self.assertRaises((PythonException, glint.Error)) as caught:
            self.sc.parallelize([1], 1).map(f).collect()
        return caught.exception

    def test_exception(self) -> None:
        def divide(x: int) -> float:
            return x / 0

        error = self.fails(divide)
        self.assertIsInstance(error.__cause__, ZeroDivisionError)
        self.assertRegex(str(error), r"(?s)test_spark\.py.*in divide.*return x / 0.*ZeroDivision")

    def test_stop_iteration_is_no_end(self) -> None:
        self.assertIn("StopIteration", str(self.fails(lambda x: next(iter(())))))

    def test_exit(self) -> None:
        self.assertIn("sys.exit(3)", str(self.fails(lambda x: sys.exit(3))))

    def test_exit_without_an_exception(self) -> None:
        """Its status is 0; what it wrote before is not the whole task."""
        def leave(x: int) -> int:
            if x == 4:
                os._exit(0)
            return x

        data = self.sc.parallelize(range(6), 2)
        for job in (lambda: data.map(leave).collect(), lambda: data.map(leave).count(),
                    lambda: data.foreach(leave), lambda: data.map(lambda x: (leave(x), 1))
                    .reduceByKey(lambda a, b: a + b).collect()):
            with self.assertRaises(glint.Error) as caught:
                job()
            self.assertIn("has no mark of its end", caught.exception.cause)
            self.assertIn("as os._exit does: raise an exception", caught.exception.hint)
        with self.assertRaises(glint.Error) as caught:
            data.foreach(lambda _: os._exit(3))
        self.assertIn("exited with status 3", caught.exception.cause)
        self.assertIn("as os._exit does: raise an exception", caught.exception.hint)
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "out")
            with self.assertRaises(glint.Error):
                data.map(leave).saveAsTextFile(out)
            self.assertEqual(os.listdir(directory), [])

    def test_broken_pipe_of_a_function(self) -> None:
        def send(x: int) -> int:
            if x == 4:
                raise BrokenPipeError("of the function")
            return x

        data = self.sc.parallelize(range(6), 2).map(send)
        for job in (data.collect, data.count, lambda: data.foreach(print)):
            with self.assertRaises(PythonException) as caught:
                job()
            self.assertIsInstance(caught.exception.__cause__, BrokenPipeError)

    def test_killed(self) -> None:
        error = self.fails(lambda x: os.kill(os.getpid(), signal.SIGKILL))
        self.assertEqual(error.name, "COMMAND_KILLED")

    def test_crash(self) -> None:
        def crash(x: int) -> None:
            import ctypes

            ctypes.string_at(0)

        error = self.fails(crash)
        self.assertEqual(error.name, "COMMAND_KILLED")
        self.assertIn("Fatal Python error: Segmentation fault", error.cause)

    def test_fork(self) -> None:
        def fork(x: int) -> int:
            os.fork()
            return x

        self.assertEqual(self.sc.parallelize(range(4), 2).map(fork).collect(), [0, 1, 2, 3])

    def test_parent_of_workers(self) -> None:
        """One for all tasks of an executor, which is replaced after it was killed."""
        parents = set(self.sc.parallelize(range(8), 8).map(lambda x: os.getppid()).collect())
        self.assertEqual(len(parents), 1)
        self.assertNotIn(os.getpid(), parents)
        os.kill(parents.pop(), signal.SIGKILL)

    def test_parent_is_killed_by_a_function(self) -> None:
        error = self.fails(lambda x: [os.kill(os.getppid(), signal.SIGKILL), signal.pause()])
        self.assertEqual(error.name, "COMMAND_KILLED")

    def test_workers_share_nothing(self) -> None:
        def count(x: int) -> int:
            os.environ["SEEN"] = str(int(os.environ.get("SEEN", "0")) + 1)
            sys.path.append("seen")
            return int(os.environ["SEEN"]) + sys.path.count("seen")

        self.assertEqual(self.sc.parallelize(range(4), 4).map(count).collect(), [2] * 4)

    def test_not_for_a_worker(self) -> None:
        def nested(x: int) -> Any:
            return SparkContext("local[1]")

        self.assertIn("CONTEXT_ONLY_VALID_ON_DRIVER", str(self.fails(nested)))


class Lifetimes(unittest.TestCase):
    def test_a_missing_file_is_an_error_of_the_action(self) -> None:
        with SparkContext("local[1]") as sc:
            lines = sc.textFile("/no/such/file").map(len)
            self.assertIn("PythonRDD[1] of <SparkContext", repr(lines))
            with self.assertRaisesRegex(glint.Error, "/no/such/file"):
                lines.count()
            self.assertIn("ParallelCollectionRDD[", repr(sc.parallelize([1])))

    def test_directory_of_a_killed_driver_is_removed(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            variables = {**os.environ, "TMPDIR": directory}
            start = "from glint.pyspark import SparkContext\nSparkContext('local[1]')\n"
            subprocess.run([sys.executable, "-c", start + "import os; os.kill(os.getpid(), 9)"],
                           env=variables, check=False, timeout=300)
            left = [n for n in os.listdir(directory) if n.startswith("glint-python-")]
            self.assertEqual(len(left), 1)
            # The next one removes it, and not that of a driver that runs.
            start = start.replace("SparkContext('local[1]')", "a = SparkContext('local[1]')")
            done = subprocess.run([sys.executable, "-c", start + textwrap.dedent("""
                import os, subprocess, sys
                subprocess.run([sys.executable, "-c", sys.argv[1]], check=True)
                print([os.path.join(os.environ["TMPDIR"], n) for n in
                       os.listdir(os.environ["TMPDIR"]) if n.startswith("glint-python-")]
                      == [a._workers.directory])
                a.stop()
                """), start + "a.stop()"], env=variables, check=True, timeout=300,
                capture_output=True, text=True)
            self.assertEqual(done.stdout, "True\n")

    def test_one_context_at_a_time(self) -> None:
        with SparkContext("local[1]") as sc:
            with self.assertRaisesRegex(ValueError, "Cannot run multiple SparkContexts"):
                SparkContext("local[1]")
            self.assertIs(SparkContext.getOrCreate(), sc)
            directory = sc._workers.directory
        self.assertFalse(os.path.exists(directory))
        with self.assertRaisesRegex(PySparkRuntimeError, "stopped"):
            sc.parallelize([1])

    def test_job_files_are_freed(self) -> None:
        with SparkContext("local[1]") as sc:
            for _ in range(3):
                sc.parallelize([1]).map(lambda x: (x, 1)).reduceByKey(lambda a, b: a).collect()
            left = [n for n in os.listdir(sc._workers.directory) if n.startswith("job")]
            self.assertEqual(left, [])

    def test_page(self) -> None:
        """It shows the jobs of a context while that exists."""
        conf = SparkConf().setMaster("local[1]").set("spark.ui.enabled", "true")
        with SparkContext(conf=conf) as sc:
            self.assertEqual(sc.parallelize([1]).map(lambda x: x).count(), 1)
            url = sc.uiWebUrl
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with browser.open(url, timeout=300) as page:
                self.assertIn(b"<title>", page.read())
        with self.assertRaises(OSError):
            urllib.request.urlopen(url, timeout=300)
        with SparkContext("local[1]") as sc:
            self.assertIsNone(sc.uiWebUrl)

    def test_settings(self) -> None:
        conf = SparkConf().setMaster("local[3]").set("glint.memory", "256M")
        with SparkContext(conf=conf, environment={"A": "b"}) as sc:
            self.assertEqual((sc.defaultParallelism, sc.master), (3, "local[3]"))
            self.assertEqual(sc.parallelize([1], 1).map(
                lambda _: (os.environ["A"], os.environ["PYTHONHASHSEED"],
                           TaskContext.get().partitionId())).collect(), [("b", "0", 0)])
        self.assertIsNone(TaskContext.get())
        with self.assertRaises(NotImplementedError):
            SparkContext("yarn")

    def run_program(self, text: str, *options: str) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(text))
            return subprocess.run([sys.executable, "-m", "glint.submit", *options, path, "x"],
                                  capture_output=True, text=True, check=False, timeout=300)

    def test_submit(self) -> None:
        done = self.run_program("""
            import sys
            from pyspark import SparkContext
            from pyspark.resultiterable import ResultIterable
            from pyspark.sql import SparkSession
            spark = SparkSession.builder.appName("a").getOrCreate()
            sc = spark.sparkContext
            def shout(x):
                print("in the worker", flush=True)
                return x.upper() + sys.argv[1] if False else x.upper()
            print(sc.parallelize(["a"], 1).map(shout).collect(), sc.master, sys.argv[1:])
            spark.stop()
            """, "--master", "local[2]")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "in the worker\n['A'] local[2] ['x']\n")

    def test_what_programs_catch(self) -> None:
        """By py4j's name, whether it is installed or not."""
        done = self.run_program("""
            import os, tempfile
            from py4j.protocol import Py4JError, Py4JJavaError
            from pyspark import SparkContext
            sc = SparkContext("local[1]")
            with tempfile.TemporaryDirectory() as directory:
                os.mkdir(directory + "/out")
                for call in (lambda: sc.parallelize([0], 1).map(lambda x: 1 // x).count(),
                             lambda: sc.textFile(directory + "/none").count(),
                             lambda: sc.parallelize([1]).saveAsTextFile(directory + "/out")):
                    try:
                        call()
                    except Py4JJavaError as error:
                        why = str(error.java_exception.getMessage())
                        print(isinstance(error, Py4JError), type(error).__name__,
                              "division" in why, "/none" in why, "already exists" in why)
            """)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines(), [
            "True PythonException True False False", "True Error False True False",
            "True OutputExistsError False False True"])

    def test_submit_refuses_what_is_not_here(self) -> None:
        done = self.run_program("from pyspark.ml import Pipeline")
        self.assertIn("NotImplementedError: pyspark.ml is not part of glint", done.stderr)

    def test_driver_is_killed(self) -> None:
        """Its workers, and their parent, end with it, also one that never returns."""
        driver = subprocess.Popen([sys.executable, "-c", textwrap.dedent("""
            import os, sys
            from glint.pyspark import SparkContext
            def run(x):
                print(os.getpid(), os.getppid(), flush=True)
                while True:
                    pass
            SparkContext("local[1]").parallelize([1], 1).foreach(run)
            """)], stdout=subprocess.PIPE, text=True)
        assert driver.stdout is not None
        with driver, driver.stdout as out:
            files = [os.pidfd_open(int(pid)) for pid in out.readline().split()]
            driver.kill()
            for file in files:
                self.assertEqual(select.select([file], [], [], 60)[0], [file])
                os.close(file)

    def test_timeout(self) -> None:
        done = self.run_program("""
            from pyspark import SparkContext
            with SparkContext() as sc:
                sc.parallelize([1], 1).map(lambda x: [0 for _ in iter(int, 1)]).collect()
            """, "--timeout", "1s", "--master", "local[1]")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("glint._errors.Error: E", done.stderr)


if __name__ == "__main__":
    unittest.main()
