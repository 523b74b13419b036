"""Arrow files and streams that pyarrow has written, read through the library."""

import io
import os
import unittest

import pyarrow as pa
import pyarrow.feather as feather

import library
import sample

LIBRARY = library.Library(os.environ["GLINT_FORMATS"])


def written(table, kind, compression=None, rows=300):
    out = io.BytesIO()
    new = pa.ipc.new_file if kind == library.ARROW_FILE else pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=True)
    with new(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return out.getvalue()


class Arrow(unittest.TestCase):
    def test_codecs(self):
        table = sample.table()
        for kind in (library.ARROW_FILE, library.ARROW_STREAM):
            for codec in (None, "lz4", "zstd"):
                with LIBRARY.open(written(table, kind, codec), kind) as file:
                    rows = [piece.rows for piece in file.pieces()]
                    self.assertEqual(rows, [300, 300, 300, 100] if kind == library.ARROW_FILE
                                     else [1000])
                    self.assertTrue(file.table_of(batch_rows=77).equals(table), (kind, codec))
                    order = list(range(table.num_columns))[::-1]
                    self.assertTrue(file.table_of(columns=order).equals(table.select(order)))

    def test_dictionaries(self):
        values = [None if i % 7 == 0 else f"v{i % 5}" for i in range(100)]
        column = pa.array(values).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
        nested = pa.array([[v] for v in values], pa.list_(pa.dictionary(pa.int16(), pa.string())))
        table = pa.table({"d": column, "n": nested, "i": pa.array(range(100)).dictionary_encode()})
        plain = pa.table({"d": values, "n": [[v] for v in values], "i": list(range(100))})
        for kind in (library.ARROW_FILE, library.ARROW_STREAM):
            with LIBRARY.open(written(table, kind, rows=30), kind) as file:
                self.assertEqual(file.schema(), plain.schema)
                self.assertTrue(file.table_of().equals(plain))
                batch = next(file.read(0, dictionary=[1, 1, 1]))
                self.assertEqual([field.type for field in batch.schema], [
                    pa.dictionary(pa.int32(), pa.string()), plain.schema[1].type, pa.int64()])
                self.assertTrue(file.table_of(dictionary=[1, 1, 1]).equals(plain))

    def test_dictionaries_that_change_in_a_stream(self):
        out, type_ = io.BytesIO(), pa.dictionary(pa.int8(), pa.string())
        with pa.ipc.new_stream(out, pa.schema([("d", type_)])) as writer:
            for values in (["a", "b"], ["c", "a"]):
                writer.write_batch(pa.record_batch({"d": pa.array(values).dictionary_encode()
                                                    .cast(type_)}))
        with LIBRARY.open(out.getvalue(), library.ARROW_STREAM) as file:
            for flag in (0, 1):
                read = [batch.to_pydict()["d"] for batch in file.read(0, dictionary=[flag])]
                self.assertEqual(read, [["a", "b"], ["c", "a"]])

    def test_only_the_columns_are_read(self):
        table = pa.table({name: [f"{name} {i}" for i in range(50_000)] for name in "abcdef"})
        data = written(table, library.ARROW_FILE, rows=50_000)
        with LIBRARY.open(data, library.ARROW_FILE) as file:
            file.reads.clear()
            read = file.table_of(columns=[4])
            self.assertTrue(read.equals(table.select([4])))
            self.assertLess(sum(size for _, size in file.reads), len(data) / 4)

    def test_run_ends_are_kept(self):
        table = pa.table({"r": pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()),
                                                                 ["a", None])})
        with LIBRARY.open(written(table, library.ARROW_FILE), library.ARROW_FILE) as file:
            self.assertEqual(file.table_of(batch_rows=5).to_pydict(), table.to_pydict())

    def test_no_batches(self):
        table = sample.table(0)
        for kind in (library.ARROW_FILE, library.ARROW_STREAM):
            with LIBRARY.open(written(table, kind), kind) as file:
                self.assertEqual(file.table_of().num_rows, 0)
                self.assertEqual(file.statistics(0),
                                 [{"min": None, "max": None, "null_count": None}]
                                 * len(file.pieces()))

    def test_feather(self):
        table = sample.table(100).select(["i64", "utf8"])
        out = io.BytesIO()
        feather.write_feather(table, out)
        with LIBRARY.open(out.getvalue(), library.ARROW_FILE) as file:
            self.assertTrue(file.table_of().equals(table))
        with self.assertRaises(library.FormatError) as caught:
            LIBRARY.open(b"FEA1" + bytes(100) + b"FEA1", library.ARROW_FILE)
        self.assertEqual(caught.exception.kind, library.UNSUPPORTED)

    def test_offsets_beyond_the_buffer(self):
        data = bytearray(written(pa.table({"t": ["ab", "cd", "ef"]}), library.ARROW_FILE))
        offsets = b"".join(i.to_bytes(4, "little") for i in (0, 2, 4, 6))
        at = data.index(offsets) + 12
        data[at:at + 4] = (10**6).to_bytes(4, "little")
        with LIBRARY.open(bytes(data), library.ARROW_FILE) as file:
            with self.assertRaises(library.FormatError) as caught:
                file.table_of()
            self.assertEqual(caught.exception.kind, library.DAMAGED)


if __name__ == "__main__":
    unittest.main()
