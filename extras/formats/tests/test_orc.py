"""ORC files of pyarrow and pyorc: what glint reads is what they read."""

import datetime
import decimal
import io
import math
import os
import random
import struct
import subprocess
import unittest
import zoneinfo

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pyorc

import command
import library
from command import Command

LIBRARY = library.Library(os.environ["GLINT_FORMATS"])
CODECS = ["uncompressed", "snappy", "zlib", "lz4", "zstd"]
UTC = datetime.timezone.utc
DAY = datetime.date(2026, 1, 31)
AT = datetime.datetime(2026, 1, 31, 12, 0, 0, 250000)


def write(table, **options):
    """The bytes of a file of pyarrow."""
    out = io.BytesIO()
    pyarrow.orc.write_table(table, out, **options)
    return out.getvalue()


def write_pyorc(schema, rows, **options):
    out = io.BytesIO()
    with pyorc.Writer(out, schema, **options) as writer:
        writer.writerows(rows)
    return out.getvalue()


def read(data, **options):
    with LIBRARY.open(data, library.ORC) as file:
        return file.table_of(**options)


def some_nulls(values, every):
    return [None if i % every == 0 else v for i, v in enumerate(values)]


def sample(rows):
    """A table of all types that pyarrow writes."""
    whole = range(rows)
    half = 2**63 // max(rows, 1)
    return pa.table({
        "id": [f"tt{i:05d}" for i in whole],
        "bool": some_nulls([i % 3 == 0 for i in whole], 7),
        "i8": pa.array(some_nulls([i % 256 - 128 for i in whole], 11), pa.int8()),
        "i16": pa.array([i * 37 % 65536 - 32768 for i in whole], pa.int16()),
        "i32": pa.array(some_nulls([(-1) ** i * i * 99991 for i in whole], 5), pa.int32()),
        "i64": pa.array([half * i - 2**62 for i in whole], pa.int64()),
        "f32": pa.array(some_nulls([i / 10 for i in whole], 9), pa.float32()),
        "f64": [math.nan if i % 6 == 0 else -0.0 if i % 6 == 1 else i / 7 for i in whole],
        "text": some_nulls(["é" * (i % 4) + str(i % 13) for i in whole], 4),
        "raw": [bytes([200 + i % 50, 255]) for i in whole],
        "day": pa.array(some_nulls([DAY - datetime.timedelta(i * 11) for i in whole], 8)),
        "ns": pa.array([i * 10**13 + i * 1_000_007 for i in whole], pa.timestamp("ns")),
        "utc": pa.array([i * 997 for i in whole], pa.timestamp("us", "UTC")),
        "price": pa.array([decimal.Decimal(i - 7) / 100 for i in whole], pa.decimal128(9, 2)),
        "wide": pa.array(some_nulls([decimal.Decimal(10) ** 37 - i for i in whole], 3),
                         pa.decimal128(38, 0)),
        "list": some_nulls([[j if j % 2 else None for j in range(i % 4)] for i in whole], 6),
        "struct": some_nulls([{"a": i, "b": None if i % 2 else "x"} for i in whole], 10),
        "map": pa.array(some_nulls([[("k", i), ("l", None)][:i % 3] for i in whole], 5),
                        pa.map_(pa.string(), pa.int64())),
        "deep": pa.array([[{"c": [i] * (i % 3), "t": AT}] * (i % 2) for i in whole],
                         pa.list_(pa.struct([("c", pa.list_(pa.int64())),
                                             ("t", pa.timestamp("ns"))]))),
        "nothing": pa.array([None] * rows, pa.int32()),
    })


class Files(unittest.TestCase):
    def expect_same(self, data, message=None, **options):
        """glint reads what pyarrow reads."""
        want, got = pyarrow.orc.read_table(io.BytesIO(data)), read(data, **options)
        self.assertEqual(got.column_names, want.column_names)
        for name in want.column_names:
            self.assertEqual(str(got[name].to_pylist()), str(want[name].to_pylist()),
                             (name, message))

    def test_all_types_and_codecs(self):
        table = sample(3000)
        for codec in CODECS:
            for options in ({}, {"dictionary_key_size_threshold": 1.0},
                            {"file_version": "0.11"},
                            {"stripe_size": 1000, "batch_size": 100},
                            {"compression_block_size": 1 << 17, "row_index_stride": 100}):
                data = write(table, compression=codec, **options)
                self.expect_same(data, (codec, options), batch_rows=997)

    def test_batches_of_any_size(self):
        data = write(sample(300))
        for rows in (1, 7, 8, 299, 300, 65536):
            self.expect_same(data, batch_rows=rows)

    def test_columns_in_any_order(self):
        table = sample(100)
        data = write(table)
        for columns in ([3], [17, 0, 15], [], list(reversed(range(table.num_columns)))):
            with LIBRARY.open(data, library.ORC) as file:
                batches = list(file.read(0, columns=columns))
                self.assertEqual(sum(batch.num_rows for batch in batches), 100)
                self.assertEqual(batches[0].schema.names,
                                 [table.column_names[i] for i in columns])

    def test_integers_of_all_encodings(self):
        """Short repeats, direct, patched base and delta, in each width."""
        chance = random.Random(7)
        for bits in range(1, 64):
            runs = []
            for _ in range(40):
                base = chance.getrandbits(bits) - (1 << bits - 1)
                step = chance.getrandbits(bits // 2)
                kind = chance.randrange(5)
                for i in range(chance.choice((1, 3, 10, 30, 300, 700))):
                    runs.append((base, base + i * step, chance.getrandbits(bits) - (1 << bits - 1),
                                 chance.getrandbits(3) if i % 50 else base, base - i)[kind])
            values = [max(-2**63, min(2**63 - 1, v)) for v in runs]
            for version in ("0.11", "0.12"):
                data = write(pa.table({"x": values}), file_version=version)
                self.assertEqual(read(data)["x"].to_pylist(), values, (bits, version))

    def test_decimals(self):
        decimal.getcontext().prec = 60
        for precision in range(1, 39):
            for scale in {0, precision // 2, precision}:
                most = decimal.Decimal(10**precision - 1).scaleb(-scale)
                values = [most, -most, most - most, None, decimal.Decimal(1).scaleb(-scale)]
                table = pa.table({"x": pa.array(values, pa.decimal128(precision, scale))})
                self.assertEqual(read(write(table))["x"].to_pylist(), values)

    def test_types_of_pyorc(self):
        rows = [("ab", "abc", 1, -1, 5, DAY, decimal.Decimal("1.50"), {"k": [1, None]}, True),
                (None,) * 9]
        data = write_pyorc("struct<c:char(4),v:varchar(3),t:tinyint,s:smallint,b:bigint,d:date,"
                           "m:decimal(10,2),x:map<string,array<int>>,o:boolean>", rows)
        self.expect_same(data)
        with LIBRARY.open(data, library.ORC) as file:
            self.assertEqual([str(t) for t in file.schema().types[:7]],
                             ["string", "string", "int8", "int16", "int64", "date32[day]",
                              "decimal128(10, 2)"])

    def test_times(self):
        """Also before 1970 and 2015, whose seconds are stored from."""
        times = ["1677-10-01T00:00:00", "1969-12-31T23:59:58", "1970-01-01T00:00:00",
                 "1970-01-01T00:00:00.000001", "2014-12-31T23:59:59.999999999",
                 "2015-01-01T00:00:00", "2026-07-01T12:00:00.25", "2262-04-01T00:00:00.000000100"]
        for kind in (pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
            table = pa.table({"t": pa.array(times).cast(pa.timestamp("ns")).cast(kind)})
            got = read(write(table))["t"]
            self.assertEqual(got.type, kind)
            self.assertEqual(got.cast(pa.int64()), table["t"].cast(pa.int64()))

    def test_times_outside_nanoseconds(self):
        times = [datetime.datetime(2, 1, 1), datetime.datetime(1582, 10, 4, 1, 2, 3, 4567), AT,
                 None, datetime.datetime(9998, 12, 31, 23, 59, 59, 500000)]
        rows = [(t and t.replace(tzinfo=UTC),) for t in times]
        got = read(write_pyorc("struct<t:timestamp>", rows))["t"]
        self.assertEqual(got.type, pa.timestamp("us"))
        self.assertEqual(got.to_pylist(), times)

    def test_the_writer_has_a_time_zone(self):
        """A timestamp is what the writer's clock showed, one with a zone is an instant."""
        times = [datetime.datetime(2026, 7, 1, 12), datetime.datetime(2026, 1, 1, 12, 0, 0, 1),
                 datetime.datetime(1950, 7, 1, 12), datetime.datetime(2105, 7, 1, 12),
                 datetime.datetime(2101, 1, 1), datetime.datetime(2112, 3, 20, 12)]
        for name in ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"):
            zone = zoneinfo.ZoneInfo(name)
            rows = [(t.replace(tzinfo=zone), t.replace(tzinfo=zone)) for t in times]
            data = write_pyorc("struct<t:timestamp,i:timestamp with local time zone>", rows,
                               timezone=zone)
            got = read(data)
            self.assertEqual(got["t"].to_pylist(), times, name)
            self.assertEqual([t.astimezone(UTC) for t in got["i"].to_pylist()],
                             [i.astimezone(UTC) for _, i in rows], name)

    def test_old_dates(self):
        """pyarrow and pyorc are of C++, whose dates are always Gregorian."""
        days = [datetime.date(1, 1, 1), datetime.date(1500, 2, 28), datetime.date(1582, 10, 4),
                datetime.date(1582, 10, 15), DAY]
        self.assertEqual(read(write(pa.table({"d": days})))["d"].to_pylist(), days)
        self.assertEqual(read(write_pyorc("struct<d:date>", [(d,) for d in days]))["d"].to_pylist(),
                         days)

    def test_dates_of_java(self):
        """They are of the Julian calendar before 1582-10-15: the footer's writer is patched."""
        days = [datetime.date(1500, 3, 10), datetime.date(1582, 10, 14),
                datetime.date(1582, 10, 15)]
        data = write(pa.table({"d": days}), compression="uncompressed")
        writer = bytes([9 << 3, 1, 98])  # before the software's version
        self.assertEqual(data.count(writer), 1)
        data = data.replace(writer, bytes([9 << 3, 0, 98]))
        self.assertEqual(read(data)["d"].to_pylist(),
                         [datetime.date(1500, 3, 1), datetime.date(1582, 10, 4), days[2]])

    def test_empty(self):
        for table in (pa.table({"a": pa.array([], pa.int32())}), pa.table({})):
            got = read(write(table))
            self.assertEqual((got.num_rows, got.column_names), (0, table.column_names))
        got = read(write_pyorc("struct<a:int>", []))
        self.assertEqual((got.num_rows, got.column_names), (0, ["a"]))

    def test_stripes_are_pieces(self):
        chance = random.Random(2)
        table = pa.table({"x": [chance.getrandbits(40) for _ in range(200_000)],
                          "y": [chance.randrange(10) for _ in range(200_000)]})
        data = write(table, stripe_size=100_000, batch_size=1000, compression="uncompressed")
        with LIBRARY.open(data, library.ORC) as file:
            pieces = file.pieces()
            self.assertGreater(len(pieces), 3)
            self.assertEqual(sum(piece.rows for piece in pieces), table.num_rows)
            file.reads.clear()
            got = list(file.read(1, columns=[1]))
            self.assertEqual(sum(batch.num_rows for batch in got), pieces[1].rows)
            # The stripe's footer, and the streams of one column.
            self.assertLess(sum(size for _, size in file.reads), pieces[1].bytes // 4)
            self.assertLess(len(file.reads), 4)
        self.assertEqual(read(data), table)

    def test_statistics(self):
        table = pa.table({
            "x": pa.array([5, None, -7], pa.int32()), "s": ["b", "é", "a" * 2000],
            "d": [DAY, None, DAY], "f": [1.5, math.nan, 2], "n": pa.array([None] * 3, pa.int64())})
        with LIBRARY.open(write(table), library.ORC) as file:
            self.assertEqual(file.statistics(0), [{"min": -7, "max": 5, "null_count": 1}])
            text = file.statistics(1)[0]
            self.assertLessEqual(text["min"], "a" * 2000)
            self.assertGreaterEqual(text["max"], "é")
            self.assertEqual(file.statistics(2), [{"min": DAY, "max": DAY, "null_count": 1}])
            self.assertEqual(file.statistics(3), [{"min": None, "max": None, "null_count": 0}])
            self.assertEqual(file.statistics(4), [{"min": None, "max": None, "null_count": 3}])

    def test_what_is_not_read(self):
        data = write_pyorc("struct<k:int,u:uniontype<int,string>>", [(1, 2), (3, "x")])
        self.assertEqual(read(data, columns=[0])["k"].to_pylist(), [1, 3])
        with self.assertRaises(library.FormatError) as raised:
            read(data)
        self.assertEqual(raised.exception.kind, library.UNSUPPORTED)
        self.assertIn("column u: unions are not supported", str(raised.exception))
        with self.assertRaises(library.FormatError) as raised:
            read(write_pyorc("int", [1, 2]))
        self.assertIn("its rows are not structs", str(raised.exception))

    def expect_damage(self, data, problem):
        with self.assertRaises(library.FormatError) as raised:
            read(data)
        self.assertEqual(raised.exception.kind, library.DAMAGED, str(raised.exception))
        self.assertIn(problem, str(raised.exception))
        return raised.exception

    def test_damage_names_the_part(self):
        values = [f"row {i * i}" for i in range(3000)]
        for codec in CODECS:
            table = pa.table({"one": pa.array([1] * 3000), "x": values})
            data = bytearray(write(table, compression=codec))
            with LIBRARY.open(bytes(data), library.ORC) as file:
                piece = file.pieces()[0]
            self.expect_damage(bytes(data[:-1]), "postscript")
            self.expect_damage(b"ORC", "")
            footer = bytearray(data)
            footer[-data[-1] - 3] ^= 255
            self.expect_damage(bytes(footer), "")
            end = piece.offset + piece.bytes
            stripe = bytearray(data)
            stripe[end - 60:end - 20] = b"\xff" * 40
            with self.assertRaises(library.FormatError) as raised:
                read(bytes(stripe))
            self.assertEqual(raised.exception.piece, 0)
            if codec == "uncompressed":
                continue
            stream = bytearray(data)
            middle = piece.offset + piece.bytes // 2
            stream[middle:middle + 400] = b"\xff" * 400
            with self.assertRaises(library.FormatError, msg=codec) as raised:
                read(bytes(stream))
            self.assertIn("column x", str(raised.exception), codec)
            self.assertEqual(raised.exception.piece, 0)

    def test_lengths_that_are_too_large(self):
        """A list of 2^40 values is not allocated."""
        chance = random.Random(5)
        table = pa.table({"x": [[i] * chance.randrange(4) for i in range(64)]})
        data = write(table, compression="uncompressed")
        direct = bytes.fromhex("421ba344")  # 28 numbers of two bits each, and so on
        self.assertEqual(data.count(direct), 1)
        at = data.index(direct)
        large = struct.pack(">BBQ", 0x40 | 31 << 1, 0, 2**40)
        with self.assertRaises(library.FormatError) as raised:
            read(data[:at] + large + data[at + len(large):])
        self.assertIn("column x: the stream LENGTH: lists have more than 256 Mi values",
                      str(raised.exception))

    def test_negative_nanoseconds(self):
        """pyarrow writes them for times before 1970; the encoding has no sign."""
        table = pa.table({"t": pa.array([-1_500_000], pa.timestamp("us"))})
        with self.assertRaises(library.FormatError) as raised:
            read(write(table))
        self.assertEqual(raised.exception.kind, library.UNSUPPORTED)
        self.assertIn("column t: the stream SECONDARY: times before 1970", str(raised.exception))


class Jobs(Command):
    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def test_values_have_their_texts(self):
        path = self.write("a.orc", write(sample(3).slice(1, 1)))
        self.assertEqual(self.lines("select", "--columns", "id,bool,i8,i32,f32,f64,day,utc,price",
                                    path),
                         ["tt00001\tfalse\t-127\t-99991\t0.1\t-0.0\t2026-01-20\t"
                          "1970-01-01T00:00:00.000997Z\t-0.06"])
        self.run_glint("select", "--output-format", "jsonl", "--columns", "list,struct,map", path,
                       self.path("out"))
        with open(self.parts("out")[0], encoding="utf-8") as part:
            self.assertEqual(part.read(), '{"list":[null],"struct":{"a":1,"b":null},'
                                          '"map":[{"key":"k","value":1}]}\n')

    def test_types_are_kept(self):
        table = sample(2000)
        path = self.write("a.orc", write(table, compression="zstd"))
        self.run_glint("select", "--output-format", "parquet", path, self.path("out"))
        got = self.table("out")
        for name in table.column_names:
            want = table[name]
            if pa.types.is_timestamp(want.type): # which ORC has in nanoseconds
                want = want.cast(pa.timestamp("ns", want.type.tz))
            self.assertEqual(str(got[name].to_pylist()), str(want.to_pylist()), name)

    def test_the_same_as_parquet(self):
        table = sample(20000).select(["id", "f64", "i32", "text", "day"])
        path = self.write("a.orc", write(table, stripe_size=20000, batch_size=500))
        pyarrow.parquet.write_table(table, self.path("a.parquet"))
        for job in (["count-keys", "--key", "text", "--key-column", "text", "--id-column", "id"],
                    ["sort", "--by", "i32:nr"], ["agg", "--by", "text", "--sum", "i32", "--count"],
                    ["select", "--columns", "id,f64", "--where", "i32 > 9 AND day < '2000-01-01'"]):
            both = [self.lines(*job, "--split-size", "64K", source)
                    for source in (path, self.path("a.parquet"))]
            self.assertEqual(sorted(both[0]), sorted(both[1]), job)

    def test_stripes_are_skipped(self):
        table = pa.table({"x": range(100_000), "s": [f"{i:06d}" for i in range(100_000)],
                          "f": [math.nan] * 100_000})
        path = self.write("a.orc", write(table, stripe_size=50_000, batch_size=1000))
        for where, count in (("x = 99999", 1), ("x < 10", 10), ("s > '099990'", 9),
                             ("x IS NULL", 0), ("f < 1 OR x = 5", 1)):
            summary = self.submit("select", "--output-format", "tsv", "--where", where, path,
                                  self.path("out"))
            self.assertEqual(self.output("out").count(b"\n"), count, where)
            self.assertEqual("row groups skipped" in summary, "f" not in where, (where, summary))

    def test_a_stripe_that_needs_more_than_the_memory(self):
        chance = random.Random(1)
        table = pa.table({"a": [chance.randbytes(1 << 20) for _ in range(48)], "n": range(48)})
        path = self.write("a.orc", write(table, stripe_size=1 << 30))
        limits = ["--master", "local[1]", "--memory", "64M"]
        self.run_glint("agg", *limits, "--sum", "n", path, self.path("out"))
        _, error = self.run_glint("select", *limits, path, self.path("out"), code=78)
        self.assertIn("E0502", error)
        self.assertIn("stripe 0: its columns need", error)

    def test_damage_is_an_error(self):
        data = write(sample(2000), compression="zlib")
        path = self.path("a.orc")
        for cut in (len(data) // 2, len(data) - 1, 40):
            self.write("a.orc", data[:cut])
            _, error = self.run_glint("agg", "--bad-rows", "skip", "--count", path,
                                      self.path("out"), code=65)
            self.assertIn("E0216", error)
        with LIBRARY.open(data, library.ORC) as file:
            middle = file.pieces()[0].bytes // 2
        self.write("a.orc", data[:middle] + b"\xff" * 200 + data[middle + 200:])
        _, error = self.run_glint("select", "--bad-rows", "skip", path, self.path("out"), code=65)
        self.assertIn("E0216", error)
        self.assertIn("stripe 0: column ", error)

    def test_a_text_that_begins_so(self):
        path = self.write("a.tsv", b"ORC\t1\nORC\t2\n")
        self.run_glint("count-keys", path, self.path("out"))

    def test_lines_of_it_are_refused(self):
        path = self.write("a.orc", write(sample(10)))
        run = subprocess.run([command.GLINT, "submit", "--quiet", "wordcount", path,
                              self.path("out")], check=False, capture_output=True, text=True)
        self.assertEqual(run.returncode, 65, run.stderr)
        self.assertIn("E0213", run.stderr)
        self.assertIn("ORC", run.stderr)


if __name__ == "__main__":
    unittest.main()
