"""Files that the library has written, read by pyarrow and by the library."""

import io
import os
import struct
import unittest
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

import library
import sample

LIBRARY = library.Library(os.environ["GLINT_FORMATS"])


def by_pyarrow(data, kind):
    if kind == library.PARQUET:
        return pq.read_table(io.BytesIO(data))
    if kind == library.ARROW_FILE:
        return pa.ipc.open_file(data).read_all()
    return pa.ipc.open_stream(data).read_all()


class Write(unittest.TestCase):
    def test_all_kinds_and_codecs(self):
        table = sample.table()
        for kind in (library.PARQUET, library.ARROW_FILE, library.ARROW_STREAM):
            codecs = sample.CODECS if kind == library.PARQUET else ["none", "zstd", "lz4"]
            for codec in codecs:
                data = LIBRARY.write(table, kind, codec, batch_rows=300)
                self.assertTrue(by_pyarrow(data, kind).equals(table), (kind, codec))
                with LIBRARY.open(data, kind) as file:
                    self.assertTrue(file.table_of().equals(table), (kind, codec))
                self.assertEqual(data, LIBRARY.write(table, kind, codec, batch_rows=300))

    def test_levels(self):
        table = pa.table({"a": [str(i * 7919 % 10007) for i in range(20000)]})
        for codec, low, high in (("zstd", 1, 19), ("gzip", 1, 9), ("brotli", 0, 9)):
            sizes = [len(LIBRARY.write(table, codec=codec, level=level)) for level in (low, high)]
            self.assertGreater(sizes[0], sizes[1], codec)
        with self.assertRaises(library.FormatError):
            LIBRARY.write(table, codec="gzip", level=77)

    def test_row_groups(self):
        table = pa.table({"a": [i * 7919 % 10007 for i in range(30000)]})
        groups = pq.ParquetFile(io.BytesIO(LIBRARY.write(table, rows=7000))).metadata
        self.assertEqual([groups.row_group(i).num_rows for i in range(groups.num_row_groups)],
                         [7000, 7000, 7000, 7000, 2000])
        self.assertEqual(groups.created_by, "glint")
        groups = pq.ParquetFile(io.BytesIO(LIBRARY.write(table, size=20000, batch_rows=1000)))
        self.assertGreater(groups.metadata.num_row_groups, 1)
        self.assertEqual(groups.read().num_rows, 30000)
        for kind in (library.ARROW_FILE, library.ARROW_STREAM):
            rows = [b.num_rows for b in
                    by_pyarrow(LIBRARY.write(table, kind, rows=20000), kind).to_batches()]
            self.assertEqual(rows, [20000, 10000])

    def test_bloom_filters(self):
        n = 5000
        table = pa.table({"i": [3 * i for i in range(n)], "s": [f"v{i}" for i in range(n)],
                          "without": list(range(n))})
        with LIBRARY.open(LIBRARY.write(table, rows=4000, bloom=[0, 1])) as file:
            has = lambda column, value: [file.may_contain(p, column, value) for p in (0, 1)]
            for i in range(n):
                self.assertTrue(has(0, struct.pack("<q", 3 * i))[i // 4000])
                self.assertTrue(has(1, b"v%d" % i)[i // 4000])
            false = sum(has(0, struct.pack("<q", 3 * i + 1))[0] for i in range(n))
            self.assertLess(false, n * 0.03)
            self.assertEqual(has(2, b"12345678"), [True, True])

    def test_dictionaries_and_no_rows(self):
        table = pa.table({"d": pa.array(["a", None, "b", "a"]).dictionary_encode()})
        plain = pa.table({"d": ["a", None, "b", "a"]})
        for kind in (library.PARQUET, library.ARROW_FILE, library.ARROW_STREAM):
            with LIBRARY.open(LIBRARY.write(table, kind), kind) as file:
                self.assertTrue(file.table_of().equals(plain))
            with LIBRARY.open(LIBRARY.write(plain.slice(0, 0), kind), kind) as file:
                self.assertTrue(file.table_of().equals(plain.slice(0, 0)))

    def test_values_that_hardly_repeat_get_no_dictionary(self):
        """Of 8 bytes a dictionary has at most 131,072; a row group has up to 1,048,576 rows."""
        n, random = 60000, Random(1)
        drawn = lambda values: [random.randrange(values) for _ in range(n)]
        columns = [(list(range(n)), False), ([f"id{i}" for i in drawn(10**9)], False),
                   (drawn(10**6), False), (sorted(drawn(50000)), False),
                   ([None if i % 2 else i for i in range(n)], False), (drawn(100), True),
                   (drawn(50000), True), ([i % 10000 for i in range(n)], True),
                   ([f"{i // 40}" for i in range(n)], True), ([[i] for i in range(n)], True)]
        for number, (values, has) in enumerate(columns):
            table = pa.table({"c d": values})
            for batch_rows in (8192, n):
                file = pq.ParquetFile(io.BytesIO(LIBRARY.write(table, batch_rows=batch_rows)))
                self.assertTrue(file.read().equals(table))
                chunk = file.metadata.row_group(0).column(0)
                self.assertEqual(chunk.has_dictionary_page, has, (number, batch_rows))
        few = LIBRARY.write(pa.table({"a": list(range(9000))}), batch_rows=1000)
        chunk = pq.ParquetFile(io.BytesIO(few)).metadata.row_group(0).column(0)
        self.assertTrue(chunk.has_dictionary_page)  # it has room for the values of a small file

    def test_what_cannot_be_written(self):
        interval = pa.table({"x": pa.array([pa.MonthDayNano([1, 2, 3])])})
        for kind, codec, table in ((library.PARQUET, "none", interval),
                                   (library.ARROW_FILE, "gzip", sample.table(1))):
            with self.assertRaises(library.FormatError) as caught:
                LIBRARY.write(table, kind, codec)
            self.assertEqual(caught.exception.kind, library.UNSUPPORTED)


if __name__ == "__main__":
    unittest.main()
