"""Rows of Python as records of the library, and back."""

from __future__ import annotations

import numbers
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from ._engine import engine

_I64_MIN, _I64_MAX = -(1 << 63), (1 << 63) - 1
CHUNK = 4096  # records that are read from the library at a time
_TYPES = {str: "TEXT", bytes: "BYTES", int: "I64", float: "F64"}


def encode(rows: Iterable[Any]) -> tuple[Any, Any, int, Any]:
    """The schema, the records, their count, and what must be kept while they are used."""
    ffi, lib = engine()
    items = list(rows)
    pairs = bool(items) and isinstance(items[0], tuple)
    if pairs:
        for item in items:
            if not isinstance(item, tuple) or len(item) != 2:
                raise TypeError("rows are either all pairs (key, value), or none is")
        columns = [("key", [key for key, _ in items]), ("value", [value for _, value in items])]
    else:
        columns = [("value", items)]
    schema = ffi.new("struct glint_schema *", {"key": lib.GLINT_NONE, "value": lib.GLINT_TEXT})
    records = ffi.new("struct glint_record[]", len(items))
    kept = [_fill(records, name, column, schema) for name, column in columns]
    return schema[0], records, len(items), (schema, kept)


def _fill(records: Any, name: str, column: list[Any], schema: Any) -> Any:
    """Sets one column of the records, and its type. Returns the memory that they point to."""
    ffi, lib = engine()
    if any(type(value) not in _TYPES for value in column):
        column = [_plain(value) for value in column]
    kind = _type_of(column)
    setattr(schema, name, getattr(lib, "GLINT_" + _TYPES[kind]))
    if kind in (int, float):
        member = "i64" if kind is int else "f64"
        for i, value in enumerate(column):
            setattr(getattr(records[i], name), member, value)
        return None
    parts = [text.encode("utf-8", "surrogateescape") for text in column] if kind is str else column
    memory = ffi.new("uint8_t[]", b"".join(parts) + b"\0")
    at = 0
    for i, part in enumerate(parts):
        cell = getattr(records[i], name).bytes
        cell.data, cell.size = memory + at, len(part)
        at += len(part)
    return memory


def _plain(value: Any) -> Any:
    """Integers of NumPy and others as int."""
    integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return int(value) if integer else value


def _type_of(column: list[Any]) -> type:
    kind = type(column[0]) if column else str
    if kind not in _TYPES:
        raise TypeError(f"a key or value is str, bytes, int or float, not {kind.__name__}")
    for value in column:
        if type(value) is not kind:
            raise TypeError(
                f"all keys, and all values, have one type: {kind.__name__} and "
                f"{type(value).__name__} are mixed"
            )
        if isinstance(value, int) and not _I64_MIN <= value <= _I64_MAX:
            raise OverflowError(f"{value} is not an integer of 64 bits")
    return kind


def decode(schema: Any, record: Any) -> Any:
    """A record as a value, or as (key, value)."""
    return next(decode_many(schema, record, 1))


def decode_all(rows: Any) -> list[Any]:
    """The rows of a struct glint_rows."""
    ffi, lib = engine()
    records = ffi.new("struct glint_record[]", CHUNK)
    out: list[Any] = []
    for first in range(0, rows.count, CHUNK):
        count = min(CHUNK, rows.count - first)
        lib.glint_rows_records(rows, first, count, records)
        out += decode_many(rows.schema, records, count)
    return out


def decode_many(schema: Any, records: Any, count: int) -> Iterator[Any]:
    """So many records, column by column: a call into the library for each value is slow."""
    ffi, lib = engine()
    words = memoryview(ffi.buffer(records, count * ffi.sizeof("struct glint_record")))
    key, value = (
        None if kind == lib.GLINT_NONE else _column(kind, words, first)
        for kind, first in ((schema.key, 0), (schema.value, 2))
    )
    if key is None or value is None:
        return iter(value or key or [])
    return zip(key, value)


def _column(kind: int, words: Any, first: int) -> list[Any]:
    """The cells of a column, which are two words each, of records of four words."""
    ffi, lib = engine()
    form = {lib.GLINT_I64: "q", lib.GLINT_F64: "d"}.get(kind)
    if form is not None:
        numbers: list[Any] = words.cast(form)[first::4].tolist()
        return numbers
    cells = words.cast("Q")
    starts, sizes = cells[first::4].tolist(), cells[first + 1 :: 4].tolist()
    base = min((start for start, size in zip(starts, sizes) if size > 0), default=0)
    end = max((start + size for start, size in zip(starts, sizes) if size > 0), default=0)
    data = ffi.buffer(ffi.cast("const char *", base), end - base) if end > 0 else b""
    parts = [
        data[start - base : start - base + size] if size > 0 else b""
        for start, size in zip(starts, sizes)
    ]
    if kind == lib.GLINT_TEXT:
        return [part.decode("utf-8", "surrogateescape") for part in parts]
    return parts if kind == lib.GLINT_BYTES else [unpack(part) for part in parts]


# ---- msgpack: the values of joins

_NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
            0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_SIZES = {1: ">B", 2: ">H", 4: ">I"}
_SIZED = {0xC4: ("bin", 1), 0xC5: ("bin", 2), 0xC6: ("bin", 4), 0xD9: ("str", 1),
          0xDA: ("str", 2), 0xDB: ("str", 4), 0xDC: ("array", 2), 0xDD: ("array", 4),
          0xDE: ("map", 2), 0xDF: ("map", 4)}


def unpack(data: bytes) -> Any:
    """The only value of `data`. An array becomes a tuple."""
    value, end = _unpack_at(data, 0)
    if end != len(data):
        raise ValueError("not one msgpack value")
    return value


def _unpack_at(data: bytes, at: int) -> tuple[Any, int]:
    """The value at `at`, and where it ends."""
    first, at = data[at], at + 1
    if first < 0x80:
        return first, at
    if first >= 0xE0:
        return first - 256, at
    if first in _CONSTANTS:
        return _CONSTANTS[first], at
    if first in _NUMBERS:
        end = at + struct.calcsize(_NUMBERS[first])
        return struct.unpack(_NUMBERS[first], data[at:end])[0], end
    if first < 0xC0:
        kind, size = (("map", first & 15) if first < 0x90 else
                      ("array", first & 15) if first < 0xA0 else ("str", first & 31))
    elif first in _SIZED:
        kind, width = _SIZED[first]
        size = struct.unpack(_SIZES[width], data[at : at + width])[0]
        at += width
    else:
        raise ValueError(f"msgpack of the type {first:#x}")
    if kind == "bin":
        return data[at : at + size], at + size
    if kind == "str":
        return data[at : at + size].decode("utf-8", "surrogateescape"), at + size
    items = []
    for _ in range(size * (2 if kind == "map" else 1)):
        item, at = _unpack_at(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2])) if kind == "map" else tuple(items)), at
