"""Batches of columns in glint.pyspark and glint.Context: files, Arrow's streams, functions and
results, with pyarrow, Polars, pandas and DuckDB, which must be installed."""

from __future__ import annotations

import datetime
import decimal
import gc
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet

import glint
from glint import _blocks
from glint._blocks import Batch, batches_of
from glint._column_values import from_numpy, to_numpy
from glint.pyspark import SparkContext
from glint.pyspark.errors import PythonException
from test_spark_cluster import ClusterCase

ROWS = 5000
START = datetime.datetime(2026, 1, 31, 12)


def table(rows=ROWS):
    number = range(rows)
    return pyarrow.table({
        "n": pyarrow.array([i if i % 7 else None for i in number], pyarrow.int32()),
        "x": numpy.arange(rows) / 8,
        "text": pyarrow.array([f"é{i}" if i % 5 else None for i in number]),
        "ok": pyarrow.array([i % 3 == 0 if i % 11 else None for i in number]),
        "day": pyarrow.array([START.date() + datetime.timedelta(i % 99) for i in number]),
        "at": pyarrow.array([START + datetime.timedelta(seconds=i) for i in number],
                            pyarrow.timestamp("us")),
        "money": pyarrow.array([decimal.Decimal(i) / 100 for i in number],
                               pyarrow.decimal128(12, 2)),
        "list": pyarrow.array([[i, None] if i % 4 else None for i in number]),
        "struct": pyarrow.array([{"a": i, "b": ["x"] * (i % 3)} for i in number]),
    })


def encodings():
    """Arrays of other layouts, sliced."""
    words = [None if i % 7 == 3 else f"a word of more than twelve bytes {i % 9}" for i in range(90)]
    ends = pyarrow.array(range(2, 92, 2), pyarrow.int32())
    return pyarrow.table({
        "dictionary": pyarrow.array(words).dictionary_encode(),
        "view": pyarrow.array(words, pyarrow.string_view()),
        "large": pyarrow.array(words, pyarrow.large_string()),
        "runs": pyarrow.RunEndEncodedArray.from_arrays(ends, pyarrow.array(words[:45])),
        "fixed": pyarrow.array([b"abc"] * 90, pyarrow.binary(3)),
        "null": pyarrow.nulls(90),
        "map": pyarrow.array([[("k", i)] for i in range(90)],
                             pyarrow.map_(pyarrow.string(), pyarrow.int32())),
        "pair": pyarrow.array([[i, i + 1] for i in range(90)], pyarrow.list_(pyarrow.int8(), 2)),
    })


class WithContext(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sc = SparkContext("local[2]", "columns")
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.addClassCleanup(cls.sc.stop)
        cls.directory = directory.name
        cls.table = table()
        cls.parquet = cls.path("t.parquet")
        pyarrow.parquet.write_table(cls.table, cls.parquet, row_group_size=1500)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory, name)


class Files(WithContext):
    def test_all_columns_and_some(self):
        rdd = self.sc.parquet(self.parquet)
        self.assertTrue(rdd.toArrow().equals(self.table))
        self.assertEqual(rdd.count(), ROWS)
        some = self.sc.parquet(self.parquet, columns=["x", "n"])
        self.assertTrue(some.toArrow().equals(self.table.select(["x", "n"])))

    def test_elements(self):
        pairs = list(zip(*(self.table[name].to_pylist() for name in ("text", "x"))))
        rdd = self.sc.parquet(self.parquet, columns=["text", "x"])
        self.assertEqual(rdd.collect(), pairs)
        self.assertEqual(rdd.take(3), pairs[:3])
        self.assertEqual(rdd.map(lambda pair: pair[1]).sum(), sum(x for _, x in pairs))
        names = self.table.column_names
        everything = self.sc.parquet(self.parquet, columns=names).collect()
        self.assertEqual(everything, list(zip(*(self.table[n].to_pylist() for n in names))))
        self.assertEqual(self.sc.parquet(self.parquet, ["day"]).distinct().count(), 99)
        sums = self.sc.parquet(self.parquet, ["ok", "x"]).reduceByKey(lambda a, b: a + b)
        self.assertEqual(set(sums.keys().collect()), {True, False, None})

    def test_by_content(self):
        """Feather and Arrow files, whatever their names are; dictionaries become texts."""
        arrow, feather = self.path("a"), self.path("b.feather")
        data = pyarrow.table({"c": pyarrow.array(["x", "y", "x"]).dictionary_encode(),
                              "v": pyarrow.array(["a", None, "c"], pyarrow.string_view())})
        with pyarrow.ipc.new_file(arrow, data.schema) as file:
            file.write(data)
        pyarrow.feather.write_feather(self.table, feather)
        wanted = pyarrow.table({"c": ["x", "y", "x"], "v": ["a", None, "c"]})
        self.assertTrue(self.sc.arrow(arrow).toArrow().equals(wanted))
        self.assertTrue(self.sc.feather(feather).toArrow().equals(self.table))

    def test_directories_and_files_that_differ(self):
        for day, columns in (("a", {"x": [1, 2], "y": ["p", "q"]}), ("b%20c", {"x": [3]})):
            os.makedirs(self.path(f"days/day={day}"))
            pyarrow.parquet.write_table(pyarrow.table(columns), self.path(f"days/day={day}/f"))
        rdd = self.sc.parquet(self.path("days/*/f"))
        self.assertEqual(rdd.toArrow().to_pydict(), {
            "x": [1, 2, 3], "y": ["p", "q", None], "day": ["a", "a", "b c"]})
        with self.assertRaisesRegex(glint.Error, 'no column is named "y"'):
            self.sc.parquet(self.path("days/*/f"), columns=["y"])

    def test_without_rows(self):
        path = self.path("empty.parquet")
        pyarrow.parquet.write_table(self.table.slice(0, 0), path)
        self.assertEqual(self.sc.parquet(path).collect(), [])
        for columns in (None, ["n", "x"]):
            table = self.sc.parquet(path, columns).toArrow()
            self.assertEqual(table.num_rows, 0)
            self.assertEqual(table.schema.names, columns or self.table.schema.names)
            self.assertEqual([field.type for field in table.schema], [
                self.sc.parquet(self.parquet, [name]).toArrow().schema.field(0).type
                for name in table.schema.names])
            self.assertEqual(self.sc.parquet(path, columns).count(), 0)
            self.assertEqual(self.sc.parquet(path, columns).take(3), [])
        both = self.sc.parquet([path, self.parquet]).toArrow()
        self.assertEqual(both.num_rows, ROWS)

    def test_batch_rows(self):
        sizes = self.sc.parquet(self.parquet, ["x"], batchRows=700).mapBatches(
            lambda batch: len(batch["x"]), format="numpy").collect()
        self.assertEqual(sum(sizes), ROWS)
        self.assertEqual(max(sizes), 700)

    def test_kept_and_joined(self):
        rdd = self.sc.parquet(self.parquet, ["n", "x"]).cache()
        self.assertEqual(rdd.count(), rdd.coalesce(1).count())
        self.assertEqual(rdd.union(rdd).count(), 2 * ROWS)
        self.assertEqual(rdd.repartition(3).map(lambda p: p[1]).max(), (ROWS - 1) / 8)
        self.assertEqual(rdd.zipWithIndex().map(lambda p: p[1]).max(), ROWS - 1)

    def test_errors(self):
        text = self.path("text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("a\n")
        for call, wanted in ((lambda: self.sc.parquet(text), "no file of columns"),
                             (lambda: self.sc.parquet(self.parquet, ["q"]), "columns of all"),
                             (lambda: self.sc.parquet(self.path("none")), "No such file")):
            with self.assertRaisesRegex(glint.Error, wanted):
                call()
        with self.assertRaisesRegex(TypeError, "list of names"):
            self.sc.parquet(self.parquet, columns="n")
        with self.assertRaisesRegex(ValueError, "needs a name"):
            self.sc.parquet(self.parquet, columns=[])
        damaged = self.path("damaged.parquet")
        with open(self.parquet, "rb") as file:
            data = bytearray(file.read())
        data[5:60] = b"\xff" * 55
        with open(damaged, "wb") as file:
            file.write(data)
        with self.assertRaises(glint.Error) as caught:
            self.sc.parquet(damaged).toArrow()
        self.assertEqual(caught.exception.name, "INPUT_DAMAGED")

    def test_without_the_library(self):
        """Its absence is an error of the call, which says what to do."""
        code = ("import sys, glint._engine, os\n"
                "from glint.pyspark import SparkContext\n"
                "with SparkContext('local[1]') as sc:\n"
                "    try: sc.parquet(sys.argv[1])\n"
                "    except Exception as error: print(error)\n")
        place = os.path.join(glint.__path__[0], "lib")
        with tempfile.TemporaryDirectory() as directory:
            copy = os.path.join(directory, "glint")
            os.mkdir(copy)
            for name in os.listdir(glint.__path__[0]):
                if name != "lib":
                    os.symlink(os.path.join(glint.__path__[0], name), os.path.join(copy, name))
            os.mkdir(os.path.join(copy, "lib"))
            for name in os.listdir(place):
                if name != "formats":
                    os.symlink(os.path.join(place, name), os.path.join(copy, "lib", name))
            printed = subprocess.run([sys.executable, "-c", code, self.parquet], check=True,
                                     env=os.environ | {"PYTHONPATH": directory},
                                     capture_output=True, text=True)
        self.assertIn("libglint_formats.so, which cannot be loaded", printed.stdout)
        self.assertIn("hint: build it with glint", printed.stdout)


class Functions(WithContext):
    def test_formats(self):
        rdd = self.sc.parquet(self.parquet, ["n", "x", "text"])
        wanted = self.table.select(["n", "x", "text"])
        for form in ("arrow", "polars", "pandas"):
            with self.subTest(form):
                got = rdd.mapBatches(lambda batch: batch, format=form).toArrow()
                self.assertEqual(got.to_pydict(), wanted.to_pydict())

    def test_numpy(self):
        def check(batch):
            assert isinstance(batch["n"], numpy.ma.MaskedArray), type(batch["n"])
            assert not batch["x"].flags.owndata and not batch["x"].flags.writeable
            assert batch["day"].dtype == "M8[D]" and batch["at"].dtype == "M8[us]"
            return {**batch, "double": batch["x"] * 2}

        names = ["n", "x", "text", "ok", "day", "at"]
        rdd = self.sc.parquet(self.parquet, names).mapBatches(check, format="numpy")
        got = rdd.toArrow()
        wanted = self.table.select(names).to_pydict()
        wanted["double"] = [2 * x for x in wanted["x"]]
        got = got.set_column(4, "day", got["day"].cast(pyarrow.date32()))
        self.assertEqual(got.to_pydict(), wanted)

    def test_results(self):
        rdd = self.sc.fromArrow(pyarrow.table({"x": [1, 2, 3, 4]}), 2)
        for f, wanted in ((lambda b: None, []),
                          (lambda b: [b, b], [1, 2, 3, 4] * 2),
                          (lambda b: (b for _ in range(2)), [1, 2, 3, 4] * 2),
                          (lambda b: b["x"].to_numpy() * 1.5, [1.5, 3.0, 4.5, 6.0]),
                          (lambda b: len(b), [4]),
                          (lambda b: {"s": numpy.array(["é", None], object)}, ["é", None]),
                          (lambda b: {"s": numpy.array([b"\0", b"x"])}, [b"", b"x"]),
                          (lambda b: {"t": numpy.array(["2026-01-31", "NaT"], "M8[us]")},
                           [datetime.datetime(2026, 1, 31), None]),
                          (lambda b: {"b": numpy.array([True] * 9 + [False])},
                           [True] * 9 + [False])):
            self.assertEqual(rdd.coalesce(1).mapBatches(f).collect(), wanted)

    def test_chains(self):
        rdd = self.sc.parallelize(range(1000), 3).map(lambda x: (x, f"{x}"))
        got = rdd.mapBatches(lambda b: {"k": b["_1"] * 2, "v": b["_2"]}, "numpy").mapBatches(
            lambda b: b.filter(b["k"] > 1990) if hasattr(b, "filter") else b, "polars")
        self.assertEqual(got.collect(), [(k, f"{k // 2}") for k in (1992, 1994, 1996, 1998)])

    def test_faults(self):
        rdd = self.sc.parquet(self.parquet, ["x"])
        for f, error, wanted in ((lambda b: 1 // 0, ZeroDivisionError, ""),
                                 (lambda b: "text", TypeError, "returns a batch"),
                                 (lambda b: {"a": [1, 2], "b": [1]}, ValueError, "one length"),
                                 (lambda b: {"a": numpy.array([1j])}, TypeError, "complex"),
                                 (lambda b: {"a": numpy.array([1, "x"], object)}, TypeError,
                                  "objects of")):
            with self.assertRaisesRegex(PythonException, wanted) as caught:
                rdd.mapBatches(f).count()
            self.assertIsInstance(caught.exception.__cause__, error)
        with self.assertRaisesRegex(ValueError, "format is one of"):
            rdd.mapBatches(len, format="csv")
        self.assertEqual(rdd.count(), ROWS)  # the context goes on


class Streams(WithContext):
    def sources(self):
        yield self.table
        yield self.table.to_reader(max_chunksize=999)
        yield polars.DataFrame(self.table)
        yield self.table.to_pandas(types_mapper=pandas.ArrowDtype)
        yield duckdb.from_arrow(self.table)

    def test_sources(self):
        for source in self.sources():
            with self.subTest(type(source)):
                rdd = self.sc.fromArrow(source)
                wanted = self.table.drop_columns(["struct"]).to_pydict()
                self.assertEqual(rdd.toArrow().drop_columns(["struct"]).to_pydict(), wanted)
                again = rdd.mapBatches(lambda batch: batch).toArrow()
                self.assertEqual(again.drop_columns(["struct"]).to_pydict(), wanted)
                self.assertEqual(rdd.count(), ROWS)

    def test_nulls_of_polars(self):
        frame = polars.DataFrame({"n": [None, None], "x": [1, 2]})
        self.assertEqual(self.sc.fromArrow(frame).collect(), [(None, 1), (None, 2)])

    def test_nothing_is_copied(self):
        rdd = self.sc.fromArrow(self.table)
        for name in ("n", "x", "text"):
            addresses = [[buffer and buffer.address for buffer in of[name].chunk(0).buffers()]
                         for of in (rdd.toArrow(), self.table)]
            self.assertEqual(*addresses)

    def test_encodings_and_slices(self):
        whole = encodings()
        for first, count in ((0, 90), (1, 89), (13, 40), (64, 3), (90, 0)):
            part = whole.slice(first, count)
            rdd = self.sc.fromArrow(part, 3)
            self.assertEqual(rdd.toArrow().to_pydict(), part.to_pydict())
            got = rdd.mapBatches(lambda batch: batch).toArrow()
            self.assertEqual(got.to_pydict() if count else {}, part.to_pydict() if count else {})

    def test_larger_than_memory(self):
        chunk = pyarrow.record_batch({"x": numpy.arange(1 << 17), "y": numpy.ones(1 << 17)})
        with tempfile.TemporaryDirectory() as directory:
            code = ("import pyarrow, numpy, resource\n"
                    "from glint.pyspark import SparkConf, SparkContext\n"
                    "chunk = pyarrow.record_batch({'x': numpy.arange(1 << 17), "
                    "'y': numpy.ones(1 << 17)})\n"
                    "reader = pyarrow.RecordBatchReader.from_batches(chunk.schema, "
                    "(pyarrow.record_batch({'x': numpy.arange(1 << 17) + i, "
                    "'y': numpy.ones(1 << 17)}) for i in range(200)))\n"
                    "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
                    "conf = SparkConf().set('glint.memory', '64M')\n"
                    "with SparkContext('local[1]', conf=conf) as sc:\n"
                    "    rdd = sc.fromArrow(reader)\n"
                    "    total = rdd.mapBatches(lambda b: int(b['x'].sum()), 'numpy').sum()\n"
                    "    rows = rdd.count()\n"
                    "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
                    "print(total, rows, (after - before) >> 10)\n")
            printed = subprocess.run([sys.executable, "-c", code], check=True, text=True,
                                     capture_output=True, env=os.environ | {"TMPDIR": directory})
        total, rows, grown = map(int, printed.stdout.split())
        self.assertEqual(rows, 200 << 17)
        self.assertEqual(total, sum(int(chunk["x"].to_numpy().sum()) + (i << 17)
                                    for i in range(200)))
        self.assertLess(grown, 200)  # MiB, of 400

    def test_other_objects(self):
        for source in ([1], "text", None, {"a": [1]}):
            with self.assertRaisesRegex(TypeError, "no Arrow C stream interface"):
                self.sc.fromArrow(source)

        def fails():
            yield pyarrow.record_batch({"x": [1]})
            raise OSError("the disk is gone")

        reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"x": pyarrow.int64()}),
                                                        fails())
        with self.assertRaisesRegex(ValueError, "the disk is gone"):
            self.sc.fromArrow(reader)
        column = self.sc.fromArrow(pyarrow.array([1, None, 3]))
        self.assertEqual(column.collect(), [1, None, 3])

    def test_damaged_arrays(self):
        """Their offsets and indexes are checked before anything reads the values."""
        offsets, data = pyarrow.py_buffer(numpy.array([0, 9, 2], "i4")), pyarrow.py_buffer(b"abc")
        bad = pyarrow.Array.from_buffers(pyarrow.string(), 2, [None, offsets, data])
        with self.assertRaisesRegex(ValueError, "offsets of an array fall"):
            self.sc.fromArrow(pyarrow.table({"s": bad}))
        words = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 5], pyarrow.int8()), ["a"],
                                                    safe=False)
        with self.assertRaisesRegex(ValueError, "outside of its dictionary"):
            self.sc.fromArrow(pyarrow.table({"s": words}))


class Results(WithContext):
    def test_other_libraries(self):
        rdd = self.sc.parquet(self.parquet, ["n", "x"])
        wanted = self.table.select(["n", "x"])
        self.assertTrue(rdd.toPolars().equals(polars.DataFrame(wanted)))
        self.assertEqual(rdd.toPandas()["x"].sum(), sum(wanted["x"].to_pylist()))
        self.assertTrue(pyarrow.table(rdd).equals(wanted))
        self.assertTrue(polars.DataFrame(rdd).equals(polars.DataFrame(wanted)))

    def test_duckdb(self):
        """It takes the stream in another thread, after the schema."""
        rdd = self.sc.parquet(self.parquet, ["n", "x"]).mapBatches(
            lambda b: {"x": b["x"] + 1}, "numpy")
        query = duckdb.sql("select count(*), sum(x) from rdd")
        wanted = [(ROWS, sum(self.table["x"].to_pylist()) + ROWS)]
        self.assertEqual(query.fetchall(), wanted)
        self.assertEqual(duckdb.sql("select count(*), sum(x) from rdd").fetchall(), wanted)
        self.assertEqual(len(duckdb.sql("from rdd").fetchall()), ROWS)

    def test_elements(self):
        sc = self.sc
        self.assertEqual(sc.parallelize([1, None, 2.5], 3).toArrow().to_pydict(),
                         {"value": [1, None, 2.5]})
        self.assertEqual(sc.parallelize([(1, "a"), (2, "b")], 2).toArrow().to_pydict(),
                         {"_1": [1, 2], "_2": ["a", "b"]})
        self.assertEqual(sc.parallelize([{"a": 1}, {"a": 2}], 1).toPandas()["a"].tolist(), [1, 2])
        self.assertEqual(sc.emptyRDD().toArrow().num_rows, 0)
        self.assertEqual(polars.DataFrame(sc.parallelize([1, 2.5], 2))["value"].to_list(), [1, 2.5])
        for partitions in 1, 2:
            rows = [{"a": 1}, {"b": 2, "a": 3}]  # each key is a column, wherever it is first
            self.assertEqual(sc.parallelize(rows, partitions).toArrow().to_pydict(),
                             {"a": [1, 3], "b": [None, 2]})
            for rows in [(1, 2), (1, 2, 3)], [1, (1, 2)], [(1,), {"a": 1}], [1, {"a": 1}], [{}, ()]:
                with self.assertRaisesRegex((PythonException, TypeError), "the elements|no row"):
                    sc.parallelize(rows, partitions).toArrow()
        with self.assertRaisesRegex(PythonException, "tuples of one length"):
            sc.parallelize([(1, 2), (1,)], 1).toArrow()

    def test_unused_capsules(self):
        """What no program takes is released with the next one."""
        batch = next(batches_of(pyarrow.record_batch({"x": numpy.arange(1000)})))
        for _ in range(50):
            batch.__arrow_c_stream__()
            batch.__arrow_c_array__()
        gc.collect()
        self.assertLess(len(_blocks._given), 4)  # pylint: disable=protected-access


class Readme(WithContext):
    def test_example(self):
        type(self).sc.stop()
        page = (pathlib.Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
        example = re.search(r"^```python\n(import duckdb\n.*?)^```", page, re.M | re.S)[1]
        os.mkdir(self.path("visits"))
        visits = pyarrow.table({"country": ["a", "b", "a"], "seconds": [60, 120, 30]})
        pyarrow.parquet.write_table(visits, self.path("visits/1.parquet"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)
        place = {}
        exec(compile(example, "README.md", "exec"), place)  # pylint: disable=exec-used
        self.assertEqual(place["table"].toArrow().to_pydict(), {"minutes": [1.0, 2.0, 0.5]})


class Blocks(unittest.TestCase):
    def test_decode(self):
        batch = next(batches_of(table().to_batches()[0]))
        block = bytes(batch.encode(3, 20))
        self.assertTrue(pyarrow.table(Batch.decode(block)).equals(table().slice(3, 20)))
        for size in (0, 8, 24, 64, len(block) - 1):
            with self.assertRaisesRegex(ValueError, "columns of Arrow"):
                Batch.decode(block[:size])

    def test_numpy(self):
        columns = {"i": numpy.arange(5, dtype="i2"), "f": numpy.arange(10.0)[::2],
                   "big": numpy.arange(5, dtype=">i4"), "d": numpy.arange(5).astype("m8[ns]"),
                   "m": numpy.ma.masked_array(range(5), [0, 1, 0, 0, 1])}
        got = to_numpy(from_numpy(columns))
        for name, values in columns.items():
            self.assertEqual(got[name].tolist(), values.tolist())
        with self.assertRaisesRegex(ValueError, "dimensions"):
            from_numpy({"a": numpy.zeros((2, 2))})


    def test_names_that_are_equal(self):
        twice = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], ["a", "a"])
        with self.assertRaisesRegex(ValueError, "two columns have one name"):
            to_numpy(list(batches_of(twice))[0])


class Context(WithContext):
    """glint.Context, whose functions are built-in ones."""

    def test_parquet(self):
        with glint.Context("local[2]") as sc:
            rdd = sc.parquet(self.parquet, ["text", "x"])
            self.assertEqual(rdd.count(), ROWS - ROWS // 5)
            self.assertEqual(sc.counter("null rows"), ROWS // 5)
            self.assertEqual(rdd.reduceByKey("sum_f64").take(1), [("é1", 0.125)])
            self.assertEqual(sc.parquet(self.parquet, ["x"]).sum(),
                             sum(self.table["x"].to_pylist()))
            self.assertEqual(sc.parquet(self.parquet, ["n", "n"]).take(2), [(1, 1), (2, 2)])
            self.assertEqual(sc.parquet(self.parquet, ["day"]).first(), "2026-01-31")
            self.assertEqual(rdd.toArrow().column_names, ["_1", "_2"])
            self.assertEqual(sc.parallelize([1, 2]).toArrow().to_pydict(), {"value": [1, 2]})
            with self.assertRaisesRegex(ValueError, "no column is named 'q'"):
                sc.parquet(self.parquet, ["q"])
            with self.assertRaisesRegex(ValueError, "no file of columns"):
                sc.parquet(__file__, ["q"])
            with self.assertRaisesRegex(TypeError, "one or two names"):
                sc.parquet(self.parquet, "x")

    def test_jobs(self):
        """The program of the wheel reads Parquet, too."""
        result = glint.run("count-keys", self.parquet, self.path("counts"), key="text",
                           key_column="day", overwrite=True)
        self.assertEqual(len(list(result.outputs[0])), 99)


class OnCluster(ClusterCase):
    def test_the_same_batches(self):
        """The driver's libglint.so goes to the executors, whose Python may have no glint."""
        parquet = os.path.join(self.directory, "numbers.parquet")
        rows = pyarrow.table({"a": range(30000), "b": [f"text {i % 7}" for i in range(30000)]})
        pyarrow.parquet.write_table(rows, parquet, row_group_size=4000)
        results = []
        for master in "local[2]", self.configure():
            with SparkContext(master) as sc:
                squares = sc.parquet(parquet).mapBatches(lambda b: {"n": b["a"] * b["a"]}, "numpy")
                texts = sc.fromArrow(rows, 5).mapBatches(lambda batch: batch.select(["b"]))
                more = sc.parallelize(range(100), 4).mapBatches(
                    lambda b: {"x": b["value"] + numpy.int64(1)}, "numpy")
                results.append((squares.toArrow().to_pydict(), texts.map(len).sum(),
                                more.filter(lambda x: x % 2).collect(), more.count()))
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0][0]["n"], [i * i for i in range(30000)])
        self.assertEqual(results[0][1:], (6 * 30000, list(range(1, 101, 2)), 100))


if __name__ == "__main__":
    unittest.main()
