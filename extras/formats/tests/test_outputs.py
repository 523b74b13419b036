"""What jobs write: schemas without rows, names, JSON, and what cannot be written."""

import decimal
import json
import math
import os
import subprocess

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

from command import GLINT, Command

SCHEMA = pyarrow.schema([("k", pyarrow.string()), ("n", pyarrow.int32()),
                         ("day", pyarrow.date32())])
ROWS = pyarrow.table({"k": ["a", "b"], "n": [1, 2], "day": [0, 1]}, SCHEMA)


def found_value(value, type_):
    """A number as a column of the type has it."""
    if value is None or not pyarrow.types.is_decimal(type_):
        return value
    with decimal.localcontext(prec=80):
        return decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-type_.scale))


class Outputs(Command):
    def test_outputs_without_rows_have_the_schema(self):
        pyarrow.parquet.write_table(SCHEMA.empty_table(), self.path("none"))
        pyarrow.parquet.write_table(ROWS, self.path("rows"))
        with pyarrow.ipc.new_file(self.path("arrow"), SCHEMA):
            pass
        jobs = (["select"], ["select", "--columns", "k,n,day"], ["sort", "--by", "n:n"],
                ["sample", "--fraction", "1"], ["grep", "x", "--column", "k"],
                ["top", "1", "--by", "n"], ["distinct"], ["dedup"])
        for job in jobs:
            for name in ("none", "arrow"):
                self.run_glint(*job, "--output-format", "parquet", self.path(name),
                               self.path("out"))
                self.assertEqual(self.table("out").schema, SCHEMA, (job, name))
        for where in ("n > 5", "k = 'x'", "day IS NULL", "n / 2 > 5"):
            self.run_glint("select", "--where", where, self.path("rows"), self.path("out"))
            self.assertTrue(self.table("out").equals(SCHEMA.empty_table()), where)
        self.run_glint("split-dataset", self.path("none"), self.path("a"), self.path("b"))
        self.assertEqual(self.table("a").schema, SCHEMA)
        self.assertEqual(self.table("b").schema, SCHEMA)
        self.run_glint("agg", "--by", "k", "--sum", "n", self.path("none"), self.path("out"))
        self.assertEqual(self.table("out").schema.names, ["k", "sum(n)"])

    def test_joins_without_rows(self):
        pyarrow.parquet.write_table(SCHEMA.empty_table(), self.path("none"))
        pyarrow.parquet.write_table(ROWS, self.path("rows"))
        names = ["k", "n", "day", "k_right", "n_right", "day_right"]
        for left, right in (("none", "rows"), ("rows", "none"), ("none", "none")):
            for type_ in ("inner", "left", "full"):
                self.run_glint("join", "--type", type_, "--key-column", "k", self.path(left),
                               self.path(right), self.path("out"))
                self.assertEqual(self.table("out").schema.names, names)
            self.run_glint("join-steps", "--key-column", "k", self.path(left), self.path(right),
                           self.path("filter"), self.path("kept"), self.path("out"))
            self.assertEqual(self.table("out").schema.names, names)
            self.assertEqual(self.table("kept").schema, SCHEMA)

    def test_a_file_without_columns(self):
        pyarrow.parquet.write_table(pyarrow.table({}), self.path("in"))
        _, error = self.run_glint("select", self.path("in"), self.path("out"), code=65)
        self.assertIn("it has no columns", error)

    def test_compression(self):
        pyarrow.parquet.write_table(ROWS, self.path("in"))
        for how, codec in ((), "SNAPPY"), (("auto",), "SNAPPY"), (("none",), "UNCOMPRESSED"), \
                (("gzip",), "GZIP"), (("zstd",), "ZSTD"):
            options = ("--compress", *how) if how else ()
            self.run_glint("select", *options, self.path("in"), self.path("out"))
            part = pyarrow.parquet.ParquetFile(self.parts("out")[0])
            self.assertEqual(part.metadata.row_group(0).column(0).compression, codec)
            self.assertTrue(part.read().equals(ROWS))
        for how in "auto", "none", "zstd":
            self.run_glint("select", "--output-format", "arrow", "--compress", how,
                           self.path("in"), self.path("out"))
            with pyarrow.ipc.open_file(self.parts("out")[0]) as part:
                self.assertTrue(part.read_all().equals(ROWS), how)
        _, error = self.run_glint("select", "--output-format", "arrow", "--compress", "gzip",
                                  self.path("in"), self.path("out"), code=64)
        self.assertIn("Arrow files cannot be compressed by gzip", error)

    def test_names_with_line_ends_are_read(self):
        with open(self.path("in"), "w", encoding="utf-8") as file:
            file.write('"a\nb",c\n1,2\n')
        self.run_glint("select", "--csv", "--header", "--output-format", "parquet",
                       self.path("in"), self.path("out"))
        self.assertEqual(self.table("out").to_pydict(), {"a\nb": ["1"], "c": ["2"]})
        self.run_glint("sort", "--by", "c", self.path("out"), self.path("again"))
        self.assertEqual(self.table("again").to_pydict(), {"a\nb": ["1"], "c": ["2"]})
        run = subprocess.run([GLINT, "cat", self.path("again")], check=True, capture_output=True)
        self.assertEqual(run.stdout, b'"a\nb",c\n1,2\n')
        pyarrow.parquet.write_table(pyarrow.table({"a\x1fb": [1]}), self.path("mark"))
        _, error = self.run_glint("select", self.path("mark"), self.path("out"), code=65)
        self.assertIn("the name of column 1 has the byte 0x1f", error)

    def test_a_header_is_once_on_standard_output(self):
        pyarrow.parquet.write_table(ROWS, self.path("in"), row_group_size=1)
        job = ("select", "--output-header", "--output-format", "csv", "--split-size", "1",
               self.path("in"))
        self.assertEqual(self.run_glint(*job, "-")[0],
                         "k,n,day\na,1,1970-01-01\nb,2,1970-01-02\n")
        self.run_glint(*job, self.path("out"))
        for part in self.parts("out"):
            with open(part, encoding="utf-8") as file:
                self.assertEqual(file.readline(), "k,n,day\n")

    def test_equal_names(self):
        pyarrow.parquet.write_table(pyarrow.table({"k": [1], "k_right": [2]}), self.path("left"))
        pyarrow.parquet.write_table(pyarrow.table({"k": [1]}), self.path("right"))
        _, error = self.run_glint("join", "--key-column", "k", self.path("left"),
                                  self.path("right"), self.path("out"), code=64)
        self.assertIn('two columns of the output are named "k_right"', error)
        self.assertIn("glint submit select --columns 'NAME AS OTHER'", error)
        self.run_glint("select", "--columns", "k, k_right AS r", self.path("left"),
                       self.path("renamed"))
        self.run_glint("join", "--key-column", "k", self.path("renamed"), self.path("right"),
                       self.path("out"))
        self.assertEqual(self.table("out").schema.names, ["k", "r", "k_right"])

    def test_numbers_of_texts_have_the_type_of_all_results(self):
        """In outputs with types; results of CSV, JSON lines and columns of text are the same."""
        fields = {"k": ["a", "a", "b"], "i": ["1", "-2", "30"], "d": ["1.50", "2.25", "0"],
                  "x": ["1", "2.5e0", "7"], "u": ["9223372036854775807", "1", "-5"],
                  "w": ["9" * 38, "1.5", "2"], "many": ["9" * 38, "0." + "0" * 37 + "1", "1"],
                  "more": ["1" + "0" * 38, "1", "9007199254740993"], "nan": ["inf", "1", "NaN"],
                  "none": ["", "", ""]}
        rows = list(zip(*fields.values()))
        with open(self.path("in.csv"), "w", encoding="utf-8") as file:
            for row in [tuple(fields), *rows]:
                file.write(",".join(row) + "\n")
        with open(self.path("in.jsonl"), "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(dict(zip(fields, row))) + "\n")
        pyarrow.parquet.write_table(pyarrow.table(fields), self.path("in.parquet"))
        names = [name for name in fields if name != "k"]
        number = decimal.Decimal
        with decimal.localcontext(prec=80):
            wide = number("9" * 38) + number("1.5")
            many = number("9" * 38) + number(1).scaleb(-38)
        sums = {"i": ("int64", -1, 30), "d": ("decimal128(38, 2)", number("3.75"), 0),
                "x": ("double", 3.5, 7.0), "u": ("decimal128(38, 0)", 2 ** 63, -5),
                "w": ("decimal256(76, 1)", wide, 2), "many": ("decimal256(76, 38)", many, 1),
                "more": ("double", 1e38, 2.0 ** 53), "nan": ("double", math.inf, math.nan),
                "none": ("int64", None, None)}
        least = {"i": ("int64", -2, 30), "x": ("int64", 1, 7), "u": ("int64", 1, -5),
                 "d": ("decimal128(38, 1)", number("1.5"), 0), "none": ("int64", None, None)}
        for options in (["--csv", "--header", self.path("in.csv")],
                        ["--json-lines", self.path("in.jsonl")], [self.path("in.parquet")]):
            for shape in (["--split-size", "64M"], ["--split-size", "1K", "--partitions", "3"]):
                self.run_glint("agg", "--by", "k", "--sum", ",".join(names), "--min",
                               "i:n,x:n,u:n,d:n,none:n", "--first", "i", "--output-format",
                               "parquet", *shape, *options, self.path("out"))
                found = self.table("out").sort_by("k")
                for kind, expected in (("sum", sums), ("min", least)):
                    for name, (type_, *values) in expected.items():
                        column = found.column(f"{kind}({name})")
                        self.assertEqual((str(column.type), list(map(str, column.to_pylist()))),
                                         (type_, [str(found_value(value, column.type))
                                                  for value in values]), (kind, name))
                self.assertEqual(found.column("first(i)").to_pylist(), ["1", "30"])
        out, _ = self.run_glint("agg", "--csv", "--header", "--sum", "i,d,nan,none", "--max", "u",
                                "--output-format", "jsonl", self.path("in.csv"), "-")
        self.assertEqual(out, '{"sum(i)":29,"sum(d)":3.75,"sum(nan)":"nan","sum(none)":null,'
                              '"max(u)":9223372036854775807}\n')

    def test_numbers_of_texts_are_no_numbers_of_rows(self):
        """Rows are read once, and errors come before they are read."""
        with open(self.path("in.csv"), "w", encoding="utf-8") as file:
            file.write("k,n\na,1\nb,x\na,2\n")
        job = ["agg", "--csv", "--header", "--by", "k", "--output-format", "parquet"]
        summary = self.submit(*job, "--sum", "n", "--bad-rows", "skip", self.path("in.csv"),
                              self.path("out"))
        self.assertIn("3 rows read", summary)
        self.assertIn("a numeric column is not a number  1", summary)
        for options, text in ((["--sum", "n,n"], "two columns of the output"),
                              (["--sum", "n", "--bloom-filter", "x"], "--bloom-filter"),
                              (["--sum", "n", "--row-group-rows", "0"], "--row-group-rows")):
            _, error = self.run_glint(*job, *options, self.path("in.csv"), self.path("new"),
                                      code=64)
            self.assertIn(text, error)
        os.mkdir(self.path("other"))
        self.run_glint(*job[:1], "--count", "--csv", "--header", self.path("in.csv"),
                       self.path("other/out"))
        _, error = self.run_glint(*job, "--sum", "n", self.path("in.csv"), self.path("other"),
                                  code=73)
        self.assertIn("E0301", error)

    def test_sums_of_durations_and_of_many_digits(self):
        digits = decimal.Decimal("1234567890123456789012345678901234567890.5")
        pyarrow.parquet.write_table(pyarrow.table({
            "t": pyarrow.array([2 ** 62, 2 ** 62], pyarrow.duration("us")),
            "small": pyarrow.array([decimal.Decimal("1.5"), None], pyarrow.decimal256(60, 2)),
            "large": pyarrow.array([digits, -digits * 3], pyarrow.decimal256(60, 2))}),
            self.path("in"))
        self.run_glint("agg", "--sum", "t,small,large", "--min", "small,large", "--max", "t",
                       self.path("in"), self.path("out"))
        found = self.table("out")
        self.assertEqual([str(type_) for type_ in found.schema.types],
                         ["decimal128(38, 0)", "decimal128(38, 2)", "double",
                          "decimal256(60, 2)", "double", "duration[us]"])
        self.assertEqual(list(found.to_pylist()[0].values())[:5],
                         [2 ** 63, decimal.Decimal("1.5"), float(digits * -2),
                          decimal.Decimal("1.5"), float(digits * -3)])
        self.run_glint("select", "--columns", "t - 1 AS t", self.path("in"), self.path("out"))
        self.assertEqual(self.table("out").schema.field("t").type, pyarrow.int64())

    def test_json_values_stay_what_they_are(self):
        lines = ['{"n":1.50,"t":"12","b":true,"z":null,"o":{"x":[1,"a"]},"s":"\\ud800"}',
                 '{"n":-0,"t":"\\u00e9\\"","b":"true","o":[]}']
        with open(self.path("in"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        out, _ = self.run_glint("select", "--json-lines", "--missing", "null", "--where",
                                "t <> 'x'", "--columns", "n, t, b, z, o, s, n + 1 AS m, o.x[0]",
                                "--output-format", "jsonl", self.path("in"), "-")
        self.assertEqual(out.splitlines(), [
            '{"n":1.50,"t":"12","b":true,"z":null,"o":{"x":[1,"a"]},"s":"\\ud800","m":2.5,'
            '"o.x[0]":1}',
            '{"n":-0,"t":"\\u00e9\\"","b":"true","z":null,"o":[],"s":null,"m":1,"o.x[0]":null}'])
