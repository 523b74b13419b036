"""Damaged files: each is read to its end or ends with an error, and nothing else happens.

GLINT_CASES is how many files are tried; GLINT_SEED chooses the damage.
"""

import collections
import io
import os
import random
import tempfile
import unittest

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

import library
import sample
import test_avro
import test_orc

LIBRARY = library.Library(os.environ["GLINT_FORMATS"])
CASES = int(os.environ.get("GLINT_CASES", "4000"))
SEED = int(os.environ.get("GLINT_SEED", "1"))


def files():
    """(kind, bytes) of small files with all encodings and codecs."""
    table = sample.table(60)
    result = []
    for codec in sample.CODECS:
        out = io.BytesIO()
        pq.write_table(table, out, compression=codec, row_group_size=40)
        result.append((library.PARQUET, out.getvalue()))
    out = io.BytesIO()
    encodings = {"i64": "DELTA_BINARY_PACKED", "utf8": "DELTA_BYTE_ARRAY",
                 "f64": "BYTE_STREAM_SPLIT", "view": "DELTA_LENGTH_BYTE_ARRAY"}
    pq.write_table(table, out, use_dictionary=False, data_page_version="2.0", compression="none",
                   column_encoding=encodings)
    result.append((library.PARQUET, out.getvalue()))
    result.append((library.PARQUET, LIBRARY.write(table, bloom=[0, 7])))
    table = table.append_column("dictionary", table["category"].dictionary_encode())
    for new, kind in ((pa.ipc.new_file, library.ARROW_FILE),
                      (pa.ipc.new_stream, library.ARROW_STREAM)):
        for codec in (None, "lz4", "zstd"):
            out = io.BytesIO()
            options = pa.ipc.IpcWriteOptions(compression=codec)
            with new(out, table.schema, options=options) as writer:
                writer.write_table(table, max_chunksize=40)
            result.append((kind, out.getvalue()))
    for codec in test_avro.CODECS:
        out = io.BytesIO()
        rows = [test_avro.row(i) for i in range(60)]
        fastavro.writer(out, test_avro.SCHEMA, rows, codec=codec, sync_interval=2000,
                        sync_marker=bytes(range(16)))
        result.append((library.AVRO, out.getvalue()))
    for codec in test_orc.CODECS:
        table = test_orc.sample(60)
        result.append((library.ORC, test_orc.write(table, compression=codec)))
    result.append((library.ORC, test_orc.write(table, compression="uncompressed",
                                               file_version="0.11")))
    return result


def damage(data, chance):
    """The file cut, or with a few other bytes, also in its footer."""
    how = chance.randrange(6)
    if how == 0:
        return data[:chance.randrange(len(data))]
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        last = min(len(data), 2000) if how > 3 else len(data)
        at = len(data) - 1 - chance.randrange(last)
        data[at] = chance.choice((chance.randrange(256), data[at] ^ 1 << chance.randrange(8),
                                  255, 0, 128))
    return bytes(data)


def read_all(data, kind, chance):
    with LIBRARY.open(data, kind) as file:
        columns = len(file.schema())
        for piece in range(len(file.pieces())):
            for _ in file.read(piece, dictionary=[chance.randrange(2)] * columns, batch_rows=17,
                               ahead=chance.choice((1, 100, 1 << 16))):
                pass
            file.may_contain(piece, 0, b"12345678")
            file.bloom_filter(piece, 0)
        for column in range(columns):
            file.statistics_table(column).validate(full=True)  # Python has no days after 9999


class Damage(unittest.TestCase):
    def test_damaged_files(self):
        chance, seeds, ends = random.Random(SEED), files(), collections.Counter()
        for kind, data in seeds:
            read_all(data, kind, chance)
        before = LIBRARY.table.allocated()
        with tempfile.TemporaryFile() as printed:
            kept = os.dup(2)
            os.dup2(printed.fileno(), 2)
            try:
                for case in range(CASES):
                    kind, data = seeds[case % len(seeds)]
                    try:
                        read_all(damage(data, chance), kind, chance)
                        ends["read"] += 1
                    except library.FormatError as error:
                        self.assertIn(error.kind, (1, 3, 4))
                        self.assertTrue(str(error))
                        ends[error.kind] += 1
                    except (pa.ArrowInvalid, KeyError): # pyarrow validates values, too
                        ends["refused"] += 1
            finally:
                os.dup2(kept, 2)
                os.close(kept)
            self.assertEqual(printed.tell(), 0, "a panic prints nothing")
        print(dict(ends))
        self.assertGreater(ends[library.DAMAGED], CASES // 2)
        self.assertLess(ends[library.INTERNAL], CASES // 100)
        self.assertEqual(LIBRARY.table.allocated(), before, "errors free what they had")


if __name__ == "__main__":
    unittest.main()
