"""Jobs that keep rows: values stay what they are, and have the order of the same rows as text."""

import datetime
import json
import math
import os
import random

import command
import duckdb
import pyarrow
import pyarrow.parquet

ROWS = 300
DAY_MAX = 4_000_000  # a year of five digits


def columns(rng):
    """(type, values in ascending order) by name; the values are what pyarrow casts to the type."""
    def integers(bits, signed=True):
        low, high = (-1 << bits - 1, (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return sorted({low, low + 1, -1 if signed else 1, 0, high - 1, high,
                       *(rng.randint(low, high) for _ in range(20))})

    def reals(largest):
        return [-math.inf, -largest, -1.5, -0.1, 0.0, 0.1, 1.5, largest, math.inf, math.nan]

    day = sorted({-DAY_MAX, -719_529, -719_528, -1, 0, 1, 2_932_896, 2_932_897, DAY_MAX,
                  *(rng.randint(-DAY_MAX, DAY_MAX) for _ in range(20))})
    units = sorted({*(d * 86_400_000_000 + rng.randint(0, 10 ** 6) for d in day)})
    return {
        "i8": (pyarrow.int8(), integers(8)), "u8": (pyarrow.uint8(), integers(8, False)),
        "i16": (pyarrow.int16(), integers(16)), "u16": (pyarrow.uint16(), integers(16, False)),
        "i32": (pyarrow.int32(), integers(32)), "u32": (pyarrow.uint32(), integers(32, False)),
        "i64": (pyarrow.int64(), integers(64)), "u64": (pyarrow.uint64(), integers(64, False)),
        "f32": (pyarrow.float32(), reals(2.0 ** 127)), "f64": (pyarrow.float64(), reals(1.7e308)),
        "day": (pyarrow.date32(), day), "us": (pyarrow.timestamp("us"), units),
        "utc": (pyarrow.timestamp("us", "UTC"), units),
        "took": (pyarrow.duration("ns"), integers(64))}


def decimals(rng):
    """Ascending numbers, as texts with their sign."""
    units = sorted({0, 1, -1, 10 ** 37, -10 ** 37,
                    *(rng.randint(-10 ** 9, 10 ** 9) for _ in range(20))})
    return units, [f"{'-' if u < 0 else ''}{abs(u) // 100}.{abs(u) % 100:02d}" for u in units]


def array(kind, values):
    if pyarrow.types.is_temporal(kind):
        storage = pyarrow.int32() if pyarrow.types.is_date32(kind) else pyarrow.int64()
        return pyarrow.array(values, storage).cast(kind)
    return pyarrow.array(values, kind)


class Typed(command.Command):
    def numbers(self, *job):
        """The column n of an output of Parquet, in order."""
        self.run_glint(*job, self.path("in"), self.path("out"))
        return self.table("out").column("n").to_pylist()

    def numbers_of_text(self, *job):
        self.run_glint(*job, "--output-format", "jsonl", self.path("in"), self.path("text"))
        return [json.loads(line)["n"] for line in self.output("text").splitlines()]

    def check_orders(self, name, kind, ranks):
        """ranks: of each row in the column's order; None: it is null."""
        for reverse in (False, True):
            sign = -1 if reverse else 1
            wanted = sorted(range(len(ranks)), key=lambda n: sign * (
                -1 if ranks[n] is None else ranks[n]))
            job = ("sort", "--by", name + ":r" * reverse)
            self.assertEqual(self.numbers(*job), wanted, (job, kind))
            self.assertEqual(self.numbers_of_text(*job), wanted, (job, kind))
            job = ("sort", "--by", f"half,{name}{':r' * reverse},n:r", "--partitions", "3")
            wanted = sorted(range(len(ranks)), key=lambda n: (n % 2, sign * (
                -1 if ranks[n] is None else ranks[n]), -n))
            self.assertEqual(self.numbers(*job), wanted, (job, kind))
            self.assertEqual(self.numbers_of_text(*job), wanted, (job, kind))

    def test_orders(self):
        rng = random.Random(7)
        made = columns(rng)
        units, texts = decimals(rng)
        made["dec"] = (pyarrow.decimal128(38, 2), texts)
        self.assertEqual(len(units), len(texts))
        for name, (kind, values) in made.items():
            ranks = [rng.choice((None, *range(len(values)))) for _ in range(ROWS)]
            column = [None if rank is None else values[rank] for rank in ranks]
            pyarrow.parquet.write_table(pyarrow.table({
                "n": list(range(ROWS)),
                name: pyarrow.array(column).cast(kind) if name == "dec" else array(kind, column),
                "half": pyarrow.array([n % 2 for n in range(ROWS)], pyarrow.int16())}),
                self.path("in"), row_group_size=70)
            self.check_orders(name, kind, ranks)

    def test_minus_zero_and_nan_stay_and_are_equal_in_orders(self):
        for kind in (pyarrow.float32(), pyarrow.float64()):
            values = [0.0, -0.0, math.nan, None, -math.nan, 0.0, -1.0]
            table = pyarrow.table({"n": list(range(7)), "x": pyarrow.array(values, kind)})
            pyarrow.parquet.write_table(table, self.path("in"))
            self.assertEqual(self.numbers("sort", "--by", "x"), [3, 6, 0, 1, 5, 2, 4])
            self.assertEqual(repr(self.table("out").column("x").to_pylist()),
                             "[None, -1.0, 0.0, -0.0, 0.0, nan, nan]")
            self.assertEqual(self.numbers("sort", "--by", "x", "--unique"), [3, 6, 0, 2])

    def sample_table(self, rng, count, keys):
        made = {name: array(kind, [rng.choice((None, *values)) for _ in range(count)])
                for name, (kind, values) in columns(rng).items()}
        texts = ["", "a", "\u00c4", "x,\"y\"\n\\N\t", "z" * 300]
        made["s"] = pyarrow.array([rng.choice((None, *texts)) for _ in range(count)])
        made["v"] = pyarrow.array([rng.choice((None, *texts)) for _ in range(count)],
                                  pyarrow.string_view())
        made["b"] = pyarrow.array([rng.choice((None, True, False)) for _ in range(count)])
        made["l"] = pyarrow.array([rng.choice((None, [], [1, None])) for _ in range(count)],
                                  pyarrow.list_(pyarrow.int32()))
        made["d"] = pyarrow.array([rng.choice((None, "a", "b")) for _ in range(count)]
                                  ).dictionary_encode()
        made["t"] = pyarrow.array([rng.choice((None, 0, 86_399_999)) for _ in range(count)],
                                  pyarrow.time32("ms"))
        return pyarrow.table({"n": list(range(count)), "k": [f"k{n % keys}" for n in range(count)]}
                             | made)

    def rows(self, table):
        return [repr(row) for row in zip(*(plain(column) for column in table.columns))]

    def test_values_stay(self):
        rng = random.Random(11)
        table = self.sample_table(rng, 200, 20)
        pyarrow.parquet.write_table(table, self.path("in"), row_group_size=33)
        rows = self.rows(pyarrow.parquet.read_table(self.path("in")))
        for shape in (("--master", "local[1]"), ("--master", "local[3]", "--split-size", "1")):
            for job in (("sort", "--by", "n:r"), ("sample", "--fraction", "1"),
                        ("dedup", "--by", "n"), ("top", "1000", "--by", "n"),
                        ("sort", "--by", "k", "--where", "n >= 0"),
                        ("select", "--where", "n >= 0")):
                numbers = self.numbers(*shape, *job)
                self.assertEqual(sorted(numbers), list(range(200)), job)
                self.assertEqual(self.rows(self.table("out")), [rows[n] for n in numbers], job)

    def test_joins(self):
        rng = random.Random(13)
        for name, keys in (("left", 30), ("right", 50)):
            pyarrow.parquet.write_table(self.sample_table(rng, 90, keys), self.path(name))
        left, right = (pyarrow.parquet.read_table(self.path(name)) for name in ("left", "right"))
        rows = {name: self.rows(table) for name, table in (("left", left), ("right", right))}
        for kind, key in (("inner", "k"), ("left", "k"), ("right", "k"), ("full", "k"),
                          ("full", "i16"), ("full", "s,u8"), ("semi", "k"), ("anti", "d")):
            for method in ("shuffle", "broadcast", "bloom"):
                job = ("join", "--type", kind, "--method", method, "--key-column", key)
                sides = self.path("left"), self.path("right")
                self.run_glint(*job, *sides, self.path("out"))
                out = self.table("out")
                for side, at, source in (("left", 0, left), ("right", left.num_columns, right)):
                    if at == out.num_columns:
                        continue
                    part = out.select(range(at, at + source.num_columns)).rename_columns(
                        source.column_names)
                    numbers = part.column("n").to_pylist()
                    nulls = repr((None,) * source.num_columns)
                    self.assertEqual(self.rows(part), [nulls if n is None else rows[side][n]
                                                       for n in numbers], (kind, method, key))
                text = self.run_glint(*job, "--output-format", "jsonl", *sides, "-")[0]
                self.assertEqual([row["n"] for row in map(json.loads, text.splitlines())],
                                 out.column("n").to_pylist(), (kind, method, key))

    def test_files_of_other_types(self):
        """A column has the wider type; a float is the double of its value, as in DuckDB."""
        os.mkdir(self.path("in"))
        for number, (wide, real, other) in enumerate((
                (pyarrow.int8(), pyarrow.float32(), pyarrow.array([1, None])),
                (pyarrow.int64(), pyarrow.float64(), pyarrow.array(["x", None])))):
            pyarrow.parquet.write_table(pyarrow.table({
                "n": [2 * number, 2 * number + 1], "w": pyarrow.array([7, None], wide),
                "f": pyarrow.array([0.1, None], real), "o": other}),
                self.path(f"in/{number}.parquet"))
        self.assertEqual(self.numbers("sort", "--by", "n"), [0, 1, 2, 3])
        out = self.table("out")
        self.assertEqual(out.schema.types, [pyarrow.int64(), pyarrow.int64(), pyarrow.float64(),
                                            pyarrow.string()])
        self.assertEqual(out.to_pydict(), {
            "n": [0, 1, 2, 3], "w": [7, None, 7, None], "f": [0.10000000149011612, None, 0.1, None],
            "o": ["1", None, "x", None]})

    def test_floats_are_doubles_in_expressions(self):
        """As DuckDB calculates: not with the digits of their texts, and also in row groups whose
        values are equal."""
        values = [0.1, 0.3, 7.0, 2.0 ** 53, -0.0, math.inf, math.nan, None]
        integers = [3, 1, 2 ** 53 + 1, 2 ** 53 + 1, 5, 2 ** 63 - 1, 0, 1]
        rows = [(real, integer) for real in values for integer in integers]
        pyarrow.parquet.write_table(pyarrow.table({
            "n": range(len(rows)), "f": [real for real, _ in rows],
            "i": pyarrow.array([integer for _, integer in rows], pyarrow.int64()),
            "s": [{"f": real} for real, _ in rows]}), self.path("in"), row_group_size=8)
        table = f"read_parquet('{self.path('in')}')"
        for name in ("f", "s.f"):
            for text in (f"{name} * i", f"{name} + i", f"i - {name}", f"{name} + 0.2"):
                self.run_glint("select", "--columns", f"{text} AS r, n", self.path("in"),
                               self.path("out"))
                wanted = duckdb.sql(f"select {text} as r, n from {table} order by n")
                self.assertEqual(list(map(repr, self.table("out").column("r").to_pylist())),
                                 [repr(0.0 if row[0] == 0 else row[0])
                                  for row in wanted.fetchall()], text)
            for text in (f"{name} = i", f"{name} < i", f"{name} + 0.2 = 0.3", f"{name} = 7",
                         f"{name} = 9007199254740993", f"{name} <> '9007199254740993'"):
                wanted = duckdb.sql(f"select n from {table} where {text} order by n")
                self.assertEqual(self.numbers("select", "--where", text),
                                 [row[0] for row in wanted.fetchall()], text)

    def test_small_floats_are_their_values(self):
        """Not the numbers that their texts are, 1073741800.0 of 2**30; a literal beside a column is
        rounded to its size first, as in DuckDB."""
        values = [2.0 ** 30, 0.1, -0.1, 16777217.0, 5e-324, 3e38, math.inf, math.nan, -0.0, None]
        floats = pyarrow.array(values, pyarrow.float32())
        pyarrow.parquet.write_table(pyarrow.table({
            "n": range(len(values)), "f": floats, "g": floats.cast(pyarrow.float64()),
            "s": [{"f": value} for value in floats.to_pylist()]}, schema=pyarrow.schema([
                ("n", "int64"), ("f", "float32"), ("g", "float64"),
                ("s", pyarrow.struct([("f", "float32")]))])), self.path("in"))
        table = f"read_parquet('{self.path('in')}')"
        for name in ("f", "s.f"):
            for text in ("{} = 1073741824", "{} = 0.1", "0.1 = {}", "{} > 0.1", "{} <= -0.1",
                         "{} in (-0.1, 0.1, 7)", "{} between -0.1 and 0.1", "{} = g",
                         "{} = 16777217", "{} = '0.1'"):
                text = text.format(name)
                wanted = duckdb.sql(f"select n from {table} where {text} order by n")
                self.assertEqual(self.numbers("select", "--where", text),
                                 [row[0] for row in wanted.fetchall()], text)
            # What is calculated is a double, for DuckDB a float.
            self.assertEqual(self.numbers("select", "--where", f"{name} + 0.0 = 0.1"), [])
        for options in ([], ["--where", "n >= 0"], ["--distinct", "n"]):
            self.run_glint("agg", "--by", "n", "--sum", "f", "--min", "f", "--mean", "f",
                           "--median", "f", *options, self.path("in"), self.path("out"))
            found = self.table("out").sort_by("n")
            for name in ("sum(f)", "mean(f)", "quantile(f,0.5)"):
                self.assertEqual(found.schema.field(name).type, pyarrow.float64())
                self.assertEqual(list(map(repr, found.column(name).to_pylist())),
                                 [repr(value if value is None else value + 0.0)
                                  for value in floats.to_pylist()], (name, options))
            self.assertEqual(found.column("min(f)").type, pyarrow.float32())

    def test_half_floats_are_their_values(self):
        values = [65504.0, 19.703125, 0.0999755859375, 2.0 ** -24]
        self.assertEqual(pyarrow.array(values, pyarrow.float16()).to_pylist(), values)
        pyarrow.parquet.write_table(pyarrow.table({
            "n": range(4), "h": pyarrow.array(values, pyarrow.float16())}), self.path("in"))
        for text, expected in (("h = 65504", [0]), ("h = 65500", [0]), ("h > 65504", []),
                               ("h = 0.1", [2]), ("h + 0.0 = 0.0999755859375", [2]),
                               ("h > 19.6875", [0, 1]), ("h < 1e5", [0, 1, 2, 3])):
            self.assertEqual(self.numbers("select", "--where", text), expected, text)
        for options in ([], ["--where", "n >= 0"]):
            self.run_glint("agg", "--by", "n", "--sum", "h", "--max", "h", *options,
                           self.path("in"), self.path("out"))
            found = self.table("out").sort_by("n")
            self.assertEqual(found.column("sum(h)").to_pylist(), values)
            self.assertEqual(found.column("max(h)").cast("float64").to_pylist(), values)
        self.run_glint("agg", "--max", "h", "--output-format", "tsv", self.path("in"),
                       self.path("out"))
        self.assertEqual(self.output("out"), b"65500.0\n")

    def test_a_bad_row_is_shown_as_text(self):
        pyarrow.parquet.write_table(pyarrow.table({
            "n": [1, 2], "k": ["7", "x"], "day": [datetime.date(2026, 1, 2)] * 2}), self.path("in"))
        error = self.run_glint("sort", "--by", "k:n", self.path("in"), self.path("out"), code=65)[1]
        self.assertIn('row 2: a numeric column is not a number: column 2 (k): "x"; the row: '
                      '"2,x,2026-01-02"', error)
        self.assertEqual(self.numbers("sort", "--by", "k:n", "--bad-rows", "skip"), [1])

    def test_spills_and_shapes_give_the_same_bytes(self):
        rng = random.Random(17)
        table = self.sample_table(rng, 4000, 40)
        pyarrow.parquet.write_table(table, self.path("in"), row_group_size=500)
        found = set()
        for shape in (("--master", "local[1]"), ("--master", "local[4]"),
                      ("--master", "local[1]", "--memory", "16M")):
            self.run_glint(*shape, "--split-size", "20K", "--partitions", "5", "sort",
                           "--by", "u32,n:r", self.path("in"), self.path("out"))
            found.add(self.output("out"))
        self.assertEqual(len(found), 1)


def plain(column):
    """Values that repr tells apart: of times their numbers, which Python's types may not have."""
    kind = column.type
    if pyarrow.types.is_date32(kind) or pyarrow.types.is_time32(kind):
        return column.cast(pyarrow.int32()).to_pylist()
    if pyarrow.types.is_temporal(kind):
        return column.cast(pyarrow.int64()).to_pylist()
    return column.to_pylist()
