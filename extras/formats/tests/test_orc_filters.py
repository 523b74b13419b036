"""Bloom filters inside ORC files of pyorc, which has the writer of ORC's C++ library: `glint filter
import --format orc` reads the stream of a row group, and glint hashes ids with a type alike."""

import datetime
import random
import unittest

import pyorc

from test_filters import FilterFiles

ROWS, STRIDE, KIND_BLOOM_FILTER_UTF8 = 3000, 10_000, 8
RANDOM = random.Random(1)
COLUMNS = {  # name: ORC's type, the type of ids, values, others
    "text": ("string", None, [f"tt{i}é" for i in range(ROWS)] + ["x" * 60, "ü"],
             [f"yy{i}" for i in range(ROWS)]),
    "i64": ("bigint", "i64", [RANDOM.randrange(-2**63, 2**63) for _ in range(ROWS)]
            + [2**63 - 1, -2**63], range(ROWS)),
    "i32": ("int", "i32", [RANDOM.randrange(-2**31, -1) for _ in range(ROWS)]
            + [2**31 - 1, -2**31], range(ROWS)),
    "f64": ("double", "f64", [RANDOM.uniform(-1e9, 0) for _ in range(ROWS)] + [0.0, 5e-324],
            [i + 0.5 for i in range(ROWS)]),
    "date": ("date", "date", [datetime.date.fromordinal(700_000 + i) for i in range(ROWS)]
             + [datetime.date(1970, 1, 1), datetime.date(9999, 12, 31)],
             [datetime.date.fromordinal(600_000 + i) for i in range(ROWS)]),
}


def read_varint(data, at):
    number = shift = 0
    while data[at] >= 128:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
    return number | data[at] << shift, at + 1


def fields(data):
    """The numbers and values of a message of Protocol Buffers: varints and bytes."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        value, at = read_varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        yield tag >> 3, value


def filter_of_column(data, column):
    """The stream in the only stripe of a file that is not compressed."""
    post_script = dict(fields(data[-1 - data[-1]:-1]))
    end = len(data) - 1 - data[-1]
    footer = list(fields(data[end - post_script[1]:end]))
    (offset, index, rows, size), = (
        [dict(fields(value))[i] for i in range(1, 5)] for number, value in footer if number == 3)
    begin = offset + index + rows
    for number, value in fields(data[begin:begin + size]):
        stream = dict(fields(value)) if number == 1 else {}
        if stream.get(1, 0) == KIND_BLOOM_FILTER_UTF8 and stream.get(2, 0) == column:
            return data[offset:offset + stream[3]]
        offset += stream.get(3, 0)
    raise AssertionError(f"column {column} has no filter")


class OrcFilters(FilterFiles):
    def write(self, file):
        schema = ",".join(f"{name}:{kind}" for name, (kind, *_) in COLUMNS.items())
        with open(file, "wb") as out, pyorc.Writer(
                out, f"struct<{schema}>", bloom_filter_columns=[1, 2, 3, 4, 5],
                bloom_filter_fpp=0.01, row_index_stride=STRIDE,
                compression=pyorc.CompressionKind.NONE) as writer:
            writer.writerows(zip(*(values for _, _, values, _ in COLUMNS.values())))

    def test_of_pyorc(self):
        file = self.path("a.orc")
        self.write(file)
        with open(file, "rb") as opened:
            data = opened.read()
        for at, (name, (_, id_type, values, others)) in enumerate(COLUMNS.items()):
            with self.subTest(name=name):
                stream = filter_of_column(data, at + 1)
                with open(self.path(f"{name}.orc"), "wb") as out:
                    out.write(stream)
                self.glint("filter", "import", "--format", "orc", "--output", self.path(name),
                           *(("--id-type", id_type) if id_type else ()), "--key", "0",
                           self.path(f"{name}.orc"))
                self.assertEqual(self.admitted(self.path(name), values), set(values))
                self.assertLess(len(self.admitted(self.path(name), others)), ROWS // 50)
                self.glint("submit", "bloom-build", "-q", "--like", self.path(name), "--key",
                           "none", "--id-column", name, file, self.path(f"{name}-own"))
                self.glint("filter", "export", "--format", "orc", "--output",
                           self.path(f"{name}-files"), self.path(f"{name}-own"))
                with open(self.path(f"{name}-files", "0.orc"), "rb") as own:
                    self.assertEqual(own.read(), stream)


if __name__ == "__main__":
    unittest.main()
