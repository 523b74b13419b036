"""Parquet files that pyarrow has written, read through the library."""

import io
import os
import unittest

import pyarrow as pa
import pyarrow.parquet as pq

import library
import sample

LIBRARY = library.Library(os.environ["GLINT_FORMATS"])


def written(table, **options):
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


class Parquet(unittest.TestCase):
    def fails(self, kind, run):
        with self.assertRaises(library.FormatError) as caught:
            run()
        self.assertEqual(caught.exception.kind, kind, caught.exception)
        return caught.exception

    def test_codecs_and_page_versions(self):
        table = sample.table()
        for codec in sample.CODECS:
            for version in ("1.0", "2.0"):
                data = written(table, compression=codec, data_page_version=version,
                               row_group_size=300)
                with LIBRARY.open(data) as file:
                    self.assertEqual(len(file.pieces()), 4)
                    for flag in (0, 1):
                        read = file.table_of(dictionary=[flag] * table.num_columns, batch_rows=77)
                        if flag == 0:
                            self.assertTrue(read.equals(table), (codec, version))
                        self.assertEqual(read.to_pylist(), table.to_pylist())

    def test_the_comparison_can_fail(self):
        table = sample.table(10)
        with LIBRARY.open(written(table)) as file:
            self.assertFalse(file.table_of().equals(table.slice(1)))

    def test_encodings(self):
        table = sample.table().select(["i64", "utf8", "f64", "fixed", "large"])
        encoding = {"i64": "DELTA_BINARY_PACKED", "utf8": "DELTA_BYTE_ARRAY",
                    "f64": "BYTE_STREAM_SPLIT", "fixed": "DELTA_BYTE_ARRAY",
                    "large": "DELTA_LENGTH_BYTE_ARRAY"}
        data = written(table, use_dictionary=False, column_encoding=encoding)
        with LIBRARY.open(data) as file:
            self.assertTrue(file.table_of().equals(table))

    def test_columns_come_in_the_order_that_is_asked_for(self):
        table = sample.table(100)
        with LIBRARY.open(written(table)) as file:
            read = file.table_of(columns=[12, 0, 7])
            self.assertTrue(read.equals(table.select([12, 0, 7])))
            self.fails(library.INTERNAL, lambda: list(file.read(0, columns=[23])))
            self.fails(library.INTERNAL, lambda: list(file.read(1, columns=[0])))

    def test_no_columns(self):
        with LIBRARY.open(written(sample.table(100))) as file:
            batches = list(file.read(0, columns=[], batch_rows=30))
            self.assertEqual([batch.num_rows for batch in batches], [30, 30, 30, 10])

    def test_files_without_rows_or_columns(self):
        for table in (sample.table(0), pa.table({})):
            with LIBRARY.open(written(table)) as file:
                self.assertEqual(file.schema(), table.schema)
                self.assertEqual(file.table_of().num_rows, 0)

    def test_dictionaries_only_of_chunks_that_are_all_dictionary(self):
        table = pa.table({"few": [f"v{i % 9}" for i in range(20000)],
                          "many": [f"value {i}" for i in range(20000)]})
        data = written(table, dictionary_pagesize_limit=4096)
        with LIBRARY.open(data) as file:
            batch = next(file.read(0, dictionary=[1, 1]))
            self.assertEqual(batch.schema.field(0).type, pa.dictionary(pa.int32(), pa.string()))
            self.assertEqual(batch.schema.field(1).type, pa.string())
            batch = next(file.read(0, dictionary=[0, 0]))
            self.assertEqual(batch.schema.field(0).type, pa.string())

    def test_windows(self):
        table = pa.table({"a": list(range(200_000)), "b": [f"{i:08d}" for i in range(200_000)]})
        data = written(table, compression="none", use_dictionary=False, data_page_size=10_000)
        with LIBRARY.open(data) as file:
            file.reads.clear()
            list(file.read(0, columns=[0], ahead=1 << 18))
            size = sum(count for _, count in file.reads)
            chunk = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0).column(0)
            self.assertEqual(size, chunk.total_compressed_size, "no byte is read twice")
            self.assertLessEqual(len(file.reads), size // (1 << 18) + 2)
            self.assertLessEqual(max(count for _, count in file.reads), 1 << 18)
        data = written(table, compression="none", use_dictionary=False, data_page_size=1 << 30)
        with LIBRARY.open(data) as file:
            file.reads.clear()
            list(file.read(0, columns=[0], ahead=1000))
            self.assertLessEqual(len(file.reads), 30, "a large page is one read")

    def test_memory_is_that_of_pages(self):
        table = pa.table({"a": [f"a value of some length {i}" for i in range(400_000)]})
        data = written(table, compression="none", use_dictionary=False)
        before, most = LIBRARY.table.allocated(), 0
        with LIBRARY.open(data) as file:
            for batch in file.read(0, batch_rows=8192, ahead=1 << 18):
                del batch
                most = max(most, LIBRARY.table.allocated() - before)
        self.assertLess(most, len(data) // 3)
        self.assertEqual(LIBRARY.table.allocated(), before)

    def test_batches_of_large_rows_are_short(self):
        table = pa.table({"t": [str(i) * 200_000 for i in range(300)]})
        with LIBRARY.open(written(table, use_dictionary=False)) as file:
            batches = list(file.read(0))
            self.assertLess(max(batch.nbytes for batch in batches), 32 << 20)
            self.assertTrue(pa.Table.from_batches(batches).equals(table))

    def test_int96_of_any_year(self):
        type_ = pa.timestamp("us")
        table = pa.table({"t": pa.array([-10**16, 0, 25 * 10**16, None], type_)})
        data = written(table, use_deprecated_int96_timestamps=True, store_schema=False)
        with LIBRARY.open(data) as file:
            self.assertTrue(file.table_of().equals(table))

    def test_a_failed_callback(self):
        data = written(sample.table(), compression="none")
        with LIBRARY.open(data) as file:
            file.fail = True
            self.fails(library.CALLBACK, file.table_of)
            file.fail = False
            self.assertEqual(file.table_of().num_rows, 1000)

    def test_checksums_of_pages(self):
        table = pa.table({"a": list(range(1000))})
        data = bytearray(written(table, compression="none", use_dictionary=False,
                                 write_page_checksum=True))
        at = data.index((500).to_bytes(8, "little"))
        data[at] ^= 1
        with LIBRARY.open(bytes(data)) as file:
            error = self.fails(library.DAMAGED, file.table_of)
            self.assertEqual(error.piece, 0)
            self.assertIn("column a: ", str(error))

    def test_text_that_is_no_utf8(self):
        data = bytearray(written(pa.table({"t": ["abcdefgh"] * 10}), compression="none"))
        data[data.index(b"abcdefgh")] = 0xff
        with LIBRARY.open(bytes(data)) as file:
            self.fails(library.DAMAGED, file.table_of)

    def test_other_bytes(self):
        data = written(sample.table(10))
        self.fails(library.DAMAGED, lambda: LIBRARY.open(b"PAR1"))
        self.fails(library.DAMAGED, lambda: LIBRARY.open(bytes(1000)))
        self.fails(library.DAMAGED, lambda: LIBRARY.open(data[:-1]))
        self.fails(library.UNSUPPORTED, lambda: LIBRARY.open(data[:-1] + b"E"))
        self.fails(library.UNSUPPORTED, lambda: LIBRARY.open(data, kind=6))

    def test_statistics(self):
        nan = float("nan")
        table = pa.table({"i": [3, None, 1], "u": pa.array([2**63, 1, 2], pa.uint64()),
                          "t": ["b", "aé", "c" * 70], "f": [nan, -1.5, 2.0], "n": [nan] * 3,
                          "l": [[1], [2], None], "none": pa.nulls(3, pa.int32())})
        expected = [
            {"min": 1, "max": 3, "null_count": 1}, {"min": 1, "max": 2**63, "null_count": 0},
            {"min": "aé", "max": "c" * 70, "null_count": 0},
            {"min": -1.5, "max": 2.0, "null_count": 0},
            {"min": None, "max": None, "null_count": 0},
            {"min": None, "max": None, "null_count": None},
            {"min": None, "max": None, "null_count": 3}]
        with LIBRARY.open(written(table)) as file:
            self.assertEqual([file.statistics(i)[0] for i in range(7)], expected)
        with LIBRARY.open(written(table, write_statistics=False)) as file:
            self.assertEqual(file.statistics(0)[0], {"min": None, "max": None, "null_count": None})
        with LIBRARY.open(LIBRARY.write(table)) as file:  # bounds of strings may be cut
            self.assertEqual([file.statistics(i)[0] for i in (0, 1, 3, 4, 6)],
                             [expected[i] for i in (0, 1, 3, 4, 6)])
            self.assertGreater(file.statistics(2)[0]["max"], "c" * 64)


if __name__ == "__main__":
    unittest.main()
