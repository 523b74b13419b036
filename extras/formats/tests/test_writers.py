"""Files that DuckDB, Polars and fastparquet have written, read as they themselves read them."""

import os
import struct
import tempfile
import unittest
import warnings

import duckdb
import fastparquet
import pandas
import polars

import library
import sample

LIBRARY = library.Library(os.environ["GLINT_FORMATS"])


def read(path, kind=library.PARQUET, **options):
    with open(path, "rb") as file:
        with LIBRARY.open(file.read(), kind) as opened:
            return opened.table_of(**options)


class Writers(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = os.path.join(self.directory.name, "file")

    def test_duckdb(self):
        table = sample.table().drop_columns(["f16", "wide", "nulls", "zoned"])
        duckdb.register("sample", table)
        for version in ("V1", "V2"):
            for codec in ("snappy", "zstd", "gzip", "lz4_raw", "brotli"):
                duckdb.execute(f"""copy (select *, uuid() as uuid, [i64, null] as l from sample)
                    to '{self.path}' (format parquet, row_group_size 2048, compression {codec},
                    parquet_version {version})""")
                # As pylists: DuckDB's Arrow types differ, as uuid's text does from its bytes.
                query = f"select * exclude uuid from read_parquet('{self.path}')"
                expected = duckdb.sql(query).to_arrow_table()
                mine = read(self.path).drop_columns(["uuid"])
                self.assertEqual(mine.to_pylist(), expected.to_pylist(), (version, codec))

    def test_duckdb_bloom_filters(self):
        duckdb.execute(f"copy (select (i % 50 * 3)::integer i from range(5000) t(i)) "
                       f"to '{self.path}' (format parquet)")
        with open(self.path, "rb") as data, LIBRARY.open(data.read()) as file:
            found = [file.may_contain(0, 0, struct.pack("<i", i)) for i in range(1500)]
        self.assertTrue(all(found[:150:3]))
        self.assertLess(sum(found), 150)

    def test_duckdb_intervals(self):
        duckdb.execute(f"copy (select 1 as a, interval 1 month as b) to '{self.path}' "
                       "(format parquet)")
        self.assertEqual(read(self.path, columns=[0]).to_pylist(), [{"a": 1}])
        with self.assertRaises(library.FormatError) as caught:
            read(self.path)
        self.assertEqual(caught.exception.kind, library.UNSUPPORTED)

    def test_polars(self):
        frame = polars.from_arrow(sample.table().drop_columns(["wide", "fixed", "map"]))
        for codec in ("uncompressed", "snappy", "zstd", "gzip", "lz4", "brotli"):
            frame.write_parquet(self.path, compression=codec, row_group_size=300)
            self.assertTrue(polars.from_arrow(read(self.path)).equals(frame), codec)
        for codec in ("uncompressed", "lz4", "zstd"):
            frame.write_ipc(self.path, compression=codec)
            mine = polars.from_arrow(read(self.path, library.ARROW_FILE))
            self.assertTrue(mine.equals(frame), codec)
            frame.write_ipc_stream(self.path, compression=codec)
            mine = polars.from_arrow(read(self.path, library.ARROW_STREAM))
            self.assertTrue(mine.equals(frame), codec)

    def test_fastparquet(self):
        table = sample.table().select(["i64", "f64", "utf8", "binary", "local"])
        frame = table.to_pandas()
        for options in ({}, {"times": "int96"}, {"compression": "GZIP"}, {"stats": True},
                        {"has_nulls": "infer"}, {"has_nulls": True},
                        {"compression": "ZSTD", "row_group_offsets": 300}):
            fastparquet.write(self.path, frame, **options)
            with warnings.catch_warnings():  # it leaves the file open
                warnings.simplefilter("ignore")
                expected = fastparquet.ParquetFile(self.path).to_pandas()
            mine = read(self.path).to_pandas()
            self.assertEqual(len(mine), len(frame))
            for name in ("utf8", "binary", "f64"):
                self.assertEqual([None if v != v else v for v in mine[name]],
                                 [None if v != v else v for v in expected[name]], (name, options))
            self.assertEqual([str(v) for v in mine["local"]],
                             [str(v) for v in expected["local"]], options)

    def test_columns_without_nulls_and_tables_without_rows_of_fastparquet(self):
        """Their footers are not as the specification has them."""
        frame = pandas.DataFrame({"n": [1, 2, 3], "s": ["a", "\u00e9", ""], "f": [0.5, -1, 2],
                                  "b": [True, False, True]})
        for part in (frame, frame[:0]):
            for has_nulls in (True, False, "infer", ["s"], None):
                fastparquet.write(self.path, part, has_nulls=has_nulls)
                self.assertEqual(read(self.path).to_pylist(), part.to_dict("records"), has_nulls)


if __name__ == "__main__":
    unittest.main()
