"""Jobs of glint on files of real writers: the results that they have on the same rows as text, and
types that stay from input to output."""

import datetime
import decimal
import os
import shutil
import socket
import subprocess

import duckdb
import fastparquet
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet

from command import GLINT, Command

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
ROWS = 30_000


def ratings():
    """(id, rating, votes), some null."""
    ids = [f"tt{i * 7919 % 1_000_003:07d}" for i in range(ROWS)]
    rating = [None if i % 97 == 0 else i * 31 % 91 / 10 + 1 for i in range(ROWS)]
    votes = [None if i % 89 == 0 else i * 17 % 5000 for i in range(ROWS)]
    return pyarrow.table({"id": ids, "rating": rating,
                          "votes": pyarrow.array(votes, pyarrow.int64())})


def kept_types():
    """Columns whose types stay."""
    d, day, time = decimal.Decimal, datetime.date, datetime.datetime
    return pyarrow.table({
        "b": pyarrow.array([True, None, False]),
        "i8": pyarrow.array([-128, None, 127], pyarrow.int8()),
        "u8": pyarrow.array([0, None, 255], pyarrow.uint8()),
        "i16": pyarrow.array([-2 ** 15, None, 2 ** 15 - 1], pyarrow.int16()),
        "u16": pyarrow.array([0, None, 2 ** 16 - 1], pyarrow.uint16()),
        "i32": pyarrow.array([-2 ** 31, None, 2 ** 31 - 1], pyarrow.int32()),
        "u32": pyarrow.array([0, None, 2 ** 32 - 1], pyarrow.uint32()),
        "i64": pyarrow.array([-2 ** 63, None, 2 ** 63 - 1], pyarrow.int64()),
        "u64": pyarrow.array([0, None, 2 ** 64 - 1], pyarrow.uint64()),
        "f32": pyarrow.array([0.1, None, 3.4028235e38], pyarrow.float32()),
        "f64": pyarrow.array([0.1, None, -0.0]),
        "dec": pyarrow.array([d("123.45"), None, d("-0.05")], pyarrow.decimal128(38, 2)),
        "date": pyarrow.array([day(2024, 2, 29), None, day(1, 1, 1)]),
        "ms": pyarrow.array([time(2026, 1, 2, 3, 4, 5, 6000), None, time(1969, 12, 31, 23)],
                            pyarrow.timestamp("ms")),
        "ns": pyarrow.array([1, None, -1], pyarrow.timestamp("ns", "UTC")),
        "s": pyarrow.array(["", None, "x,\"y\"\n\\N\t"]),
        "bin": pyarrow.array([b"a", None, b"\x00\xff"]),
        "ls": pyarrow.array(["", None, "x" * 300], pyarrow.large_string()),
        "lb": pyarrow.array([b"", None, b"\xff"], pyarrow.large_binary()),
        "fixed": pyarrow.array([b"abc", None, b"\x00\xff\x01"], pyarrow.binary(3)),
        "f16": pyarrow.array([65504, None, 6e-8], pyarrow.float16()),
        "t32": pyarrow.array([0, None, 86399999], pyarrow.time32("ms")),
        "t64": pyarrow.array([1, None, 86399999999999], pyarrow.time64("ns")),
        "took": pyarrow.array([-5, None, 7], pyarrow.duration("us")),
        "d32": pyarrow.array([d("9.99"), None, d("-9.99")], pyarrow.decimal32(3, 2)),
        "d64": pyarrow.array([d("9.99"), None, d("-0.01")], pyarrow.decimal64(18, 2)),
        "date64": pyarrow.array([day(2026, 1, 31), None, day(1, 1, 1)], pyarrow.date64()),
    })


class Jobs(Command):
    def write_text(self, table):
        with open(self.path("text"), "w", encoding="utf-8") as file:
            for row in table.to_pylist():
                file.write("\t".join("\\N" if v is None else str(v) for v in row.values()) + "\n")

    def write_all(self, table):
        """Yields the names of files with this table."""
        pyarrow.parquet.write_table(table, self.path("pyarrow"), row_group_size=7000,
                                    compression="zstd")
        yield "pyarrow"
        duckdb.register("ratings", table)
        duckdb.execute(f"copy ratings to '{self.path('duckdb')}' "
                       "(format parquet, row_group_size 2048)")
        yield "duckdb"
        polars.from_arrow(table).write_parquet(self.path("polars"), row_group_size=5000)
        yield "polars"
        fastparquet.write(self.path("fastparquet"), table.to_pandas(), compression="SNAPPY")
        yield "fastparquet"
        for name, writer in (("arrow", pyarrow.ipc.new_file), ("stream", pyarrow.ipc.new_stream)):
            with writer(self.path(name), table.schema) as file:
                file.write_table(table, max_chunksize=3000)
            yield name

    def test_counts_and_filters_are_those_of_text(self):
        table = ratings()
        self.write_text(table)
        for arguments in (("--key", "rating"), ("--key", "text", "--key-column", "1")):
            self.run_glint("count-keys", *arguments, self.path("text"), self.path("counts"))
            counts = self.output("counts")
            for name in self.write_all(table):
                for shape in (("--master", "local[1]"), ("--master", "local[3]"),
                              ("--encode-messages",)):
                    self.run_glint("count-keys", *arguments, *shape, "--split-size", "100K",
                                   self.path(name), self.path("out"))
                    self.assertEqual(sorted(self.output("out").splitlines()),
                                     sorted(counts.splitlines()), (name, arguments, shape))
        self.run_glint("count-keys", self.path("text"), self.path("counts"))
        self.run_glint("bloom-build", "0.01", self.path("text"), self.path("counts"),
                       self.path("filters"))
        filters = self.output("filters")
        for name in ("pyarrow", "duckdb", "arrow"):
            self.run_glint("bloom-build", "0.01", self.path(name), self.path("counts"),
                           self.path("out"))
            self.assertEqual(self.output("out"), filters, name)

    def test_executors_write_the_same_bytes(self):
        pyarrow.parquet.write_table(ratings(), self.path("in"), row_group_size=3000)
        cluster = ("--cluster", os.path.join(ROOT, "cluster.toml"))
        for job in (("count-keys",), ("sort", "--by", "votes:n")):
            outputs = []
            for shape in (), cluster:
                self.run_glint(*job, *shape, "--partitions", "3", "--split-size", "50K",
                               self.path("in"), self.path("out"))
                outputs.append(self.output("out"))
            self.assertEqual(outputs[0], outputs[1], job)

    def test_an_executor_without_the_library(self):
        """It ends the job with its name, when it begins its first task."""
        pyarrow.parquet.write_table(ratings(), self.path("in"), row_group_size=3000)
        program = shutil.copy(GLINT, self.path("glint"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with open(self.path("cluster"), "w", encoding="utf-8") as file:
            file.write('cluster = "one"\nlaunch = "none"\n[[executor]]\nid = "incomplete"\n'
                       f'host = "127.0.0.1"\nport = {port}\nslots = 1\n')
        daemon = subprocess.Popen([program, "executor", "--cluster", self.path("cluster"), "--id",
                                   "incomplete"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, env=os.environ | {"HOME": self.directory})
        self.addCleanup(daemon.stdout.close)
        self.addCleanup(daemon.wait, 60)
        self.addCleanup(daemon.terminate)
        self.assertIn("ready", daemon.stdout.readline())
        run = subprocess.run([GLINT, "submit", "count-keys", "--cluster", self.path("cluster"),
                              self.path("in"), self.path("out")],
                             check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, env=os.environ | {"HOME": self.directory})
        self.assertEqual(run.returncode, 69, run.stdout)
        self.assertIn("error[E0215]", run.stdout)
        self.assertRegex(run.stdout, r"failed on incomplete \(127\.0\.0\.1\)")
        self.assertFalse(os.path.exists(self.path("out")))

    def test_a_join_of_both_forms(self):
        table = ratings()
        self.write_text(table)
        pyarrow.parquet.write_table(table, self.path("parquet"))
        self.run_glint("join", "--type", "semi", "--key-column", "1", self.path("text"),
                       self.path("parquet"), self.path("out"))
        self.assertEqual(len(self.output("out").splitlines()), ROWS)

    def test_a_join_of_rows_that_mostly_do_not_match(self):
        """Rows without a match are not made, whatever the method; bad ones are found all the same.
        """
        keys = [None if i % 97 == 0 else "" if i % 101 == 0 else f"k{i}" for i in range(5000)]
        left = pyarrow.table({"id": keys, "n": list(range(5000)),
                              "f": [i / 8 for i in range(5000)]})
        right = pyarrow.table({"id": [f"k{i}" for i in range(0, 5000, 10)] + [None, ""],
                               "m": list(range(502))})
        pyarrow.parquet.write_table(left, self.path("left"), row_group_size=1500)
        pyarrow.parquet.write_table(right, self.path("right"))
        found = {k: m for k, m in zip(right["id"].to_pylist(), range(502)) if k is not None}
        inner = [(i, found[k]) for i, k in enumerate(keys) if k in found]
        expected = {"inner": inner, "semi": [(i, None) for i, _ in inner],
                    "left": [(i, found.get(k)) for i, k in enumerate(keys)],
                    "anti": [(i, None) for i, k in enumerate(keys) if k not in found]}
        job = ("join", "--key-column", "id", "--method")
        for method in "broadcast", "bloom", "shuffle":
            for kind, rows in expected.items():
                self.run_glint(*job, method, "--type", kind, self.path("left"), self.path("right"),
                               self.path("out"))
                out = pyarrow.parquet.read_table(self.path("out")).to_pylist()
                self.assertEqual(sorted((row["n"], row.get("m")) for row in out),
                                 sorted(rows), (method, kind))
        run = subprocess.run([GLINT, "submit", "--overwrite", *job, "bloom", self.path("left"),
                              self.path("right"), self.path("out")], check=True, text=True,
                             stderr=subprocess.PIPE, env=os.environ | {"HOME": self.directory})
        self.assertRegex(run.stderr, rf"kept \d+ of {5000 - left['id'].null_count} rows out of")
        values = ["\x1f" if key == "k4999" else "x" for key in keys]
        pyarrow.parquet.write_table(left.append_column("s", [values]), self.path("left"))
        for method in "broadcast", "bloom":
            self.run_glint(*job, method, self.path("left"), self.path("right"), self.path("out"))
            out = pyarrow.parquet.read_table(self.path("out")).to_pylist()
            self.assertEqual(sorted((row["n"], row["s"], row["m"]) for row in out),
                             sorted((n, values[n], m) for n, m in expected["inner"]), method)

    def test_a_sort_of_several_partitions(self):
        """Its ranges are chosen by the sorted column alone."""
        table = ratings().append_column("at", [list(range(ROWS))])
        pyarrow.parquet.write_table(table, self.path("in"), row_group_size=7000)
        for where in (), ("--where", "rating > 2"):
            self.run_glint("sort", "--by", "votes:n", "--partitions", "4", *where, self.path("in"),
                           self.path("out"))
            self.assertEqual(len([name for name in os.listdir(self.path("out"))
                                  if name.startswith("part-")]), 4)
            out = pyarrow.parquet.read_table(self.path("out")).to_pylist()
            rows = [row for row in table.to_pylist() if not where or (row["rating"] or 0) > 2]
            rows.sort(key=lambda row: -1 if row["votes"] is None else row["votes"])
            self.assertEqual([row["at"] for row in out], [row["at"] for row in rows])

    def test_types_stay(self):
        table = kept_types()
        pyarrow.parquet.write_table(table, self.path("in"))
        self.run_glint("sample", "--fraction", "1", self.path("in"), self.path("out"))
        saved = pyarrow.parquet.read_table(self.path("out/part-00000.parquet"))
        expected = pyarrow.parquet.read_table(self.path("in"))
        for name in table.column_names:
            self.assertEqual(saved[name].type, expected[name].type, name)
            self.assertTrue(saved[name].equals(expected[name]), name)
        self.run_glint("sort", "--by", "i64:n", "--output-format", "arrow", "--compress", "zstd",
                       self.path("in"), self.path("out"))
        with pyarrow.ipc.open_file(self.path("out/part-00000.arrow")) as file:
            self.assertEqual(file.read_all()["i64"].to_pylist(), [None, -2 ** 63, 2 ** 63 - 1])

    def test_types_of_arrow_in_both_formats(self):
        table = kept_types()
        table = table.append_column("fraction", pyarrow.array(
            [decimal.Decimal(n) for n in ("0." + "9" * 38, "-0." + "0" * 37 + "1", "0")],
            pyarrow.decimal128(38, 38)))
        table = table.append_column("least", pyarrow.array(
            [-2 ** 63, None, 2 ** 63 - 1], pyarrow.timestamp("ns")))
        for name, type_ in (("seconds", pyarrow.timestamp("s")),
                            ("zoned", pyarrow.timestamp("s", "Europe/Berlin")),
                            ("time", pyarrow.time32("s"))):
            table = table.append_column(name, pyarrow.array([1, None, 5], type_))
        with pyarrow.ipc.new_file(self.path("in"), table.schema) as file:
            file.write_table(table)
        self.run_glint("sample", "--fraction", "1", self.path("in"), self.path("out"))
        with pyarrow.ipc.open_file(self.path("out/part-00000.arrow")) as file:
            self.assertTrue(file.read_all().equals(table))
        # Parquet has no seconds: what pyarrow makes of them.
        pyarrow.parquet.write_table(table, self.path("expected"))
        expected = pyarrow.parquet.read_table(self.path("expected"))
        self.run_glint("sample", "--fraction", "1", "--output-format", "parquet", self.path("in"),
                       self.path("out"))
        saved = pyarrow.parquet.read_table(self.path("out/part-00000.parquet"))
        for name in table.column_names:
            self.assertEqual(saved[name].type, expected[name].type, name)
            self.assertTrue(saved[name].equals(expected[name]), name)

    def test_row_groups_and_bloom_filters(self):
        table = pyarrow.table({"k": [f"k{i}" for i in range(5000)], "n": list(range(5000))})
        pyarrow.parquet.write_table(table, self.path("in"))
        self.run_glint("sort", "--by", "n:n", "--row-group-rows", "1000", "--bloom-filter", "n,k",
                       self.path("in"), self.path("out"))
        part = self.path("out/part-00000.parquet")
        metadata = pyarrow.parquet.ParquetFile(part).metadata
        self.assertEqual([metadata.row_group(i).num_rows for i in range(5)], [1000] * 5)
        for column, value in (("n", "2500"), ("k", "'k2500'")):
            probe = f"parquet_bloom_probe('{part}', '{column}', {value})"
            excluded = duckdb.sql(f"select bloom_filter_excludes from {probe}").fetchall()
            self.assertEqual(excluded[2], (False,))

    def test_columns_as_text(self):
        table = pyarrow.table({"k": ["b", None, "a,\"x"], "n": [[1, None], [], None]})
        pyarrow.parquet.write_table(table, self.path("in"), row_group_size=1)
        csv = 'k,n\nb,"[1,null]"\n\\N,[]\n"a,""x",\\N\n'
        self.run_glint("sample", "--fraction", "1", "--split-size", "1", self.path("in"),
                       self.path("out"))
        self.assertEqual(len([name for name in os.listdir(self.path("out"))
                              if name.endswith(".parquet")]), 3)
        run = subprocess.run([GLINT, "cat", self.path("out")], check=True, capture_output=True)
        self.assertEqual(run.stdout.decode(), csv)
        subprocess.run([GLINT, "cat", self.path("in"), self.path("csv")], check=True)
        with open(self.path("csv"), encoding="utf-8") as file:
            self.assertEqual(file.read(), csv)
        command = [GLINT, "submit", "-q", "sort", "--by", "k"]
        run = subprocess.run([*command, "--output-format", "jsonl", self.path("in"), "-"],
                             check=True, capture_output=True)
        self.assertEqual(run.stdout.decode().splitlines(),
                         ['{"k":null,"n":[]}', '{"k":"a,\\"x","n":null}', '{"k":"b","n":[1,null]}'])
        with open(self.path("in"), "rb") as file:
            run = subprocess.run([GLINT, "submit", "-q", "select", "--output-format", "jsonl", "-",
                                  "-"], check=True, stdin=file, capture_output=True)
        self.assertEqual(run.stdout.decode().splitlines()[1], '{"k":null,"n":[]}')
        run = subprocess.run([*command, self.path("in"), "-"], check=False, capture_output=True)
        self.assertEqual((run.returncode, run.stdout), (64, b""))
        self.assertIn(b"cannot be written to standard output", run.stderr)

    def test_results_of_jobs_have_types(self):
        amounts = [decimal.Decimal(n) for n in ("1.25", "2.50", "4.00")]
        table = pyarrow.table({"k": ["a", "b", "a"], "n": pyarrow.array([1, 2, 2 ** 62]),
                               "amount": pyarrow.array(amounts, pyarrow.decimal128(9, 2))})
        pyarrow.parquet.write_table(table, self.path("in"))
        self.run_glint("agg", "--by", "k", "--sum", "n,amount", "--mean", "n", "--count",
                       self.path("in"), self.path("out"))
        self.assertEqual(pyarrow.parquet.read_table(self.path("out")).to_pylist(), [
            {"k": "a", "sum(n)": 2 ** 62 + 1, "sum(amount)": decimal.Decimal("5.25"),
             "mean(n)": 2.0 ** 61, "count": 2},
            {"k": "b", "sum(n)": 2, "sum(amount)": amounts[1], "mean(n)": 2.0, "count": 1}])
        self.run_glint("select", "--columns", "n + 1 AS next, amount * 2 AS twice, n > 1 AS many",
                       self.path("in"), self.path("out"))
        self.assertEqual(pyarrow.parquet.read_table(self.path("out")).to_pydict(), {
            "next": [2, 3, 2 ** 62 + 1], "twice": [2 * n for n in amounts],
            "many": [False, True, True]})

    def test_calculated_columns_stay_exact(self):
        """Results of decimals, of unsigned integers and of literals with decimals are decimals."""
        amount = decimal.Decimal("12345678901234567890.125")
        table = pyarrow.table({"n": [2, -3], "u": pyarrow.array([2 ** 64 - 1, 0], pyarrow.uint64()),
                               "f": [0.5, 1.5],
                               "amount": pyarrow.array([amount, None], pyarrow.decimal128(30, 3))})
        pyarrow.parquet.write_table(table, self.path("in"))
        self.run_glint("select", "--columns", "amount * 2 AS a, amount + 0.0001 AS b, u + 1 AS c, "
                       "n * 1.5 AS d, -(n - 1) AS e, n / 2 AS f, f * 2 AS g, amount % 2 AS h, "
                       "amount * f AS i", self.path("in"), self.path("out"))
        out = pyarrow.parquet.read_table(self.path("out"))
        types = ["decimal128(38, 3)", "decimal128(38, 4)", "decimal128(38, 0)", "decimal128(38, 1)",
                 "int64", "double", "double", "decimal128(38, 3)", "double"]
        self.assertEqual([str(t) for t in out.schema.types], types)
        self.assertEqual(out.to_pylist(), [
            {"a": 2 * amount, "b": amount + decimal.Decimal("0.0001"), "c": 2 ** 64, "d": 3,
             "e": -1, "f": 1.0, "g": 1.0, "h": decimal.Decimal("0.125"), "i": float(amount) / 2},
            {"a": None, "b": None, "c": 1, "d": decimal.Decimal("-4.5"), "e": 4, "f": -1.5,
             "g": 3.0, "h": None, "i": None}])

    def test_conditions_know_the_types_of_columns(self):
        day = datetime.date(2026, 1, 31)
        table = pyarrow.table({"i": [9, 10, -3], "u": pyarrow.array([10, 9, 7], pyarrow.uint8()),
                               "f": [9.5, -0.25, -96.5], "g": pyarrow.array([-1, 9, -7.5], "float"),
                               "d": [day, None, day.replace(day=1)], "b": [True, False, None],
                               "t": ["9", "10", "-3"], "r": [{"n": 9}, {"n": 10}, {"n": 100}],
                               "k": pyarrow.array(["9", "a", "b"]).dictionary_encode()})
        pyarrow.parquet.write_table(table, self.path("in"))
        for condition, rows in (("i < u", [9, -3]), ("f < g", [10, -3]), ("i > r.n", []),
                                ("u = '010'", [9]), ("d >= '2026-01-31'", [9]),
                                ("d IN ('2026-01-01')", [-3]), ("b", [9]), ("b = 'false'", [10]),
                                ("t < k", [10, -3]), ("t = i", [9, 10, -3]), ("i LIKE '%0'", [10])):
            with self.subTest(condition):
                self.run_glint("select", "--where", condition, "--columns", "i", self.path("in"),
                               self.path("out"))
                out = pyarrow.parquet.read_table(self.path("out"))
                self.assertEqual(out.column("i").to_pylist(), rows)
        for condition in ("i = 'x'", "d > 5", "b + 1 > 0", "i"):
            with self.subTest(condition):
                self.run_glint("select", "--where", condition, self.path("in"), self.path("out"),
                               code=64)

    def test_orders_know_the_types_of_columns(self):
        days = [datetime.date(2026, 1, n) for n in (3, 1, 2)]
        table = pyarrow.table({"n": [9, 10, -1], "day": days, "k": ["9", "10", "b"],
                               "m": [decimal.Decimal(n) for n in ("9.5", "-10.0", "100.0")]})
        pyarrow.parquet.write_table(table, self.path("in"))

        def order(*job):
            self.run_glint(*job, self.path("in"), self.path("out"))
            return pyarrow.parquet.read_table(self.path("out")).column("n").to_pylist()

        self.assertEqual(order("top", "3", "--by", "n"), [10, 9, -1])
        self.assertEqual(order("top", "3", "--by", "day"), [9, -1, 10])
        self.assertEqual(order("top", "3", "--by", "k"), [-1, 9, 10])
        self.assertEqual(order("top", "3", "--by", "n", "--text"), [9, 10, -1])
        self.assertEqual(order("sort", "--by", "n"), [-1, 9, 10])
        self.assertEqual(order("sort", "--by", "m:r"), [-1, 9, 10])
        self.assertEqual(order("sort", "--by", "n:t"), [-1, 10, 9])
        self.assertEqual(order("sort", "--by", "n:tr"), [9, 10, -1])
        self.assertEqual(order("sort", "--by", "k"), [10, 9, -1])
        reals = pyarrow.table({"n": [1, 2, 3, 4, 5], "f": [float("nan"), float("inf"), 1e300,
                                                           float("-inf"), None]})
        pyarrow.parquet.write_table(reals, self.path("reals"))
        self.run_glint("sort", "--by", "f", self.path("reals"), self.path("out"))
        self.assertEqual(pyarrow.parquet.read_table(self.path("out")).column("n").to_pylist(),
                         [5, 4, 3, 2, 1])
        self.assertEqual(order("sort", "--by", "day", "--reverse"), [9, -1, 10])
        self.run_glint("agg", "--min", "n,day,k", "--max", "n:t", self.path("in"), self.path("out"))
        self.assertEqual(pyarrow.parquet.read_table(self.path("out")).to_pylist(), [
            {"min(n)": -1, "min_text(day)": days[1], "min_text(k)": "10", "max_text(n)": 9}])

    def test_zeros_of_keys_have_no_sign(self):
        """-0.0 and 0.0 are one key, as in SQL; a column that is no key keeps its -0.0."""
        dictionary = pyarrow.array([0.0, -0.0, -0.0, 1.5]).dictionary_encode()
        for name, type_ in (("f64", pyarrow.float64()), ("f32", pyarrow.float32()),
                            ("f16", pyarrow.float16()), ("dictionary", None)):
            with self.subTest(name):
                values = [0.0, -0.0, -0.0, 1.5]
                zeros = dictionary if type_ is None else pyarrow.array(values, type_)
                table = pyarrow.table({"x": zeros, "k": ["a"] * 4, "y": [-0.0] * 4})
                with pyarrow.ipc.new_file(self.path("in"), table.schema) as writer:
                    writer.write_table(table)
                for by, more, at in (("x", [], 1), ("x,k", [], 2), ("x", ["--first", "y"], 1)):
                    rows = self.text("agg", "--by", by, "--count", *more)
                    self.assertEqual([(row[0], row[at]) for row in rows],
                                     [("0.0", "3"), ("1.5", "1")], (by, more))
                self.assertEqual(self.text("agg", "--distinct", "x"), [["2"]])
                self.assertEqual(self.text("agg", "--distinct", "y", "--first", "k"), [["1", "a"]])
                for job in (["distinct"], ["dedup"], ["dedup", "--by", "x"],
                            ["dedup", "--by", "x,k"],
                            ["top", "1", "--by", "k", "--text", "--per", "x"]):
                    self.assertEqual([row[0] for row in self.text(*job)], ["0.0", "1.5"], job)
                for method in ("shuffle", "broadcast", "bloom"):
                    for key in ("x", "x,k"):
                        rows = self.text("join", "--key-column", key, "--method", method,
                                         right="in")
                        self.assertEqual(len(rows), 10, (method, key))
                        self.assertEqual({row[2] for row in rows}, {"-0.0"})
                for where in ([], ["--where", "x < 9"]):
                    rows = self.text("count-keys", "--key", "text", "--key-column", "x", *where)
                    self.assertEqual(rows, [["0.0", "3"], ["1.5", "1"]])
                rows = self.text("select", "--columns", "x")
                self.assertEqual([row[0] for row in rows], ["-0.0", "-0.0", "0.0", "1.5"])

    def text(self, job, *options, right=None):
        """The sorted rows of a job of the file `in`."""
        paths = [self.path("in")] + ([self.path(right)] if right else [])
        if job == "top":
            paths, options = [options[0], *paths], options[1:]
        form = [] if job == "count-keys" else ["--output-format", "tsv"]
        self.run_glint(job, *options, *form, *paths, self.path("rows"))
        return sorted(line.split("\t") for line in self.output("rows").decode().splitlines())

    def test_orders_of_times_and_durations(self):
        """The Z of a time with a zone is behind its fraction; durations are numbers."""
        table = pyarrow.table({
            "n": [0, 1, 2, 3], "d": pyarrow.array([9, 100, -3, 10], pyarrow.duration("ms")),
            "t": pyarrow.array([1500, 1000, 1250, 1001], pyarrow.timestamp("ms", "UTC"))})
        pyarrow.parquet.write_table(table, self.path("in"))
        for job, rows in ((("sort", "--by", "t"), [1, 3, 2, 0]),
                          (("sort", "--by", "d"), [2, 0, 3, 1]),
                          (("sort", "--by", "t:r"), [0, 2, 3, 1]),
                          (("top", "4", "--by", "t"), [0, 2, 3, 1]),
                          (("top", "1", "--by", "d"), [1])):
            self.run_glint(*job, self.path("in"), self.path("out"))
            out = pyarrow.parquet.read_table(self.path("out"))
            self.assertEqual(out.column("n").to_pylist(), rows, job)
        self.run_glint("agg", "--min", "t,d", "--max", "t,d", self.path("in"), self.path("out"))
        out = pyarrow.parquet.read_table(self.path("out"))
        for name, row in (("min_text(t)", 1), ("max_text(t)", 0)):
            self.assertEqual(out.column(name)[0].as_py(), table.column("t")[row].as_py())
        for name, row in (("min(d)", 2), ("max(d)", 1)):
            self.assertEqual(out.column(name)[0].as_py(), table.column("d")[row].as_py())

    def test_types_of_a_column_that_differ(self):
        """Numbers of two types are numbers, times of two units times, and nulls are any."""
        os.mkdir(self.path("in"))
        for other, rows in ((pyarrow.array([10.0, None]), [4, 2, 0, 3, 1]),
                            (pyarrow.nulls(2), [3, 4, 2, 0, 1]),
                            (pyarrow.array([2 ** 64 - 1, 10], pyarrow.uint64()), [2, 0, 4, 1, 3])):
            for number, column in enumerate((pyarrow.array([9, 100, -5]), other)):
                pyarrow.parquet.write_table(
                    pyarrow.table({"n": list(range(3 * number, 3 * number + len(column))),
                                   "x": column}), self.path(f"in/{number}.parquet"))
            self.run_glint("sort", "--by", "x", self.path("in"), self.path("out"))
            found = [row["n"] for part in sorted(os.listdir(self.path("out")))
                     if part.startswith("part")
                     for row in pyarrow.parquet.read_table(self.path(f"out/{part}")).to_pylist()]
            self.assertEqual(found, rows, other)
            self.run_glint("top", "1", "--by", "x", self.path("in"), self.path("out"))
            out = pyarrow.parquet.read_table(self.path("out"))
            self.assertEqual(out.column("n").to_pylist(), rows[-1:], other)

    def test_columns_that_a_file_does_not_have(self):
        """Later files have a column more: an error before the job runs, or null."""
        os.mkdir(self.path("in"))
        pyarrow.parquet.write_table(pyarrow.table({"id": ["a", "b"], "n": [1, 2]}),
                                    self.path("in/1.parquet"))
        pyarrow.parquet.write_table(pyarrow.table({"more": [5, None], "n": [3, 4],
                                                   "id": ["a", None]}), self.path("in/2.parquet"))
        for job in (("select", "--columns", "id, more"), ("agg", "--by", "more", "--sum", "n"),
                    ("select", "--columns", "n", "--where", "more > 1")):
            self.run_glint(*job, self.path("in"), self.path("out"), code=64)
            self.run_glint(*job, "--missing", "fail", self.path("in"), self.path("out"), code=64)

        def rows(*job):
            self.run_glint(*job, "--missing", "null", self.path("in"), self.path("out"))
            return [row for part in sorted(os.listdir(self.path("out"))) if part.startswith("part")
                    for row in pyarrow.parquet.read_table(self.path(f"out/{part}")).to_pylist()]

        self.assertEqual(rows("select", "--columns", "id, more"),
                         [{"id": "a", "more": None}, {"id": "b", "more": None},
                          {"id": "a", "more": 5}, {"id": None, "more": None}])
        self.assertEqual(rows("agg", "--by", "more", "--sum", "n"),
                         [{"more": None, "sum(n)": 7}, {"more": 5, "sum(n)": 3}])
        self.assertEqual(rows("select", "--columns", "n", "--where", "more > 1"), [{"n": 3}])
        self.assertEqual(rows("sort", "--by", "more:n,n:nr"), [
            {"id": None, "n": 4, "more": None}, {"id": "b", "n": 2, "more": None},
            {"id": "a", "n": 1, "more": None}, {"id": "a", "n": 3, "more": 5}])
        self.run_glint("select", "--columns", "id, none", "--missing", "null", self.path("in"),
                       self.path("out"), code=64)

    def test_columns_whose_type_is_not_read(self):
        """Only a job that reads the column ends, before its first task."""
        union = pyarrow.UnionArray.from_sparse(pyarrow.array([0, 1], pyarrow.int8()),
                                               [pyarrow.array([1, 2]), pyarrow.array(["a", "b"])])
        table = pyarrow.table({"k": ["x", "y"], "u": union})
        with pyarrow.ipc.new_file(self.path("in.arrow"), table.schema) as writer:
            writer.write_table(table)
        self.assertEqual(self.lines("select", "--columns", "k", self.path("in.arrow")), ["x", "y"])
        for job in (["select"], ["sort", "--by", "k"], ["agg", "--by", "u", "--count"]):
            _, error = self.run_glint(*job, self.path("in.arrow"), self.path("none"), code=65)
            self.assertIn("E0213", error)
            self.assertIn('column "u" has values of several types, a union', error)
            self.assertFalse(os.path.exists(self.path("none")))

    def test_damage_is_an_error(self):
        pyarrow.parquet.write_table(ratings(), self.path("in"))
        with open(self.path("in"), "rb") as file:
            data = file.read()
        footer = data[:-20] + b"\xff" * 12 + data[-8:]
        for name, damaged in (("cut", data[:-100]), ("footer", footer)):
            with open(self.path(name), "wb") as file:
                file.write(damaged)
            run = subprocess.run([GLINT, "submit", "count-keys", "--bad-rows", "skip",
                                  self.path(name), self.path("out")], check=False,
                                 stderr=subprocess.PIPE, text=True)
            self.assertEqual(run.returncode, 65, run.stderr)
            self.assertIn("E0216", run.stderr)
            self.assertIn(self.path(name), run.stderr)

    def test_directories_of_writers_are_columns(self):
        names = [None, "", "a/b", "x=y", "\u00fc", "%", ".", " "]
        table = pyarrow.table({"n": list(range(16)), "dt": names * 2})
        duckdb.register("parted", table)
        duckdb.execute(f"copy parted to '{self.path('duckdb')}' "
                       "(format parquet, partition_by (dt))")
        schema = pyarrow.schema([("dt", pyarrow.string())])
        hive = pyarrow.dataset.partitioning(schema, flavor="hive")
        pyarrow.dataset.write_dataset(table, self.path("pyarrow"), format="parquet",
                                      partitioning=hive)
        polars.from_arrow(table).write_parquet(self.path("polars/"), partition_by="dt", mkdir=True)
        for writer in ("duckdb", "pyarrow", "polars"):
            self.run_glint("sort", "--by", "n:n", self.path(f"{writer}/**"), self.path("out"))
            saved = self.table("out")
            self.assertEqual(saved.select(["n", "dt"]).to_pylist(), table.to_pylist(), writer)
