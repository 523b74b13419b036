"""Tables that the tests write and read."""

import datetime
import decimal

import pyarrow as pa

# pyarrow's names of codecs: "lz4" is Parquet's LZ4_RAW.
CODECS = ["none", "snappy", "zstd", "gzip", "lz4", "brotli"]


def table(rows=1000):
    """Columns of most types that Parquet and Arrow files have, with nulls."""
    number = range(rows)
    text = [None if i % 13 == 0 else f"{'x' * (i % 40)}{i:05d}" for i in number]
    day = datetime.date(1960, 1, 1)
    start = datetime.datetime(2020, 1, 1)
    return pa.table({
        "i64": pa.array([i if i % 7 else None for i in number], pa.int64()),
        "u64": pa.array([i * 2**51 for i in number], pa.uint64()),
        "i8": pa.array([i % 200 - 100 for i in number], pa.int8()),
        "f64": pa.array([i / 7 for i in number]),
        "f32": pa.array([i / 8 for i in number], pa.float32()),
        "f16": pa.array([i % 100 / 8 for i in number], pa.float16()),
        "bool": pa.array([i % 3 == 0 if i % 5 else None for i in number]),
        "utf8": pa.array(text),
        "large": pa.array(text, pa.large_string()),
        "view": pa.array(text, pa.string_view()),
        "binary": pa.array([bytes([255 - i % 256, 0]) for i in number]),
        "fixed": pa.array([bytes([i % 256] * 7) for i in number], pa.binary(7)),
        "category": pa.array([f"c{i % 5}" if i % 11 else None for i in number]),
        "date": pa.array([day + datetime.timedelta(days=i % 20000) for i in number]),
        "time": pa.array([i * 1000 for i in number], pa.time64("us")),
        "local": pa.array([start + datetime.timedelta(seconds=i) for i in number],
                          pa.timestamp("us")),
        "zoned": pa.array([i * 10**6 for i in number], pa.timestamp("ns", "Europe/Berlin")),
        "decimal": pa.array([decimal.Decimal(i - 500) / 100 for i in number],
                            pa.decimal128(12, 2)),
        "wide": pa.array([decimal.Decimal(i) * 10**30 for i in number], pa.decimal256(60, 2)),
        "list": pa.array([[{"a": i, "b": [str(i), None]}] if i % 4 else [] if i % 8 else None
                          for i in number]),
        "struct": pa.array([{"a": i, "b": None} if i % 9 else None for i in number],
                           pa.struct([("a", pa.int32()), ("b", pa.string())])),
        "map": pa.array([[("k", i)] for i in number], pa.map_(pa.string(), pa.int64())),
        "nulls": pa.nulls(rows),
    })
