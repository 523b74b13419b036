"""Lists, structs, maps and wide decimals that jobs keep, at all depths and with nulls at each."""

import datetime
import decimal
import json

import duckdb
import polars
import pyarrow
import pyarrow.ipc
import pyarrow.parquet

from command import Command

D = decimal.Decimal


def nested():
    """Columns of nested types, with nulls and empty lists at each level; no two rows are equal."""
    struct = pyarrow.struct
    inner = struct([("x", pyarrow.int32()), ("y", pyarrow.list_(pyarrow.string()))])
    scalars = struct([("b", pyarrow.bool_()), ("u64", pyarrow.uint64()), ("f32", pyarrow.float32()),
                      ("f64", pyarrow.float64()), ("dec", pyarrow.decimal128(38, 3)),
                      ("date", pyarrow.date32()), ("us", pyarrow.timestamp("us")),
                      ("utc", pyarrow.timestamp("ns", "UTC")), ("time", pyarrow.time64("us")),
                      ("bin", pyarrow.binary()), ("fixed", pyarrow.binary(2)),
                      ("wide", pyarrow.decimal256(70, 4)), ("odd, (name)=%", pyarrow.string())])
    value = {"b": True, "u64": 2 ** 64 - 1, "f32": 0.10000000149011612, "f64": -0.0,
             "dec": D("-12345678901234567890.125"), "date": datetime.date(1, 1, 1),
             "us": datetime.datetime(2026, 1, 2, 3, 4, 5, 6),
             "utc": None, "time": datetime.time(23, 59, 59, 999999),
             "bin": b"\x00\xff\xed\xb3\xbf\"\\\xc3\xa9", "fixed": b"\xff\xfe",
             "wide": D("-123456789012345678901234567890123456789012345678901234567890.1234"),
             "odd, (name)=%": "null"}
    return pyarrow.table({
        "n": pyarrow.array([3, 1, 4, 2, 5]),
        "wide": pyarrow.array([D(10) ** 75, None, -D(10) ** 75, D(0), D(7)],
                              pyarrow.decimal256(76, 0)),
        "ints": pyarrow.array([[1, None], [], None, [2], [None]], pyarrow.list_(pyarrow.int64())),
        "large": pyarrow.array([["a"], [], None, [None], ["\x1e\u00fc\n,\""]],
                               pyarrow.large_list(pyarrow.string())),
        "pair": pyarrow.array([[1, 2], None, [None, 3], [4, 5], [6, None]],
                              pyarrow.list_(pyarrow.int16(), 2)),
        "deep": pyarrow.array([{"l": [{"x": 1, "y": ["a", None]}, None]}, {"l": []}, None,
                               {"l": None}, {"l": [{"x": None, "y": None}, {"x": 2, "y": []}]}],
                              struct([("l", pyarrow.list_(inner))])),
        "lists": pyarrow.array([[[1], None, []], [], None, [None], [[None, 2]]],
                               pyarrow.list_(pyarrow.list_(pyarrow.int8()))),
        "scalars": pyarrow.array([value, None, {}, dict(value, f64=float("nan"), f32=3.5),
                                  dict(value, f64=float("inf"), utc=datetime.datetime(
                                      1969, 12, 31, 23, 59, 59, tzinfo=datetime.timezone.utc))],
                                 scalars),
        "map": pyarrow.array([[("k", 1)], [], None, [("", None), ("k2", 2)], [("k", 3)]],
                             pyarrow.map_(pyarrow.string(), pyarrow.int64())),
        "maps": pyarrow.array([[(1, {"a": [("x", True)]})], None, [], [(2, None)],
                               [(3, {"a": None})]],
                              pyarrow.map_(pyarrow.int32(), struct([
                                  ("a", pyarrow.map_(pyarrow.string(), pyarrow.bool_()))]))),
    })


class Nested(Command):
    def check(self, saved, expected, what=None):
        self.assertEqual(saved.schema.names, expected.schema.names)
        for name in expected.schema.names:
            self.assertEqual(saved[name].type, expected[name].type, (what, name))
            # As texts: NaN is equal to itself.
            self.assertEqual([repr(v) for v in saved[name].to_pylist()],
                             [repr(v) for v in expected[name].to_pylist()], (what, name))

    def arrow(self, name):
        tables = []
        for part in self.parts(name):
            with pyarrow.ipc.open_file(part) as file:
                tables.append(file.read_all())
        return pyarrow.concat_tables(tables)

    def test_jobs_keep_them(self):
        table = nested()
        pyarrow.parquet.write_table(table, self.path("in"), row_group_size=2)
        expected = pyarrow.parquet.read_table(self.path("in"))
        in_order = expected.sort_by("n")
        for job, rows in ((["sample", "--fraction", "1"], expected),
                          (["select"], expected),
                          (["select", "--where", "n > 0"], expected),
                          (["select", "--columns", ", ".join(table.schema.names)], expected),
                          (["select", "--columns", "*"], expected),
                          (["grep", "x", "--invert", "--column", "n"], expected),
                          (["sort", "--by", "n:n"], in_order),
                          (["top", "9", "--by", "n"], in_order.take([4, 3, 2, 1, 0]))):
            self.run_glint(*job, "--split-size", "1", self.path("in"), self.path("out"))
            self.check(self.table("out"), rows, job)
        for job in (["dedup"], ["distinct"], ["distinct", "--encode-messages"]):
            self.run_glint(*job, self.path("in"), self.path("out"))
            self.check(self.table("out").sort_by("n"), in_order, job)

    def test_both_formats(self):
        table = nested()
        with pyarrow.ipc.new_file(self.path("arrow"), table.schema) as file:
            file.write_table(table, max_chunksize=2)
        self.run_glint("select", self.path("arrow"), self.path("out"))
        self.check(self.arrow("out"), table)
        pyarrow.parquet.write_table(table, self.path("expected"))
        self.run_glint("select", "--output-format", "parquet", self.path("arrow"),
                       self.path("parquet"))
        self.check(self.table("parquet"), pyarrow.parquet.read_table(self.path("expected")))
        self.run_glint("select", "--output-format", "arrow", self.path("parquet/*.parquet"),
                       self.path("out"))
        self.check(self.arrow("out"), table.cast(pyarrow.parquet.read_schema(
            self.parts("parquet")[0])))

    def test_joins_and_aggregates_keep_them(self):
        table = nested()
        pyarrow.parquet.write_table(table, self.path("in"))
        expected = pyarrow.parquet.read_table(self.path("in")).sort_by("n")
        self.run_glint("join", "--key-column", "n", self.path("in"), self.path("in"),
                       self.path("out"))
        joined = self.table("out").sort_by("n")
        self.check(joined.select(table.schema.names), expected)
        right = [name + "_right" for name in table.schema.names]
        self.check(joined.select(right).rename_columns(table.schema.names), expected)
        self.run_glint("agg", "--by", "n", "--first", "deep,map", self.path("in"),
                       self.path("out"))
        firsts = self.table("out").sort_by("n")
        self.assertEqual(firsts["first(deep)"].to_pylist(), expected["deep"].to_pylist())
        self.assertEqual(firsts["first(map)"].type, expected["map"].type)

    def test_dictionaries_runs_and_views_within(self):
        words = pyarrow.array(["a", None, "b"])
        table = pyarrow.table({
            "d": pyarrow.ListArray.from_arrays([0, 2, 3], words.dictionary_encode()),
            "v": pyarrow.array([["x" * 20, None], []], pyarrow.list_(pyarrow.string_view())),
            "z": pyarrow.array([{"a": None}, None], pyarrow.struct([("a", pyarrow.null())]))})
        with pyarrow.ipc.new_file(self.path("in"), table.schema) as file:
            file.write_table(table)
        self.run_glint("select", self.path("in"), self.path("out"))
        saved = self.arrow("out")
        self.assertEqual(saved.schema.types, [pyarrow.list_(pyarrow.string())] * 2 +
                         [pyarrow.struct([("a", pyarrow.null())])])
        self.assertEqual(saved.to_pylist(), table.to_pylist())

    def test_other_writers(self):
        duckdb.execute(f"""copy (select i, [i, null] as l,
            {{'a': i, 'b': [{{'c': i::varchar}}]}} as s, map {{i::varchar: [i]}} as m
            from range(100) t(i)) to '{self.path('duckdb')}' (format parquet)""")
        polars.DataFrame({"i": [1, 2], "l": [[{"a": 1}], None],
                          "s": [{"x": {"y": [1]}}, {"x": None}]}).write_parquet(
                              self.path("polars"))
        for name in ("duckdb", "polars"):
            self.run_glint("select", self.path(name), self.path("out"))
            saved, given = self.table("out"), pyarrow.parquet.read_table(self.path(name))
            self.assertEqual(saved.to_pylist(), given.to_pylist())
            rows = [duckdb.sql(f"select * from read_parquet('{path}') order by i").fetchall()
                    for path in (self.path("out/*.parquet"), self.path(name))]
            self.assertEqual(rows[0], rows[1])
            self.assertTrue(polars.read_parquet(self.parts("out")).equals(
                polars.read_parquet(self.path(name))), name)

    def test_types_that_differ_are_text(self):
        for name, type_ in (("a", pyarrow.int32()), ("b", pyarrow.int64())):
            pyarrow.parquet.write_table(pyarrow.table({
                "l": pyarrow.array([[1]], pyarrow.list_(type_))}), self.path(name))
        self.run_glint("select", f"{self.path('a')},{self.path('b')}", self.path("out"))
        self.assertEqual(self.table("out").to_pydict(), {"l": ["[1]", "[1]"]})

    def test_texts_are_json(self):
        pyarrow.parquet.write_table(nested().select(["n", "deep", "map"]), self.path("in"))
        out, _ = self.run_glint("sort", "--by", "n:n", "--output-format", "jsonl",
                                self.path("in"), "-")
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(rows[2], {"n": 3, "deep": {"l": [{"x": 1, "y": ["a", None]}, None]},
                                   "map": [{"key": "k", "value": 1}]})
        out, _ = self.run_glint("select", "--output-format", "csv", self.path("in"), "-")
        self.assertEqual(out.splitlines()[1], '1,"{""l"":[]}",[]')


class Paths(Command):
    """Parts of structs, by names with dots."""

    def setUp(self):
        super().setUp()
        struct = pyarrow.struct
        user = struct([("id", pyarrow.int32()), ("name", pyarrow.string()),
                       ("at", struct([("lat", pyarrow.float32())])),
                       ("day", pyarrow.date32()), ("tags", pyarrow.list_(pyarrow.string())),
                       ("x.y", pyarrow.string()), ("bin", pyarrow.binary())])
        day = datetime.date(2026, 1, 31)
        rows = [{"id": 2, "name": "b\"\n", "at": {"lat": 0.5}, "day": day, "tags": ["t", "u"]},
                None, {"id": 10, "name": None, "at": None, "day": None, "tags": None},
                {"id": None, "name": "null", "at": {"lat": None}, "tags": []},
                {"id": 2, "name": "", "at": {"lat": -1}, "x.y": "dots"}]
        self.rows = pyarrow.table({"n": [1, 2, 3, 4, 5], "user": pyarrow.array(rows, user),
                                   "user.own": ["a", "b", "c", "d", "e"]})
        pyarrow.parquet.write_table(self.rows, self.path("in"), row_group_size=2)

    def select(self, columns, *more):
        self.run_glint("select", "--columns", columns, *more, self.path("in"), self.path("out"))
        return self.table("out")

    def test_columns(self):
        out = self.select("user.id, user.name AS name, user.at.lat, user.day, user.tags, user.own,"
                          " user.tags[1] AS second, user.id + 1 AS next,"
                          " \"user./x.y\" AS dots, user.at")
        self.assertEqual(out.schema.types, [
            pyarrow.int32(), pyarrow.string(), pyarrow.float32(), pyarrow.date32(),
            pyarrow.list_(pyarrow.string()), pyarrow.string(), pyarrow.string(), pyarrow.int64(),
            pyarrow.string(), pyarrow.struct([("lat", pyarrow.float32())])])
        day = datetime.date(2026, 1, 31)
        self.assertEqual(out.to_pydict(), {
            "user.id": [2, None, 10, None, 2], "name": ["b\"\n", None, None, "null", ""],
            "user.at.lat": [0.5, None, None, None, -1.0],
            "user.day": [day, None, None, None, None],
            "user.tags": [["t", "u"], None, None, [], None],
            "user.own": ["a", "b", "c", "d", "e"], "second": ["u", None, None, None, None],
            "next": [3, None, 11, None, 3], "dots": [None] * 4 + ["dots"],
            "user.at": [{"lat": 0.5}, None, None, {"lat": None}, {"lat": -1.0}]})

    def test_conditions_and_keys(self):
        for where, rows in (("user.id = 2", [1, 5]), ("user.id IS NULL", [2, 4]),
                            ("user.name = 'null'", [4]), ("user.name = ''", [5]),
                            ("user.day >= DATE '2026-01-31'", [1]), ("user.own = 'c'", [3]),
                            ("user.at.lat < 0 OR user.tags[0] = 't'", [1, 5])):
            self.assertEqual(self.select("n", "--where", where)["n"].to_pylist(), rows, where)
        self.run_glint("sort", "--by", "user.id:n,user.at.lat:n", self.path("in"), self.path("out"))
        self.assertEqual(self.table("out")["n"].to_pylist(), [2, 4, 5, 1, 3])
        self.assertEqual(self.table("out").schema, self.rows.schema)
        self.run_glint("agg", "--by", "user.id", "--count", "--max", "user.at.lat",
                       self.path("in"), self.path("out"))
        self.assertEqual(sorted(self.table("out").to_pylist(), key=str), [
            {"user.id": 10, "count": 1, "max(user.at.lat)": None},
            {"user.id": 2, "count": 2, "max(user.at.lat)": 0.5},
            {"user.id": None, "count": 2, "max(user.at.lat)": None}])
        self.run_glint("dedup", "--by", "user.id", self.path("in"), self.path("out"))
        self.assertEqual(self.table("out").num_rows, 3)
        self.run_glint("grep", "b", "--column", "user.name", self.path("in"), self.path("out"))
        self.assertEqual(self.table("out")["n"].to_pylist(), [1])
        self.run_glint("top", "1", "--by", "user.at.lat", self.path("in"), self.path("out"))
        self.assertEqual(self.table("out")["n"].to_pylist(), [1])

    def test_elements_of_lists(self):
        table = pyarrow.table({
            "l": [[1, 2], [3], None, []], "s": [[{"a": 1, "b": [5, 6]}], None, [], [None]],
            "l[0]": ["own", None, "x", "y"]})
        pyarrow.parquet.write_table(table, self.path("in"))
        out = self.select("l[1] AS second, s[0].a AS a, s[0].b[1] AS b, l[0], l[0] IS NULL AS none",
                          "--where", "l[1] IS NULL OR s[0].b[0] = 5")
        self.assertEqual(out.schema.types, [pyarrow.int64()] * 3 + [pyarrow.string(),
                                                                    pyarrow.bool_()])
        self.assertEqual(out.to_pydict(), {
            "second": [2, None, None, None], "a": [1, None, None, None], "b": [6, None, None, None],
            "l[0]": ["own", None, "x", "y"], "none": [False, True, False, False]})
        for name in ("l[x]", "l[0][0]", "l[0].a", "s[0].c", "l[-1]", "l[", "n[0]"):
            self.run_glint("sort", "--by", name, self.path("in"), self.path("out"), code=64)

    def test_what_is_no_part(self):
        for name in ("user.none", "n.id", "user.", ".id", "user.id.x", "user.tags.x", "user.tags"):
            _, error = self.run_glint("sort", "--by", name, self.path("in"), self.path("out"),
                                      code=0 if name == "user.tags" else 64)
            if name != "user.tags":
                self.assertIn(f'no column is named "{name}"', error)
        for job in (["count-keys", "--key-column", "user.id"],
                    ["join", "--key-column", "user.id", self.path("in")]):
            _, error = self.run_glint(*job, self.path("in"), self.path("out"), code=64)
            self.assertIn("a part of a column cannot be chosen here", error)
        text = self.rows.set_column(1, "user", pyarrow.array(
            [{"b": b"\xff"}] * 5, pyarrow.struct([("b", pyarrow.binary())])))
        pyarrow.parquet.write_table(text, self.path("in"))
        _, error = self.run_glint("sort", "--by", "user.b", self.path("in"), self.path("out"),
                                  code=65)
        self.assertIn("bytes that are not UTF-8", error)
