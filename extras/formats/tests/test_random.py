"""Jobs on random tables give the rows that DuckDB gives.

The seed is new in each run, and a failed test prints it: GLINT_SEED=N repeats that run. GLINT_CASES
is how many tables there are (default 6)."""

import datetime
import decimal
import os
import random

import command
import duckdb
import pyarrow
import pyarrow.parquet

SEED = int(os.environ.get("GLINT_SEED", random.SystemRandom().randrange(1 << 32)))
CASES = int(os.environ.get("GLINT_CASES", "6"))
TEXTS = ("a", "b", "", "\u00c4", "zz", "A", "a b", "x,y", '"q"', "10", "9", "\\N", "null",
         "e\u0301", "\U0001f600", " ")
# Key columns whose types differ, of left and right.
MIXED = ("il", "if", "im", "mf", "fg", "lu", "ug", "dt", "ig")
HIVE_TYPES = {"k": "varchar", "i": "integer", "l": "bigint", "d": "date", "b": "boolean"}
ODD = (float("nan"), float("inf"), float("-inf"), 1e300, 5e-324)


def column(rng, count, nulls, value, kind):
    values = [None if rng.random() < nulls else value() for _ in range(count)]
    return pyarrow.array(values, kind)


def table(rng, count):
    nulls = rng.choice((0, 0.1, 0.5))
    second, day = datetime.datetime(2021, 1, 1), datetime.date(2020, 1, 1)
    texts = rng.choice((pyarrow.string(), pyarrow.large_string(),
                        pyarrow.dictionary(pyarrow.int32(), pyarrow.string())))
    columns = {
        "k": (lambda: rng.choice(TEXTS), texts),
        "i": (lambda: rng.choice((rng.randint(-5, 5), rng.randint(-2**31, 2**31 - 1))),
              pyarrow.int32()),
        "l": (lambda: rng.choice((rng.randint(-3, 3), rng.randint(-2**62, 2**62))),
              pyarrow.int64()),
        "u": (lambda: rng.choice((rng.randint(0, 3), rng.randint(0, 2**64 - 1))),
              pyarrow.uint64()),
        "f": (lambda: rng.choice((0.5, 0.0, -0.0, rng.choice(ODD),
                                  *[rng.uniform(-100, 100)] * 4)), pyarrow.float64()),
        "g": (lambda: rng.choice((0.0, -0.0, rng.uniform(-10, 10))), pyarrow.float32()),
        "m": (lambda: decimal.Decimal(rng.randint(-10**8, 10**8)).scaleb(-4),
              pyarrow.decimal128(18, 4)),
        "d": (lambda: day + datetime.timedelta(rng.randint(-800, 800)), pyarrow.date32()),
        "t": (lambda: second + datetime.timedelta(
            microseconds=rng.choice((0, 10**6, rng.randint(0, 10**14)))), pyarrow.timestamp("us")),
        "b": (lambda: rng.random() < 0.5, pyarrow.bool_())}
    made = {name: column(rng, count, nulls, *how) for name, how in columns.items()}
    return pyarrow.table(made | {"n": pyarrow.array(range(count), pyarrow.int64())})


def literal(rng, name):
    values = {"k": ("'a'", "'zz'", "'\u00c4'", "''", "'10'"), "i": ("-6", "0", "3"),
              "l": ("0", "-2", str(2**61)), "u": ("0", "2", str(2**63)), "f": ("0", "0.5", "-3"),
              "g": ("0.5", "0", "-1.5"), "m": ("0", "12.5", "-100.0001"), "n": ("0", "7", "50"),
              "d": ("DATE '2020-06-15'", "'2019-02-28'"),
              "t": ("TIMESTAMP '2021-01-01 00:00:01'", "'2021-01-01 00:00:00'")}
    return rng.choice(values[name])


def condition(rng, depth=0):
    kind = rng.random()
    if depth < 3 and kind < 0.35:
        left, right = condition(rng, depth + 1), condition(rng, depth + 1)
        return f"({left} {rng.choice(('and', 'or'))} {right})"
    if depth < 3 and kind < 0.42:
        return f"not ({condition(rng, depth + 1)})"
    name = rng.choice("kilufgmdtn")
    if kind < 0.5:
        return f"{name} is {rng.choice(('', 'not '))}null"
    if kind < 0.6:
        return f"{name} in ({literal(rng, name)}, {literal(rng, name)})"
    if kind < 0.7:
        return f"{name} between {literal(rng, name)} and {literal(rng, name)}"
    order = rng.choice(("<", "<=", ">", ">=", "=", "<>"))
    if kind < 0.8:
        return f"{rng.choice('ilufmn')} {order} {rng.choice('ilufmn')}"
    return f"{name} {order} {literal(rng, name)}"


def plain(value):
    """A value that compares equal whatever the type of its column is; doubles to 12 digits."""
    if isinstance(value, float):
        return f"float {value + 0.0:.12g}"
    if isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool):
        return f"number {decimal.Decimal(value).normalize() + 0}"
    return value if value is None else str(value)


def rows(found):
    return list(zip(*([plain(value) for value in column.to_pylist()] for column in found.columns)))


class Random(command.Command):
    def compare(self, job, query, ordered=False):
        self.run_glint("--master", "local[2]", *job, self.path("out"))
        found, expected = rows(self.table("out")), rows(self.duckdb.sql(query).to_arrow_table())
        if not ordered:
            found.sort(key=repr)
            expected.sort(key=repr)
        self.assertEqual(found, expected, f"GLINT_SEED={SEED}: {job}\n{query}")

    def compare_directories(self, by, left):
        """--partition-by: what DuckDB reads from the directories."""
        self.run_glint("select", "--partition-by", by, left, self.path("out"))
        query = f"select * exclude ({by}), {by} from '{left}'"
        expected = rows(self.duckdb.sql(query).to_arrow_table())
        found = []
        if expected:
            types = ", ".join(f"{name}: {HIVE_TYPES[name]}" for name in by.split(","))
            query = f"select * exclude ({by}), {by} from read_parquet('{self.path('out/**')}" \
                    f"/*.parquet', hive_partitioning = true, hive_types = {{{types}}})"
            found = rows(self.duckdb.sql(query).to_arrow_table())
        self.assertEqual(sorted(found, key=repr), sorted(expected, key=repr),
                         f"GLINT_SEED={SEED}: --partition-by {by}")

    def test_jobs_equal_queries(self):
        self.duckdb = duckdb.connect()
        self.addCleanup(self.duckdb.close)
        self.duckdb.execute("set timezone = 'UTC'")
        for case in range(CASES):
            rng = random.Random(SEED + case)
            with self.subTest(case=case):
                pyarrow.parquet.write_table(
                    table(rng, rng.choice((0, 1, 7, 60, 400))), self.path("left.parquet"),
                    row_group_size=rng.choice((5, 50, 1000)))
                pyarrow.parquet.write_table(table(rng, rng.choice((0, 3, 30))),
                                            self.path("right.parquet"))
                self.compare_jobs(rng, self.path("left.parquet"), self.path("right.parquet"))

    def compare_jobs(self, rng, left, right):
        where, by = condition(rng), rng.choice(("k", "i", "d", "b", "k,b", "m", "t", "g", "u"))
        self.compare(["select", "--where", where, left], f"from '{left}' where {where}")
        self.compare(["agg", "--by", by, "--count", "--where", where, left],
                     f"select {by}, count(*) from '{left}' where {where} group by {by}")
        self.compare(["agg", "--by", by, "--sum", "i,l,u,m", "--min", "i,u,m,g", "--max", "l,f,n",
                      "--count", "--distinct", "k", left],
                     f"select {by}, sum(i), sum(l::decimal(38)), sum(u::decimal(38)), sum(m), "
                     "min(i), min(u), min(m), min(g), max(l), max(f), max(n), count(*), "
                     f"count(distinct k) from '{left}' group by {by}")
        self.compare(["agg", "--by", by, "--sum", "i,l,u,m", "--min", "u,m", "--mean", "f", left],
                     f"select {by}, sum(i), sum(l::decimal(38)), sum(u::decimal(38)), sum(m), "
                     f"min(u), min(m), avg(f) from '{left}' group by {by}")
        self.compare(["agg", "--by", by, "--min", "k,d,t", "--max", "k,d", left],
                     f"select {by}, min(k), min(d), min(t), max(k), max(d) from '{left}' "
                     f"group by {by}")
        key, kind = rng.choice("kidmbtul"), rng.choice(("inner", "left", "right", "full"))
        methods = ("auto", "shuffle", "broadcast", "bloom") if kind == "inner" else ("auto",)
        join = f"'{left}' l {{}} join '{right}' r on l.{key} = r.{key}"
        self.compare(["join", "--key-column", key, "--type", kind, "--method",
                      rng.choice(methods), left, right],
                     "select l.*, r.* from " + join.format(kind))
        for kind in ("semi", "anti"):
            self.compare(["join", "--key-column", key, "--type", kind, left, right],
                         "select l.* from " + join.format(kind))
        a, b = rng.sample(rng.choice(MIXED), 2)
        kind = rng.choice(("inner", "left", "right", "full"))
        self.compare(["join", "--left-key-column", a, "--right-key-column", b, "--type", kind,
                      "--method", rng.choice(("shuffle", "broadcast", "bloom")), left, right],
                     f"select l.*, r.* from '{left}' l {kind} join '{right}' r on l.{a} = r.{b}")
        self.compare_directories(rng.choice(("k", "i", "d", "b", "l", "k,b", "d,k")), left)
        name, reverse = rng.choice("kilufgmdtb"), rng.choice((True, False))
        order = f"{name} {'desc nulls last' if reverse else 'nulls first'}, n"
        self.compare(["sort", "--by", f"{name}{':r' if reverse else ''},n", left],
                     f"from '{left}' order by {order}", ordered=True)
        self.compare(["dedup", "--by", by, left],
                     f"from '{left}' where n in (select min(n) from '{left}' group by {by})")
        self.compare(["top", "--per", key, "--by", "n", "2", left],
                     f"from '{left}' qualify row_number() over "
                     f"(partition by {key} order by n desc) <= 2")
