"""What jobs write: schemas without rows, names, JSON, and what cannot be written."""

import subprocess

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

from command import GLINT, Command

SCHEMA = pyarrow.schema([("k", pyarrow.string()), ("n", pyarrow.int32()),
                         ("day", pyarrow.date32())])
ROWS = pyarrow.table({"k": ["a", "b"], "n": [1, 2], "day": [0, 1]}, SCHEMA)


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
