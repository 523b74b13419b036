"""Row groups that a condition need not read: results are those of reading all, whatever the writers
say about their files, and row groups are left out where they can be."""

import datetime
import decimal
import math
import os
import random
import re
import subprocess

import duckdb
import fastparquet
import polars
import pyarrow
import pyarrow.parquet

from command import GLINT, Command

ROWS, GROUP = 6000, 500
# Never true for a row group alone, so that all are read: what is calculated might fail.
READ_ALL = "(1 + 1 = 2) AND "
DAY = datetime.date(2020, 1, 1)


def text_of(chance, i):
    """Many have a common beginning that is longer than the bounds that writers keep."""
    start = chance.choice(["", "a", "\u00e9", "\U0001f600", "\x7f", "\uffff" * 40, "z" * 300])
    return f"{start}{i:05d}"


def values(chance):
    """Columns of all types that have bounds, and floats, some sorted."""
    def some(of, nulls):
        return [None if chance.random() < nulls else of(i) for i in range(ROWS)]

    order = range(ROWS) if chance.random() < 0.7 else [chance.randrange(ROWS) for _ in range(ROWS)]
    nulls = chance.choice([0, 0, 0.1])
    floats = [math.nan, -0.0, 0.0, math.inf, 1.5, -2.25]
    spread = (lambda low, high: lambda i: low + (high - low) * order[i] // ROWS)
    return pyarrow.table({
        "i8": pyarrow.array(some(spread(-128, 127), nulls), pyarrow.int8()),
        "u8": pyarrow.array(some(spread(0, 255), nulls), pyarrow.uint8()),
        "i16": pyarrow.array(some(lambda i: order[i] - ROWS // 2, nulls), pyarrow.int16()),
        "u32": pyarrow.array(some(spread(0, 2 ** 32 - 1), nulls), pyarrow.uint32()),
        "i64": pyarrow.array(some(spread(-2 ** 63, 2 ** 63 - 1), nulls), pyarrow.int64()),
        "u64": pyarrow.array(some(spread(0, 2 ** 64 - 1), nulls), pyarrow.uint64()),
        "n": pyarrow.array(some(lambda i: order[i], nulls), pyarrow.int32()),
        "dec": pyarrow.array([v and decimal.Decimal(v) / 100 for v in
                              some(lambda i: order[i] * 7 - 9999, nulls)],
                             pyarrow.decimal128(20, 2)),
        "f64": pyarrow.array(some(lambda i: chance.choice(floats), nulls)),
        "f32": pyarrow.array(some(lambda i: order[i] / 4, nulls), pyarrow.float32()),
        "flag": pyarrow.array(some(lambda i: order[i] > ROWS // 2, nulls)),
        "day": pyarrow.array(some(lambda i: DAY + datetime.timedelta(order[i]), nulls)),
        "at": pyarrow.array(some(lambda i: datetime.datetime(2020, 1, 1) + datetime.timedelta(
            hours=order[i], milliseconds=order[i] % 3 * 250), nulls), pyarrow.timestamp("ms")),
        "utc": pyarrow.array(some(lambda i: order[i] * 10 ** 11, nulls),
                             pyarrow.timestamp("us", "UTC")),
        "s": pyarrow.array(some(lambda i: text_of(chance, order[i]), nulls)),
        "word": pyarrow.array(some(lambda i: f"w{order[i] % 700}", nulls)),
        "none": pyarrow.array([None] * ROWS, pyarrow.int32()),
    })


def literal(chance, name, table):
    """A value that is in the column, or near one, in the form that fits its type, mostly."""
    value = table[name][chance.randrange(ROWS)].as_py()
    if value is None or chance.random() < 0.05:
        return chance.choice(["0", "''", "'w5'", "12.5", "DATE '2021-05-05'", "NULL", "-1e300"])
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float, decimal.Decimal)):
        if isinstance(value, float) and not math.isfinite(value):
            return "1.5"
        if isinstance(value, float):
            return repr(value)
        return str(value + chance.choice([0, 0, 1, -1, decimal.Decimal("0.5")]))
    if isinstance(value, datetime.datetime):
        text = value.replace(tzinfo=None).isoformat(" ")
        return chance.choice([f"TIMESTAMP '{text}'", f"DATE '{text[:10]}'", f"'{text[:10]}'"])
    if isinstance(value, datetime.date):
        return chance.choice([f"DATE '{value}'", f"'{value}'"])
    return "'" + value + chance.choice(["", "", "x"]) + "'"


def condition(chance, table, depth=2):
    if depth > 0 and chance.random() < 0.6:
        left = condition(chance, table, depth - 1)
        if chance.random() < 0.2:
            return f"NOT ({left})"
        word = chance.choice(["AND", "AND", "OR"])
        return f"({left}) {word} ({condition(chance, table, depth - 1)})"
    name = chance.choice(table.column_names)
    column = f'"{name}"'
    form = chance.randrange(8)
    if form == 0:
        return f"{column} IS {chance.choice(['', 'NOT '])}NULL"
    if form == 1 and name == "flag":
        return column
    values_ = [literal(chance, name, table) for _ in range(3)]
    if form == 2:
        values_ = [v for v in values_ if v != "NULL"] or ["1"]
        return f"{column} {chance.choice(['', 'NOT '])}IN ({', '.join(values_)})"
    if form == 3:
        return f"{column} BETWEEN {values_[0]} AND {values_[1]}"
    if form == 4 and name in ("s", "word"):
        return f"{column} LIKE 'w1%'"
    sign = chance.choice(["=", "=", "<>", "<", "<=", ">", ">="])
    sides = [column, values_[0]]
    return f" {sign} ".join(sides if chance.random() < 0.9 else sides[::-1])


class Pruning(Command):
    def setUp(self):
        super().setUp()
        self.skipped = self.compared = 0

    def rows(self, name, where, *options):
        """Exit status, the rows, and how many row groups were not read."""
        run = subprocess.run([GLINT, "submit", "--overwrite", "select", "--where", where,
                              "--output-format", "csv", *options, self.path(name),
                              self.path("out")], check=False, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True,
                             env=os.environ | {"HOME": self.directory})
        if run.returncode != 0:
            return run.returncode, None, 0
        skipped = re.search(r"row groups skipped +([0-9]+)", run.stdout)
        return 0, self.output("out"), int(skipped.group(1)) if skipped else 0

    def compare(self, name, where):
        for options in (), ("--bad-rows", "skip", "--max-bad-rows", "1000000"):
            status, rows, skipped = self.rows(name, where, *options)
            if status == 64: # it compares what cannot be compared
                return
            all_status, all_rows, none = self.rows(name, READ_ALL + f"({where})", *options)
            self.assertEqual((status, rows), (all_status, all_rows), (name, where, options))
            self.assertEqual(none, 0)
            self.skipped += skipped
            self.compared += status == 0
            if status == 0:
                return

    def write_all(self, table):
        options = {"row_group_size": GROUP, "store_decimal_as_integer": True}
        pyarrow.parquet.write_table(table, self.path("pyarrow"), **options)
        yield "pyarrow"
        pyarrow.parquet.write_table(table, self.path("old"), row_group_size=GROUP, version="1.0",
                                    write_statistics=["i8", "u32", "i64", "s", "n"])
        yield "old"
        duckdb.register("pruned", table)
        duckdb.execute(f"copy (select * from pruned) to '{self.path('duckdb')}' (format parquet, "
                       "row_group_size 2048)")
        yield "duckdb"
        polars.from_arrow(table).write_parquet(self.path("polars"), row_group_size=GROUP)
        yield "polars"
        plain = table.drop_columns(["dec", "utc", "none", "day", "at"]).to_pandas()
        fastparquet.write(self.path("fastparquet"), plain, row_group_offsets=GROUP)
        yield "fastparquet"

    def test_results_are_those_of_all_row_groups(self):
        seed = int(os.environ.get("GLINT_SEED", "1"))
        for number in range(int(os.environ.get("GLINT_ROUNDS", "2"))):
            chance = random.Random(seed * 1000 + number)
            table = values(chance)
            for name in self.write_all(table):
                have = table.select(pyarrow.parquet.read_schema(self.path(name)).names)
                for _ in range(12):
                    with self.subTest(seed=seed, number=number):
                        self.compare(name, condition(chance, have))
        self.assertGreater(self.skipped, 30)
        self.assertGreater(self.compared, 50)

    def test_row_groups_are_skipped(self):
        table = pyarrow.table({
            "n": list(range(10000)), "half": [i / 2 for i in range(10000)],
            "s": [f"s{i:05d}" for i in range(10000)],
            "day": [DAY + datetime.timedelta(i // 10) for i in range(10000)]})
        pyarrow.parquet.write_table(table, self.path("in"), row_group_size=1000)
        for where, rows, skipped in (
                ("n = 5000", 1, 9), ("n >= 9000", 1000, 9), ("n < 0", 0, 10),
                ("n IN (1, 9999)", 2, 8), ("n BETWEEN 2500 AND 3500", 1001, 8),
                ("NOT (n > 999)", 1000, 9), ("n IS NULL", 0, 10), ("5 > n", 5, 9),
                ("n = 4.5", 0, 9), ("s = 's01234'", 1, 9), ("s >= 's09'", 1000, 9),
                ("day = DATE '2020-01-01'", 10, 9), ("day = '2020-01-01'", 10, 9),
                ("n < 1000 AND half > 1", 997, 9), ("half > 1 AND n < 1000", 997, 9),
                ("half * 2 > 1 AND n < 1000", 998, 0),
                ("n < 1000 OR s > 's08999'", 2000, 8), ("half < 1", 2, 0)):
            status, data, left_out = self.rows("in", where)
            self.assertEqual((status, len((data or b"").splitlines()), left_out),
                             (0, rows, skipped), where)

    def test_bloom_filters(self):
        duckdb.execute("copy (select (i % 300 * 2)::integer n, 'v' || (i % 300 * 2) s "
                       f"from range(20000) t(i)) to '{self.path('in')}' "
                       "(format parquet, row_group_size 2048)")
        for where in ("n = 101", "n IN (101, 303)", "s = 'v101'", "101 = n"):
            self.assertEqual(self.rows("in", where), (0, b"", 10), where)
        for where in ("n = 100", "s = 'v100'", "n IN (101, 100)"):
            status, rows, _ = self.rows("in", where)
            self.assertEqual((status, rows), self.rows("in", READ_ALL + where)[:2])
            self.assertGreater(len(rows), 0)
