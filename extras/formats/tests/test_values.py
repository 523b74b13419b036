"""Values of columns beside others: NaN and infinities in sums, orders and conditions, times of day,
keys of joins whose types differ. Expected is what DuckDB and Spark give."""

import datetime
import decimal
import os

import pyarrow
import pyarrow.parquet

from command import Command

NAN, INF = float("nan"), float("inf")
FUNCTIONS = ("sum", "min", "max", "mean", "variance-pop", "stddev", "median")


class Values(Command):
    def write(self, name, **columns):
        pyarrow.parquet.write_table(pyarrow.table(columns), self.path(name))
        return self.path(name)

    def agg(self, *arguments):
        self.run_glint("agg", *arguments, self.path("out"))
        return [[str(value) for value in row.values()] for row in self.table("out").to_pylist()]

    def test_nan_and_infinities_in_agg(self):
        options = [part for name in FUNCTIONS for part in (f"--{name}", "f")]
        for kind in (pyarrow.float64(), pyarrow.float32(), pyarrow.float16()):
            for values, expected in (
                    ([1.0, NAN, None, 3.0], "nan 1.0 nan nan nan nan 3.0"),
                    ([1.0, 2.0, INF], "inf 1.0 inf inf nan nan 2.0"),
                    ([-INF, 1.0, 4.0], "-inf -inf 4.0 -inf nan nan 1.0"),
                    ([INF, -INF], "nan -inf inf nan nan nan nan"),
                    ([NAN, NAN], "nan nan nan nan nan nan nan"),
                    ([0.5, 1.5], "2.0 0.5 1.5 1.0 0.25 0.7071067811865476 1.0")):
                path = self.write("in", f=pyarrow.array(values, kind), k=["x"] * len(values))
                for where in ([], ["--where", "k = 'x'"], ["--by", "k"]):
                    found = self.agg(*options, *where, path)[0][-len(FUNCTIONS):]
                    self.assertEqual(" ".join(found), expected, (kind, values, where))

    def test_a_sum_of_finite_numbers_is_never_infinite(self):
        path = self.write("in", f=[1.7e308, 1.7e308, -1.0])
        self.assertEqual(self.agg("--mean", "f", path), [["1.1333333333333334e+308"]])
        for function in ("sum", "variance", "stddev-pop"):
            _, error = self.run_glint("agg", f"--{function}", "f", path, self.path("out"), code=65)
            self.assertIn("E0504", error)

    def test_numbers_in_columns_of_text(self):
        """They are compared as texts, and a note says so; with :n as numbers, with :t silently."""
        with open(self.path("in.csv"), "w", encoding="utf-8") as file:
            file.write("k,v\na,9\nb,10\n")
        self.run_glint("select", "--csv", "--header", "--output-format", "parquet",
                       self.path("in.csv"), self.path("saved"))
        self.write("numbers.parquet", k=["a"], v=[9])
        self.write("texts.parquet", k=["b"], v=["10"])
        for value in (9, 10):
            os.makedirs(self.path(f"hive/v={value}"))
            self.write(f"hive/v={value}/in.parquet", k=["a" if value == 9 else "b"])
        for path, what in ((self.path("saved"), "is text"),
                           (self.path("hive/*/*.parquet"), "is text"),
                           (self.path("*.parquet"), "has several types")):
            for letter, values, best in (("", ["10", "9"], "a"), (":t", ["10", "9"], "a"),
                                         (":n", [9, 10], "b")):
                column = "v" + letter
                notes = self.submit("agg", "--min", column, "--max", column, path,
                                    self.path("out"))
                notes += self.submit("top", "--by", column, "1", path, self.path("best"))
                self.assertEqual(list(self.table("out").to_pylist()[0].values()), values)
                self.assertEqual(self.table("best")["k"].to_pylist(), [best])
                for option, effect in (("min", "the least text"), ("max", "the greatest text"),
                                       ("by", "texts are compared")):
                    note = f"--{option}: v {what} in {path}: {effect}; v:n compares numbers"
                    self.assertEqual(note in notes, letter == "", notes)
        _, error = self.run_glint("top", "--by", "k:n", "1", self.path("saved"), self.path("out"),
                                  code=65)
        self.assertIn("a numeric column is not a number", error)
        notes = self.submit("top", "--by", "v", "1", self.path("numbers.parquet"), self.path("out"))
        self.assertNotIn("compares numbers", notes)

    def test_columns_that_have_no_numbers(self):
        """An error before the job runs; texts may be numbers."""
        at = datetime.datetime(2026, 1, 31)
        path = self.write("in", t=[at], d=[at.date()], c=[at.time()], b=[True], k=["7"],
                          l=[[1]])
        for option in ("sum", "mean", "median", "stddev", "variance-pop"):
            for name, what in (("t", "times"), ("d", "times"), ("c", "times"),
                               ("b", "truth values"), ("l", "lists or structs")):
                _, error = self.run_glint("agg", f"--{option}", name, path, self.path("out"),
                                          code=64)
                self.assertRegex(error, rf"column \d \({name}\) has {what}, and no numbers")
        self.assertEqual(self.agg("--sum", "k", "--min", "c", "--distinct", "b", path),
                         [["7", "00:00:00", "1"]])

    def test_results_that_do_not_fit(self):
        path = self.write("in", n=[decimal.Decimal(10**38 - 1)] * 2)
        _, error = self.run_glint("agg", "--sum", "n", path, self.path("out"), code=65)
        self.assertIn("column 1 (sum(n)) of the output: it has more digits than its column's type",
                      error)
        self.assertIn("hint: --output-format csv, tsv or jsonl keeps such values", error)
        self.run_glint("agg", "--sum", "n", "--output-format", "csv", path, self.path("out"))

    def test_texts_that_json_cannot_hold(self):
        path = self.write("in", n=[1], s=[b"\xff"])
        _, error = self.run_glint("select", "--output-format", "jsonl", path, self.path("out"),
                                  code=65)
        self.assertIn("column 2 (s) of the output: a text is not UTF-8, as JSON has to be", error)
        self.assertIn("hint: --output-format csv, tsv or parquet keeps such values", error)

    def test_texts_that_columns_cannot_hold(self):
        bad = "a text is not UTF-8, as a string has to be"
        options = ["sort", "--csv", "--header", "--by", "a", "--output-format"]
        for text in (b"caf\xe9", "caf\xe9".encode()):
            with open(self.path("in.csv"), "wb") as file:
                file.write(b"a,b\n1," + text + b"\n2,x\n")
            for kind in ("parquet", "arrow"):
                good = text != b"caf\xe9"
                _, error = self.run_glint(*options, kind, self.path("in.csv"), self.path("out"),
                                          code=0 if good else 65)
                if not good:
                    self.assertIn("[E0210]: bad row\n", error)
                    self.assertIn(f"column 2 (b) of the output: {bad}", error)
                    self.assertIn("hint: --output-format csv or tsv keeps such values", error)
        os.makedirs(self.path("hive/d=%FF"))
        self.write("hive/d=%FF/in.parquet", n=[1])
        for job in (["sort", "--by", "n"], ["select"], ["select", "--columns", "n, d AS e"]):
            _, error = self.run_glint(*job, self.path("hive/**"), self.path("out"), code=65)
            self.assertRegex(error, rf"E0210(.|\n)*column 2 \([de]\) of the output: {bad}")

    def test_a_column_of_strings_and_bytes_is_bytes(self):
        for values in ((["x"], [b"\xff"]), ([b"\xff"], ["x"])):
            os.makedirs(self.path("both"), exist_ok=True)
            for name, array in zip("ab", values):
                self.write(f"both/{name}.parquet", s=array)
            for job in (["select"], ["sort", "--by", "s"], ["select", "--columns", "s AS s"]):
                self.run_glint(*job, self.path("both"), self.path("out"))
                column = self.table("out").column("s")
                self.assertEqual(column.type, pyarrow.binary())
                self.assertEqual(sorted(column.to_pylist()), [b"x", b"\xff"])

    def test_nested_values_are_compared_as_texts(self):
        path = self.write("in", n=[1, 2], l=[[1], [2]])
        self.run_glint("select", "--where", "l = '[2]'", path, self.path("out"))
        self.assertEqual(self.table("out").column("n").to_pylist(), [2])
        for condition in ("l > 1", "l + 1 = 2"):
            self.run_glint("select", "--where", condition, path, self.path("out"), code=64)
        self.run_glint("select", "--where", "l[0] > 1", path, self.path("out"))
        self.assertEqual(self.table("out").column("n").to_pylist(), [2])

    def test_quantiles_of_groups_with_nan(self):
        path = self.write("in", f=[1.0, 3.0, INF, NAN])
        self.assertEqual(self.agg("--quantile", "f", "--at", "0.25,0.6,1", path),
                         [["2.5", "inf", "nan"]])
        self.assertEqual(self.agg("--by", "f", "--count", path),
                         [["1.0", "1"], ["3.0", "1"], ["inf", "1"], ["nan", "1"]])

    def test_nan_and_infinities_in_conditions(self):
        path = self.write("in", n=[0, 1, 2, 3, 4], f=[1.0, NAN, INF, -INF, None])
        for condition, rows in (("f > 1", [1, 2]), ("f = 'nan'", [1]), ("f <> 'NaN'", [0, 2, 3]),
                                ("f < 'inf'", [0, 3]), ("f = f", [0, 1, 2, 3]),
                                ("f IN (1, 2)", [0]), ("f - f = 0", [0]), ("f * 2 > 1e300", [1, 2]),
                                ("f <= '-Infinity'", [3]), ("f BETWEEN 0 AND 'inf'", [0, 2])):
            self.run_glint("select", "--where", condition, path, self.path("out"))
            self.assertEqual(self.table("out").column("n").to_pylist(), rows, condition)
        self.run_glint("select", "--columns", "f * 2 AS f, -f AS g", path, self.path("out"))
        self.assertEqual(str(self.table("out").to_pydict()),
                         "{'f': [2.0, nan, inf, -inf, None], 'g': [-1.0, nan, -inf, inf, None]}")
        _, error = self.run_glint("select", "--columns", "f * 1e308 * 1e308 AS f", path,
                                  self.path("out"), code=65)
        self.assertIn("larger than the largest double", error)

    def test_row_groups_with_nan_are_read(self):
        """Their bounds are those of the other values."""
        table = pyarrow.table({"n": [1, 2, 3, 4], "f": [1.0, NAN, 3.0, 4.0]})
        pyarrow.parquet.write_table(table, self.path("in"), row_group_size=2)
        self.run_glint("select", "--where", "f > 100", self.path("in"), self.path("out"))
        self.assertEqual(self.table("out").column("n").to_pylist(), [2])

    def test_times_of_day_are_compared_by_value(self):
        times = [datetime.time(9, 30), datetime.time(9, 30, 0, 500000), datetime.time(23, 59, 59)]
        for kind in (pyarrow.time32("ms"), pyarrow.time64("us"), pyarrow.time64("ns")):
            path = self.write("in", n=[0, 1, 2], t=pyarrow.array(times, kind))
            for condition, rows in (("t = '09:30'", [0]), ("t <= '09:30'", [0]),
                                    ("t = '09:30:00.50'", [1]), ("t > TIME '09:30'", [1, 2]),
                                    ("t IN ('09:30:00.0', '23:59:59.000')", [0, 2]),
                                    ("t BETWEEN '09:30:00.000' AND '09:31'", [0, 1])):
                self.run_glint("select", "--where", condition, path, self.path("out"))
                self.assertEqual(self.table("out").column("n").to_pylist(), rows, condition)
        for condition, problem in (("t = 'noon'", "a time of day cannot be compared with a text"),
                                   ("t > 5", "a time of day cannot be compared with a number"),
                                   ("t = TIME '24:00'", "a time of day is HH:MM:SS")):
            _, error = self.run_glint("select", "--where", condition, path, self.path("out"),
                                      code=64)
            self.assertIn(problem, error)

    def test_times_of_no_day_stay(self):
        """fastparquet saves durations as such; their text is a number."""
        for kind, stored, day in ((pyarrow.time32("ms"), pyarrow.int32(), 86400 * 10 ** 3),
                                  (pyarrow.time64("us"), pyarrow.int64(), 86400 * 10 ** 6)):
            times = pyarrow.array([-1, 0, 1, day, 2 ** 31 - 1, None], stored)
            path = self.write("in", k=range(6), t=times.cast(kind))
            for job in (["select"], ["join", "--key-column", "k", path],
                        ["sort", "--by", "k"], ["agg", "--by", "k", "--first", "t"]):
                self.run_glint(*job, path, self.path("out"))
                found = self.table("out")
                saved = found.column("first(t)" if job[0] == "agg" else "t")
                self.assertEqual(saved.type, kind)
                order = found.column("k").to_pylist()
                self.assertEqual(saved.cast(stored).to_pylist(), times.take(order).to_pylist(), job)

    def test_years_beyond_9999_are_compared_by_value(self):
        at = pyarrow.array([2**62, -2**60, 0, None], pyarrow.timestamp("us"))
        day = pyarrow.array([2**31 - 1, -10**6, 0, None], pyarrow.date32())
        path = self.write("in", n=[0, 1, 2, 3], t=at, d=day)
        for name in ("t", "d"):
            for condition, rows in (("> '2026-01-31'", [0]), ("< '1969-12-31'", [1]),
                                    ("> '9999-12-31'", [0]), ("BETWEEN '-0044-03-15' AND "
                                                              "'+12000-01-01'", [2]),
                                    ("< '-0044-03-15'", [1])):
                self.run_glint("select", "--where", f"{name} {condition}", path, self.path("out"))
                self.assertEqual(self.table("out").column("n").to_pylist(), rows, condition)

    def join(self, key, method, left, right):
        _, error = self.run_glint("join", "--key-column", key, "--method", method, left, right,
                                  self.path("out"))
        out = self.table("out")
        return error, sorted(zip(out.column("n").to_pylist(), out.column("n_right").to_pylist()))

    def test_keys_of_joins_are_compared_by_value(self):
        day, at = datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31)
        utc = pyarrow.timestamp("us", "UTC")
        money = [decimal.Decimal(text) for text in ("1.00", "2.50", "-3.00")]
        array = pyarrow.array
        for left, right, pairs in (
                (array([1, 2, None, 2**53 + 1]), array([1.0, 2.5, None, 2.0**53]),
                 [(0, 0), (3, 3)]),
                (array([1, 2, -3]), array(money), [(0, 0), (2, 2)]),
                (array([1.0, 2.5, NAN]), array(money), [(0, 0), (1, 1)]),
                (array(money, pyarrow.decimal128(9, 3)), array(money), [(0, 0), (1, 1), (2, 2)]),
                (array([0.1, 0.5, NAN, INF, -0.0]),
                 array([0.1, 0.5, NAN, INF, 0.0], pyarrow.float32()),
                 [(1, 1), (2, 2), (3, 3), (4, 4)]),
                (array([0.1, 0.5]), array([0.1, 0.5], pyarrow.float16()), [(1, 1)]),
                (array([2**53 + 1, 5], pyarrow.uint64()), array([2**53, 5]), [(1, 1)]),
                (array([2**53 + 1, 5]), array([decimal.Decimal(2**53), 5]), [(1, 1)]),
                (array([day, None]), array([at, at.replace(hour=1)]), [(0, 0)]),
                (array([at]), array([at], utc), [(0, 0)])):
            for name, keys in (("left", left), ("right", right)):
                self.write(name, k=keys, t=["x"] * len(keys), n=list(range(len(keys))))
            for key in ("k", "t,k", "k,t"):
                for method in ("shuffle", "broadcast", "bloom"):
                    error, found = self.join(key, method, self.path("left"), self.path("right"))
                    self.assertEqual(found, pairs, (left.type, right.type, key, method))
                    self.assertNotIn("as texts", error)

    def test_keys_whose_types_differ_by_file_are_compared_by_value(self):
        day, at = datetime.date(1970, 1, 1), datetime.datetime(1970, 1, 1)
        for first, second in ((day, at), (1, 1.0), (decimal.Decimal("1.00"), 1)):
            for side in ("left", "right"):
                os.makedirs(self.path(side), exist_ok=True)
                for name, n, key in (("a", 0, first), ("b", 1, second)):
                    self.write(f"{side}/{name}.parquet", k=[key], n=[n])
            self.write("one", k=[first], n=[0])
            self.write("text", k=[str(first)], n=[0])
            for method in ("shuffle", "broadcast", "bloom"):
                error, found = self.join("k", method, self.path("left"), self.path("right"))
                self.assertEqual(found, [(0, 0), (0, 1), (1, 0), (1, 1)], (first, second, method))
                self.assertNotIn("as texts", error)
                _, found = self.join("k", method, self.path("left"), self.path("one"))
                self.assertEqual(found, [(0, 0), (1, 0)], (first, second, method))
            run = self.submit("join", "--key-column", "k", self.path("left"), self.path("text"),
                              self.path("out"))
            self.assertIn("keys are compared as texts", run)

    def test_texts_beside_other_keys_have_a_note(self):
        strings = self.write("strings", k=["1", "02"], n=[0, 1])
        for keys, kind in ((pyarrow.array([1, 2]), "int64"), (pyarrow.array([1.0, 2.0]), "double"),
                           (pyarrow.array([decimal.Decimal(1)] * 2), "decimal(1,0)"),
                           (pyarrow.array([datetime.date(2026, 1, 31)] * 2), "date"),
                           (pyarrow.array([1, 2], pyarrow.duration("s")), "duration")):
            other = self.write("other", k=keys, n=[0, 1])
            run = self.submit("join", "--key-column", "k", other, strings, self.path("out"))
            self.assertIn(f"keys are compared as texts: LEFT's column 1 (k) is {kind}, RIGHT's "
                          "column 1 (k) string", run)

    def test_keys_that_are_numbers_in_one_file_and_texts_in_another_have_a_note(self):
        day, noon = datetime.date(1970, 1, 1), datetime.time(12)
        for first, second in (([1, 2], ["1", "02"]), ([1.5], ["1.50"]), ([day], ["1970-01-01"]),
                              ([day], [1]), ([noon], ["12:00"]), ([True], [1])):
            os.makedirs(self.path("mixed"), exist_ok=True)
            self.write("mixed/a.parquet", k=first, n=[0] * len(first))
            self.write("mixed/b.parquet", k=second, n=[1] * len(second))
            one = self.write("one", k=first, n=[0] * len(first))
            mixed, note = self.path("mixed"), "LEFT's column 1 (k) is of several types"
            for right in (one, mixed):
                run = self.submit("join", "--key-column", "k", mixed, right, self.path("out"))
                self.assertIn(f"keys are compared as texts: {note}", run, (first, second))
            run = self.submit("join", "--key-column", "k", one, mixed, self.path("out"))
            self.assertIn("RIGHT's column 1 (k) of several types", run, (first, second))
        self.write("mixed/a.parquet", k=pyarrow.nulls(1), n=[0])
        self.assertNotIn("as texts", self.submit("join", "--key-column", "k", self.path("mixed"),
                                                 self.path("mixed"), self.path("out")))

    def test_a_value_of_different_types_in_different_files_is_one_key(self):
        os.makedirs(self.path("types"))
        day, late = datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 12)
        midnight = datetime.datetime(2026, 1, 31)
        tens = [decimal.Decimal(10), decimal.Decimal(11)]
        deci = {scale: pyarrow.array(tens, pyarrow.decimal128(10, scale)) for scale in (0, 1, 2)}
        whole, times = pyarrow.array([10, 11]), pyarrow.array([midnight, late])
        zoned = pyarrow.array([midnight, late], pyarrow.timestamp("us", "UTC"))
        ten = ["10.0,2", "11.0,2"]
        for first, second, groups in (
                (whole, [10.0, 11.0], ten), (whole.cast("uint64"), [10.0, 11.0], ten),
                (whole.dictionary_encode(), [10.0, 11.0], ten),
                (whole, pyarrow.array([10.0, 11.0], pyarrow.float32()), ten),
                (whole, whole.cast("int8"), ["10,2", "11,2"]),
                (whole, whole.cast("uint64"), ["10,2", "11,2"]),
                (deci[1], deci[2], ["10.00,2", "11.00,2"]), (deci[0], whole, ["10,2", "11,2"]),
                (whole, deci[2], ["10.00,2", "11.00,2"]), (deci[2], [10.0, 11.0], ten),
                ([day, day], times, ["2026-01-31T00:00:00,3", "2026-01-31T12:00:00,1"]),
                (zoned, times, ["2026-01-31T00:00:00Z,2", "2026-01-31T12:00:00Z,2"]),
                ([2 ** 53 + 1, 2 ** 53], [2.0 ** 53, 0.5],
                 ["0.5,1", "9007199254740992.0,2", "9007199254740993,1"])):
            a, b = self.write("types/a.parquet", v=first), self.write("types/b.parquet", v=second)
            self.check_groups(f"{a},{b}", groups)
            self.check_counts(f"{b},{a}", groups)

    def check_counts(self, path, groups):
        found = self.run_glint("agg", "--by", "v", "--count", "--output-format", "csv", path, "-")
        self.assertEqual((sorted(found[0].split()), found[1]), (sorted(groups), ""))

    def check_groups(self, path, groups):
        self.check_counts(path, groups)
        values = sorted(group.split(",")[0] for group in groups)
        found = self.run_glint("agg", "--distinct", "v", "--output-format", "csv", path, "-")[0]
        self.assertEqual(found.split(), [str(len(values))])
        for job in (["dedup"], ["distinct"], ["top", "--per", "v", "--by", "v", "1"]):
            self.assertEqual(sorted(self.lines(*job, path)), values, job)
        counts = self.lines("count-keys", "--key", "text", "--key-column", "v", path)
        self.assertEqual(sorted(counts), sorted(group.replace(",", "\t") for group in groups))
        for value in values:
            found = self.lines("select", "--columns", "v", "--where", f"v = '{value}'", path)
            count = next(int(group.split(",")[1]) for group in groups if group.startswith(value))
            self.assertEqual(found, [value] * count)

    def test_keys_of_types_without_a_common_one_have_a_note(self):
        os.makedirs(self.path("types"))
        self.write("types/a.parquet", v=[10])
        self.write("types/b.parquet", v=["10.0"])
        note = 'column "v" has types in different files that have no common one'
        for job in (["agg", "--by", "v", "--count"], ["distinct"], ["dedup"],
                    ["count-keys", "--key", "text", "--key-column", "v"]):
            run = self.submit(*job, self.path("types/*.parquet"), self.path("out"))
            self.assertEqual(run.count(note), 1, job)

    def test_times_of_day_in_several_units_are_compared_by_value(self):
        os.makedirs(self.path("times"))
        times = [datetime.time(12), datetime.time(13, 0, 0, 250000)]
        for name, unit in (("a", pyarrow.time32("ms")), ("b", pyarrow.time64("us"))):
            self.write(f"times/{name}.parquet", k=pyarrow.array(times, unit), n=[0, 1])
        for where, found in (("k = '12:00'", [0, 0]), ("k = '13:00:00.25'", [1, 1]),
                             ("k IN ('13:00:00.250000')", [1, 1]), ("k < '13:00'", [0, 0]),
                             ("k = TIME '13:00:00.25'", [1, 1])):
            rows, _ = self.run_glint("select", "--columns", "n", "--where", where,
                                     "--output-format", "csv", self.path("times"), "-")
            self.assertEqual([int(n) for n in rows.split()], found, where)
        run = self.submit("join", "--key-column", "k", self.path("times"),
                          self.path("times/a.parquet"), self.path("out"))
        self.assertEqual(self.table("out").column("n_right").to_pylist(), [0, 1, 0, 1])
        self.assertNotIn("as texts", run)

    def test_floats_of_several_sizes_in_one_input_are_doubles(self):
        os.makedirs(self.path("floats"))
        values = {"a": pyarrow.float32(), "b": pyarrow.float64()}
        for n, (name, kind) in enumerate(values.items()):
            self.write(f"floats/{name}.parquet", k=pyarrow.array([0.1, 0.5], kind),
                       n=[2 * n, 2 * n + 1])
        single, double, both = (self.path(f"floats{name}")
                                for name in ("/a.parquet", "/b.parquet", ""))
        wide = 0.10000000149011612  # as in DuckDB and Spark
        for where, found in (("k = 0.1", [2]), ("k <= 0.1", [2]), ("k > 0.1", [0, 1, 3]),
                             (f"k = {wide}", [0])):
            rows, _ = self.run_glint("select", "--columns", "n", "--where", where,
                                     "--output-format", "csv", both, "-")
            self.assertEqual([int(n) for n in rows.split()], found, where)
        self.run_glint("select", both, self.path("out"))
        self.assertEqual(self.table("out").column("k").to_pylist(), [wide, 0.5, 0.1, 0.5])
        self.assertEqual(sorted(self.agg("--by", "k", "--count", both)),
                         [["0.1", "1"], [str(wide), "1"], ["0.5", "2"]])
        for method in ("shuffle", "broadcast", "bloom"):
            for left, right, pairs in ((both, single, [(0, 0), (1, 1), (3, 1)]),
                                       (single, both, [(0, 0), (1, 1), (1, 3)]),
                                       (both, double, [(1, 3), (2, 2), (3, 3)]),
                                       (single, double, [(1, 3)])):
                error, found = self.join("k", method, left, right)
                self.assertEqual(found, pairs, (left, right, method))
                self.assertNotIn("as texts", error)

    def test_dates_of_the_year_0_are_dates(self):
        days = pyarrow.array([-719529, -719528, -719163, -719162], pyarrow.int32())
        path = self.write("years", k=days.cast(pyarrow.date32()), n=[0, 1, 2, 3])
        moments = pyarrow.array([-719528 * 86400], pyarrow.int64())
        at = self.write("at", k=moments.cast(pyarrow.timestamp("s")), n=[9])
        for where, found in (("k < '0001-01-01'", [0, 1, 2]), ("k = '0000-01-01'", [1]),
                             ("k > DATE '0000-01-01'", [2, 3])):
            rows, _ = self.run_glint("select", "--columns", "n", "--where", where,
                                     "--output-format", "csv", path, "-")
            self.assertEqual([int(n) for n in rows.split()], found, where)
        _, found = self.join("k", "shuffle", path, at)
        self.assertEqual(found, [(1, 9)])

    def test_jobs_of_whole_rows_with_a_condition_save_columns(self):
        path = self.write("in", n=[1, 2, 3, 4], f=[0.0, -0.0, 0.0, 1.5], s=list("aaab"))
        for job in (["sample", "--fraction", "1"], ["sample", "--rows", "9"], ["distinct"],
                    ["split-dataset", "--ratio", "1/0"]):
            outputs = [self.path(name) for name in ("out", "other")]
            self.run_glint(*job, "--where", "n >= 2", path,
                           *outputs[:2 if job[0] == "split-dataset" else 1])
            table = self.table("out")
            self.assertEqual(table.schema, pyarrow.schema(
                [("n", pyarrow.int64()), ("f", pyarrow.float64()), ("s", pyarrow.string())]), job)
            self.assertEqual(table["n"].to_pylist(), [2, 3, 4])
        path = self.write("zeros", f=[0.0, -0.0, 1.5])
        self.run_glint("distinct", "--where", "f < 1", path, self.path("out"))
        self.assertEqual(str(self.table("out")["f"].to_pylist()), "[0.0]")
