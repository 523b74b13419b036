"""--partition-by: directories that DuckDB, pyarrow, Polars and glint itself read as the columns."""

import datetime
import os

import duckdb
import polars
import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet

from command import Command

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")

NAMES = [None, "", "a/b", "x=y", "\u00fc", "%", ".", "..", " ", "a:b", "q\"'", "a\\b", "#?*",
         "{[]}^", "a+b", "\x01\x7f", "__HIVE_DEFAULT_PARTITION__", "A-_0~", "a\nb", "%41"]


def rows():
    count = 3 * len(NAMES)
    day = datetime.date(2026, 1, 31)
    return pyarrow.table({
        "n": pyarrow.array(range(count)), "d t": NAMES * 3,
        "list": pyarrow.array([[i] for i in range(count)]),
        "day": [day if i % 2 else None for i in range(count)],
        "k": pyarrow.array([i % 3 for i in range(count)], pyarrow.int32())})


class Partitions(Command):
    def setUp(self):
        super().setUp()
        self.rows = rows()
        pyarrow.parquet.write_table(self.rows, self.path("in"), row_group_size=7)

    def save(self, columns, *more, name="out"):
        self.run_glint("select", "--partition-by", columns, "--split-size", "1", *more,
                       self.path("in"), self.path(name))

    def test_zeros_are_one_directory(self):
        pyarrow.parquet.write_table(pyarrow.table({
            "f": pyarrow.array([0.0, -0.0, -0.5, None]), "g": pyarrow.array(
                [-0.0, 0.0, 1.5, -0.0], pyarrow.float32()), "n": [1, 2, 3, 4]}),
            self.path("zeros.parquet"))
        for column, wanted in (("f", 3), ("g", 2)):
            self.run_glint("select", "--partition-by", column, self.path("zeros.parquet"),
                           self.path("out"))
            names = [name for name in os.listdir(self.path("out")) if "=" in name]
            self.assertEqual(len(names), wanted, names)
            self.assertFalse([name for name in names if name.endswith("=-0.0")], names)

    def test_directories_are_those_of_duckdb(self):
        self.save("d t")
        duckdb.register("rows", self.rows)
        duckdb.execute(f"copy rows to '{self.path('duckdb')}' "
                       "(format parquet, partition_by (\"d t\"))")
        found = sorted(name for name in os.listdir(self.path("out")) if "=" in name)
        self.assertEqual(found, sorted(os.listdir(self.path("duckdb"))))
        self.assertEqual(sorted(os.listdir(self.path("out"))), sorted(found + ["_SUCCESS"]))

    def test_others_read_the_same_rows(self):
        # DuckDB and Polars read no names with escapes; for pyarrow %5F_HIVE... is null, too.
        self.rows = self.rows.rename_columns(["n", "dt", "list", "day", "k"])
        self.rows = self.rows.filter(pyarrow.compute.invert(pyarrow.compute.equal(
            self.rows["dt"], "__HIVE_DEFAULT_PARTITION__").fill_null(False)))
        pyarrow.parquet.write_table(self.rows, self.path("in"), row_group_size=7)
        self.save("dt")
        parts = self.path("out/**/*.parquet")
        query = f"select n, dt, list, day, k from read_parquet('{parts}', " \
                "hive_partitioning = true, hive_types = {'dt': varchar}) order by n"
        expected = self.rows.to_pylist()
        self.assertEqual(duckdb.sql(query).fetchall(), [tuple(row.values()) for row in expected])
        schema = self.rows.schema
        hive = pyarrow.dataset.partitioning(pyarrow.schema([("dt", pyarrow.string())]),
                                            flavor="hive")
        read = pyarrow.dataset.dataset(self.path("out"), format="parquet", partitioning=hive,
                                       exclude_invalid_files=True).to_table()
        self.assertEqual(read.select(schema.names).sort_by("n").to_pylist(), expected)
        read = polars.scan_parquet(parts, hive_partitioning=True,
                                   hive_schema={"dt": polars.String}).collect()
        self.assertEqual(read.select(schema.names).sort("n").to_dicts(), expected)

    def test_glint_reads_the_same_rows(self):
        text = self.rows.set_column(3, "day", self.rows["day"].cast(pyarrow.string()))
        for number, shape in enumerate((("--master", "local[1]"), ("--master", "local[3]"),
                                        ("--encode-messages",), ("--partitions", "5"),
                                        ("--cluster", os.path.join(ROOT, "cluster.toml")))):
            name = f"out{number}"
            self.save("day,d t", *shape, name=name)
            self.run_glint("sort", "--by", "n:n", self.path(f"{name}/**"), self.path("back"))
            read = self.table("back").select(text.schema.names)
            self.assertEqual(read.to_pylist(), text.to_pylist())
            self.assertEqual(read["list"].type, self.rows["list"].type)
        self.run_glint("select", "--where", "day = '2026-01-31' AND \"d t\" = 'a/b'", "--columns",
                       "n", "--output-format", "csv", self.path("out0/**"), self.path("csv"))

    def test_rows_stay_in_order(self):
        for job in (["sort", "--by", "n:nr"], ["select"]):
            self.run_glint(*job, "--partition-by", "k", "--output-format", "arrow",
                           "--split-size", "1", "--partitions", "3", self.path("in"),
                           self.path("out-" + job[0]))
            for part in self.parts("out-" + job[0]):
                with pyarrow.ipc.open_file(part) as file:
                    numbers = file.read_all()["n"].to_pylist()
                self.assertEqual(numbers, sorted(numbers, reverse=job[0] == "sort"))
                self.assertEqual(len(numbers), self.rows.num_rows / 3)

    def test_a_failed_job_leaves_nothing(self):
        bad = pyarrow.table({"k": ["a", "b" * 300], "n": [1, 2]})
        pyarrow.parquet.write_table(bad, self.path("in"))
        _, error = self.run_glint("select", "--partition-by", "k", self.path("in"),
                                  self.path("out"), code=65)
        self.assertIn("the name of a directory is longer than 255 bytes", error)
        many = pyarrow.table({"k": [f"{i}" for i in range(10001)], "n": list(range(10001))})
        pyarrow.parquet.write_table(many, self.path("in"))
        _, error = self.run_glint("select", "--partition-by", "k", "--partitions", "4",
                                  "--no-sync", self.path("in"), self.path("out"), code=70)
        self.assertIn("more than 10000 directories", error)
        self.assertEqual(sorted(os.listdir(self.directory)), ["in"])

    def test_an_output_of_directories_is_replaced(self):
        self.save("d t,k")
        self.save("day")
        self.assertEqual(sorted(os.listdir(self.path("out"))),
                         ["_SUCCESS", "day=2026-01-31", "day=__HIVE_DEFAULT_PARTITION__"])
        self.run_glint("select", self.path("in"), self.path("out"))
        self.assertTrue(self.table("out").equals(self.rows))
        self.save("k")
        with open(self.path("out/k=1/mine"), "w", encoding="utf-8"):
            pass
        _, error = self.run_glint("select", self.path("in"), self.path("out"), code=73)
        self.assertIn("contains k=1/mine, which was not written by glint", error)
        self.assertEqual(len(self.parts("out")), 3)
        os.remove(self.path("out/k=1/mine"))
        _, error = self.run_glint("select", self.path("out/**"), self.path("out"), code=73)
        self.assertIn("which --overwrite would replace", error)

    def test_what_cannot_name_directories(self):
        for columns, message in (("none", "is no column of OUTPUT"), ("k,k", "is there twice"),
                                 ("list", "has bytes or nested values"),
                                 ("n,d t,day,k,list", "no column is left for rows")):
            _, error = self.run_glint("select", "--partition-by", columns, self.path("in"),
                                      self.path("out"), code=64)
            self.assertIn(message, error)
        _, error = self.run_glint("select", "--columns", "n, k AS _k", "--partition-by", "_k",
                                  self.path("in"), self.path("out"), code=64)
        self.assertIn("is no name of a directory that is read", error)
        _, error = self.run_glint("select", "--partition-by", "k", "--output-format", "csv",
                                  self.path("in"), self.path("out"), code=64)
        self.assertIn("--partition-by has no meaning for a text output", error)
        _, error = self.run_glint("split-dataset", "--partition-by", "k", self.path("in"),
                                  self.path("a"), self.path("b"), code=64)
        self.assertIn("needs a job with one output", error)
