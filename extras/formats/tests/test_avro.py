"""Avro files of fastavro: what glint reads is what fastavro reads."""

import datetime
import decimal
import io
import os
import subprocess
import uuid
import zlib

import fastavro
import polars
import pyarrow
import pyarrow.parquet

import command
from command import Command

DAY = datetime.date(2026, 1, 31)
AT = datetime.datetime(2026, 1, 31, 12, 0, 0, 250000, tzinfo=datetime.timezone.utc)
CODECS = ["null", "deflate", "snappy", "zstandard"]
SCHEMA = {"type": "record", "name": "row", "namespace": "of.tests", "fields": [
    {"name": "id", "type": "string"},
    {"name": "n", "type": ["null", "long"], "default": None},
    {"name": "i", "type": "int"},
    {"name": "late", "type": ["string", "null"]},
    {"name": "f", "type": "float"},
    {"name": "d", "type": "double"},
    {"name": "yes", "type": "boolean"},
    {"name": "raw", "type": "bytes"},
    {"name": "fixed", "type": {"type": "fixed", "name": "three", "size": 3}},
    {"name": "suit", "type": {"type": "enum", "name": "suit", "symbols": ["HEARTS", "SPADES"]}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
    {"name": "time", "type": {"type": "int", "logicalType": "time-millis"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9,
                               "scale": 2}},
    {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
    {"name": "inner", "type": {"type": "record", "name": "pair", "fields": [
        {"name": "a", "type": "long"}, {"name": "b", "type": ["null", "string"]}]}},
    {"name": "counts", "type": {"type": "map", "values": "long"}},
    {"name": "nothing", "type": "null"},
]}


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(value):
    """In zigzag coding, of 0 and more."""
    return varint(2 * value)


def row(i):
    return {"id": f"tt{i:05d}", "n": None if i % 7 == 0 else i * 2**40, "i": -i,
            "late": None if i % 5 == 0 else "é" * (i % 3), "f": i / 10, "d": i / 7,
            "yes": i % 2 == 0,
            "raw": bytes([200 + i % 50, 65]), "fixed": b"abc", "suit": ["HEARTS", "SPADES"][i % 2],
            "day": DAY, "at": AT, "ms": AT, "local": AT.replace(tzinfo=None),
            "time": datetime.time(23, 59, 59, 250000), "price": decimal.Decimal(i) / 100,
            "key": uuid.UUID(int=i), "tags": ["x"] * (i % 3), "inner": {"a": i, "b": None},
            "counts": {"k": i}, "nothing": None}


class Avro(Command):
    def write(self, name, rows, schema=None, **options):
        with open(self.path(name), "wb") as file:
            fastavro.writer(file, schema or SCHEMA, rows, **options)
        return self.path(name)

    def test_values_have_their_texts(self):
        path = self.write("a.avro", [row(1)])
        self.assertEqual(self.lines("select", "--columns",
                                    "id,n,i,late,f,d,yes,suit,day,at,ms,local,time,price", path),
                         ["tt00001\t1099511627776\t-1\té\t0.1\t0.14285714285714285\tfalse\tSPADES\t"
                          "2026-01-31\t2026-01-31T12:00:00.250Z\t2026-01-31T12:00:00.250Z\t"
                          "2026-01-31T12:00:00.250\t23:59:59.250\t0.01"])
        self.assertEqual(self.lines("select", "--columns", "key,nothing", path),
                         ["00000000-0000-0000-0000-000000000001\t\\N"])
        self.run_glint("select", "--output-format", "jsonl", "--columns", "tags,inner,counts", path,
                       self.path("out"))
        with open(self.parts("out")[0], encoding="utf-8") as part:
            self.assertEqual(part.read(), '{"tags":["x"],"inner":{"a":1,"b":null},'
                                          '"counts":[{"key":"k","value":1}]}\n')

    def test_types_are_kept(self):
        path = self.write("a.avro", [row(i) for i in range(3000)], codec="deflate")
        self.run_glint("select", "--output-format", "parquet", path, self.path("out"))
        table = self.table("out")
        self.assertEqual(table.num_rows, 3000)
        types = {name: str(table.schema.field(name).type) for name in table.column_names}
        self.assertEqual(types["day"], "date32[day]")
        self.assertEqual(types["price"], "decimal128(9, 2)")
        self.assertEqual(types["at"], "timestamp[us, tz=UTC]")
        self.assertEqual(types["suit"], "string")
        with open(path, "rb") as file:
            want = list(fastavro.reader(file))
        for name in ("id", "n", "i", "late", "d", "yes", "raw", "day", "at", "local", "price",
                     "tags", "inner"):
            self.assertEqual(table[name].to_pylist(), [r[name] for r in want], name)

    def test_codecs_and_blocks(self):
        rows = [row(i) for i in range(20000)]
        counts = None
        for codec in CODECS:
            for interval in (300, 16000, 10**8):
                path = self.write("a.avro", rows, codec=codec, sync_interval=interval)
                got = self.lines("agg", "--by", "suit", "--sum", "i", "--count",
                                 "--split-size", "64K", path)
                counts = counts or got
                self.assertEqual(got, counts, (codec, interval))
        self.assertEqual(counts, ["HEARTS\t-99990000\t10000", "SPADES\t-100000000\t10000"])

    def test_the_same_as_parquet(self):
        rows = [row(i) for i in range(5000)]
        path = self.write("a.avro", rows, codec="zstandard")
        plain = pyarrow.table({"id": [r["id"] for r in rows], "d": [r["d"] for r in rows]})
        pyarrow.parquet.write_table(plain, self.path("a.parquet"))
        for job in (["count-keys", "--key", "text", "--key-column", "id", "--id-column", "id"],
                    ["sort", "--by", "d:nr"],
                    ["select", "--columns", "id,d", "--where", "d > 100"]):
            both = []
            for source in (path, self.path("a.parquet")):
                if job[0] == "sort":
                    self.run_glint("select", "--columns", "id,d", source, self.path("two"))
                    source = self.path("two")
                both.append(self.lines(*job, source))
            self.assertEqual(both[0], both[1], job)

    def test_rows_without_bytes(self):
        schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "null"}]}
        path = self.write("a.avro", [{"a": None}] * 1000, schema)
        self.assertEqual(self.lines("agg", "--count", path), ["1000"])
        self.assertEqual(self.lines("agg", "--by", "a", "--count", path), ["\\N\t1000"])

    def test_a_file_of_polars(self):
        path = self.path("p.avro")
        polars.DataFrame({"k": ["a", None, "b"], "n": [1, 2, 3]}).write_avro(path, "snappy")
        self.assertEqual(self.lines("select", path),
                         ["a\t1", "\\N\t2", "b\t3"])

    def test_no_rows_and_no_record(self):
        path = self.write("a.avro", [])
        self.assertEqual(self.lines("agg", "--count", path), ["0"])
        path = self.write("b.avro", ["a", "b"], "string")
        _, error = self.run_glint("agg", "--count", path, self.path("out"), code=65)
        self.assertIn("E0213", error)

    def test_damage_is_an_error(self):
        rows = [row(i) for i in range(1000)]
        path = self.write("a.avro", rows, codec="snappy", sync_interval=4000)
        with open(path, "rb") as file:
            data = file.read()
        for cut in (30, 3000, len(data) - 1, len(data) - 20, len(data) // 2):
            with open(path, "wb") as file:
                file.write(data[:cut])
            _, error = self.run_glint("agg", "--count", path, self.path("out"), code=65)
            self.assertIn("E0216", error)
        for at in (len(data) // 2, len(data) - 100, len(data) - 5):
            with open(path, "wb") as file:
                file.write(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
            _, error = self.run_glint("agg", "--bad-rows", "skip", "--sum", "i", path,
                                      self.path("out"), code=65)
            self.assertIn("E0216", error)

    def test_more_bytes_than_rows(self):
        """A block's number of rows is too small: rows would be lost."""
        schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}
        with io.BytesIO() as file:
            fastavro.writer(file, schema, [{"a": "xyz"}] * 3, sync_marker=b"0123456789abcdef")
            data = file.getvalue()
        at = data.index(b"0123456789abcdef") + 16
        self.assertEqual(data[at], 6)
        for rows, expected in ((4, "more bytes than rows"), (8, "block")):
            with open(self.path("a.avro"), "wb") as file:
                file.write(data[:at] + bytes([rows]) + data[at + 1:])
            _, error = self.run_glint("select", self.path("a.avro"), self.path("out"), code=65)
            self.assertIn("E0216", error)
            self.assertIn(expected, error)

    def write_patched(self, kind, value, old, new):
        """A file of two rows, the second of which has other bytes than fastavro wrote."""
        schema = {"type": "record", "name": "r", "fields": [
            {"name": "k", "type": "string"}, {"name": "v", "type": kind}]}
        marker = b"0123456789abcdef"
        with io.BytesIO() as file:
            fastavro.writer(file, schema, [{"k": "a", "v": value}, {"k": "b", "v": value}],
                            sync_marker=marker)
            data = file.getvalue()
        rows = b"\x02a" + old + b"\x02b"
        self.assertEqual(data.count(rows + old + marker), 1)
        with open(self.path("a.avro"), "wb") as file:
            file.write(data.replace(rows + old + marker, rows + new + marker))
        return self.path("a.avro")

    def test_bytes_that_are_no_value(self):
        """Which the decoder would take for a value."""
        suit = {"type": "enum", "name": "E", "symbols": ["X", "Y"]}
        other = ["null", {"type": "array", "items": "boolean"}]
        for kind, value, old, new, problem in (
                (["null", "string"], None, b"\0", b"\6", "a union has branch 3, of 2"),
                (["null", "string"], None, b"\0", b"\1", "a union has branch -1, of 2"),
                (["string", "null"], "", b"\0\0", b"\5\0", "a union has branch -3, of 2"),
                ("boolean", True, b"\1", b"\2", "a boolean is 2"),
                (["null", "boolean"], True, b"\2\1", b"\2\x80", "a boolean is 128"),
                (other, [True], b"\2\2\1\0", b"\2\2\3\0", "a boolean is 3"),
                (["null", suit], "X", b"\2\0", b"\2\4", "an enum is 2, of 2"),
                (["null", "string"], "", b"\2\0", b"\2\x7f", "the size of a text is negative")):
            path = self.write_patched(kind, value, old, new)
            for columns in ("k,v", "k"):
                _, error = self.run_glint("select", "--columns", columns, path, self.path("out"),
                                          code=65)
                self.assertIn("E0216", error)
                self.assertIn(": row 1 of the block before ", error)
                self.assertIn(problem, error)

    def test_values_without_bytes(self):
        schema = {"type": "record", "name": "r", "fields": [
            {"name": "k", "type": "int"}, {"name": "n", "type": {"type": "array", "items": "null"}},
            {"name": "e", "type": {"type": "record", "name": "none", "fields": [
                {"name": "x", "type": "null"}]}},
            {"name": "b", "type": "boolean"}]}
        rows = [{"k": i, "n": [None] * (i * 1000), "e": {"x": None}, "b": i == 1}
                for i in range(3)]
        path = self.write("a.avro", rows, schema)
        self.assertEqual(self.lines("agg", "--by", "b", "--sum", "k", path),
                         ["false\t2", "true\t1"])
        for column in ("n", "e"):
            _, error = self.run_glint("select", "--columns", f"k,{column}", path, self.path("out"),
                                      code=65)
            self.assertIn("E0213", error)
            self.assertIn(f"column {column}: nulls within it are not supported", error)

    def test_fixed_of_no_bytes(self):
        schema = {"type": "record", "name": "r", "fields": [
            {"name": "k", "type": "int"},
            {"name": "f", "type": {"type": "fixed", "name": "none", "size": 0}}]}
        path = self.write("a.avro", [{"k": i, "f": b""} for i in range(3)], schema)
        self.assertEqual(self.lines("agg", "--sum", "k", path), ["3"])
        _, error = self.run_glint("select", path, self.path("out"), code=65)
        self.assertIn("column f: values of 0 bytes are not supported", error)

    def test_a_block_that_decompresses_into_more_than_the_memory(self):
        """It is not decompressed to the end."""
        schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "bytes"}]}
        marker, size = b"0123456789abcdef", 400 << 20
        maker = zlib.compressobj(1, zlib.DEFLATED, -15)
        deflated = [maker.compress(number(size))]
        deflated += [maker.compress(bytes(1 << 20)) for _ in range(size >> 20)]
        for codec, data in (("deflate", b"".join(deflated) + maker.flush()),
                            ("snappy", varint(size) + bytes(99))):  # which begins with its size
            with io.BytesIO() as file:
                fastavro.writer(file, schema, [], codec=codec, sync_marker=marker)
                head = file.getvalue()
            with open(self.path("a.avro"), "wb") as file:
                file.write(head + number(1) + number(len(data)) + data + marker)
            # A child's peak would begin with that of this process.
            run = subprocess.run(["prlimit", f"--data={300 << 20}", command.GLINT, "submit",
                                  "--quiet", "--master", "local[1]", "--memory", "64M", "select",
                                  self.path("a.avro"), self.path("out")],
                                 check=False, stderr=subprocess.PIPE, text=True)
            self.assertEqual(run.returncode, 78, run.stderr)
            self.assertIn("E0502", run.stderr)
            self.assertIn("a block needs more than 64 MiB in memory", run.stderr)

    def test_names_with_namespaces(self):
        """A name without a namespace in a type with a full name is in that type's namespace."""
        enum = {"type": "enum", "name": "E", "symbols": ["X", "Y"]}
        other = {"type": "enum", "name": "E", "symbols": ["P", "Q"]}
        schema = {"type": "record", "name": "a.R", "fields": [
            {"name": "x", "type": other},
            {"name": "z", "type": {"type": "record", "name": "c.d.S", "fields": [
                {"name": "e", "type": enum}, {"name": "g", "type": "E"},
                {"name": "h", "type": "a.E"}]}},
            {"name": "w", "type": "E"}]}
        path = self.write("a.avro", [{"x": "P", "z": {"e": "X", "g": "Y", "h": "Q"}, "w": "Q"}],
                          schema)
        self.run_glint("select", "--output-format", "jsonl", path, self.path("out"))
        with open(self.parts("out")[0], encoding="utf-8") as part:
            self.assertEqual(part.read(),
                             '{"x":"P","z":{"e":"X","g":"Y","h":"Q"},"w":"Q"}\n')
        self.assertEqual(self.lines("select", "--columns", "w", path), ["Q"])

    def test_uuids_in_lists_are_texts(self):
        ids = {"type": "array", "items": {"type": "string", "logicalType": "uuid"}}
        schema = {"type": "record", "name": "r", "fields": [{"name": "ids", "type": ids}]}
        path = self.write("a.avro", [{"ids": [uuid.UUID(int=1)]}], schema)
        self.run_glint("select", "--output-format", "jsonl", path, self.path("out"))
        with open(self.parts("out")[0], encoding="utf-8") as part:
            self.assertEqual(part.read(), '{"ids":["00000000-0000-0000-0000-000000000001"]}\n')

    def test_columns_that_cannot_be_read(self):
        """Only a job that chooses one fails."""
        schema = {"type": "record", "name": "r", "fields": [
            {"name": "k", "type": "string"}, {"name": "u", "type": ["int", "string"]}]}
        path = self.write("a.avro", [{"k": "a", "u": 1}, {"k": "b", "u": "x"}], schema)
        self.assertEqual(self.lines("select", "--columns", "k", path), ["a", "b"])
        self.assertEqual(self.lines("agg", "--by", "k", "--count", path), ["a\t1", "b\t1"])
        for columns in (["--columns", "u"], []):
            _, error = self.run_glint("select", *columns, path, self.path("out"), code=65)
            self.assertIn("E0213", error)
            self.assertIn('column "u"', error)
            self.assertIn("no output was written", error)

    def test_schemas_that_cannot_be_read(self):
        schema = {"type": "record", "name": "r", "fields": [
            {"name": "k", "type": "int"}, {"name": "next", "type": ["null", "r"]}]}
        for path, problem in ((self.write("a.avro", [{"k": 1, "next": None}], schema),
                               "its schema: a type that contains itself is not supported"),
                              (self.write("b.avro", ["a"], "string"),
                               "its rows are no records, which have columns")):
            _, error = self.run_glint("select", path, self.path("out"), code=65)
            self.assertIn(f"cause: {path}: {problem}", error)
            self.assertIn("hint: write the file again", error)

    def test_unknown_codecs(self):
        path = self.write("a.avro", [row(1)], codec="bzip2")
        _, error = self.run_glint("agg", "--count", path, self.path("out"), code=65)
        self.assertIn("the codec bzip2 is not supported", error)

    def test_schemas_that_differ(self):
        one = {"type": "record", "name": "r", "fields": [
            {"name": "k", "type": "string"}, {"name": "n", "type": "int"}]}
        two = {"type": "record", "name": "r", "fields": [
            {"name": "n", "type": "long"}, {"name": "k", "type": "string"}]}
        os.mkdir(self.path("in"))
        self.write("in/1.avro", [{"k": "a", "n": 1}], one)
        self.write("in/2.avro", [{"k": "b", "n": 2**40}], two)
        self.assertEqual(self.lines("select", "--columns", "k,n", self.path("in")),
                         ["a\t1", "b\t1099511627776"])
