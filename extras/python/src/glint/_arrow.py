"""Arrow's arrays as columns of the library: strings and binary in place; integers as their decimal
text; what is encoded (dictionaries, runs) value by value."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from ._columns import BATCH, Column, column_of
from ._library import ffi, lib

_INTEGERS = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q"}
_STRINGS = ("u", "z", "U", "Z", "vu", "vz")

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _struct(capsule: object, name: str) -> Any:
    pointer = _capsule_pointer(capsule, ("arrow_" + name).encode())
    names = {"schema": "Schema", "array": "Array", "array_stream": "ArrayStream"}
    return ffi.cast(f"struct Arrow{names[name]} *", pointer)


def arrow_array(ids: Any) -> Iterator[Column]:
    capsules = ids.__arrow_c_array__()
    schema, data = _struct(capsules[0], "schema"), _struct(capsules[1], "array")
    yield from _columns(schema, data, data.offset, data.length)


def arrow_stream(ids: Any) -> Iterator[Column]:
    capsule = ids.__arrow_c_stream__()
    stream = _struct(capsule, "array_stream")
    schema = ffi.new("struct ArrowSchema *")
    _expect_next(stream, stream.get_schema(stream, schema))
    try:
        _check(schema)
        while True:
            data = ffi.new("struct ArrowArray *")
            _expect_next(stream, stream.get_next(stream, data))
            if data.release == ffi.NULL:  # the end
                return
            try:
                yield from _columns(schema, data, data.offset, data.length)
            finally:
                data.release(data)
    finally:
        schema.release(schema)


def _expect_next(stream: Any, result: int) -> None:
    if result != 0:
        text = stream.get_last_error(stream)
        raise ValueError(ffi.string(text).decode() if text else f"Arrow's stream failed: {result}")


def _format(schema: Any) -> str:
    kind: str = ffi.string(schema.format).decode()
    return kind


def _check(schema: Any) -> str:
    """The format, if it is of ids."""
    kind = _format(schema)
    if schema.dictionary != ffi.NULL:
        _check(schema.dictionary)
    elif kind == "+s":
        names = [ffi.string(schema.children[i].name).decode() for i in range(schema.n_children)]
        if len(names) != 1:
            raise TypeError(f"ids are one column: choose one of {', '.join(names) or 'none'}")
        _check(schema.children[0])
    elif kind == "+r":
        _check(schema.children[1])
    elif kind not in ("n", *_STRINGS, *_INTEGERS) and not kind.startswith("w:"):
        raise TypeError(
            f'ids are strings, binary or integers, not of Arrow\'s format "{kind}": cast them to '
            "one of these"
        )
    return kind


def _columns(schema: Any, data: Any, first: int, count: int) -> Iterator[Column]:
    """Those of the elements from `first` on."""
    kind = _check(schema)
    if count == 0:
        yield Column(lib.GLINT_BLOOM_OFFSETS_32, 0)
    elif schema.dictionary == ffi.NULL and kind == "+s":
        if _valid(data) != ffi.NULL:
            raise TypeError("ids are a column without null structs: choose its field")
        child = data.children[0]
        yield from _columns(schema.children[0], child, child.offset + first, count)
    elif schema.dictionary == ffi.NULL and (kind in _STRINGS or kind.startswith("w:")):
        yield _in_place(kind, data, first, count)
    else:
        for begin in range(0, count, BATCH):
            some = min(BATCH, count - begin)
            yield column_of(_values(schema, data, first + begin, some))


def _valid(data: Any) -> Any:
    """The bitmap of an array that may have nulls; NULL: it has none."""
    if data.null_count == 0 or data.n_buffers == 0:
        return ffi.NULL
    return ffi.cast("const uint8_t *", data.buffers[0])


def _in_place(kind: str, data: Any, first: int, count: int) -> Column:
    buffers, fields = data.buffers, {"first": first, "valid": _valid(data)}
    if kind.startswith("w:"):
        width, size = int(kind[2:]), int(kind[2:]) * (first + count)
        return Column(lib.GLINT_BLOOM_FIXED, count, width=width, data=buffers[1], data_size=size,
                      **fields)
    fields["offsets"] = buffers[1]
    if kind.startswith("v"):
        sizes = ffi.cast("const int64_t *", buffers[data.n_buffers - 1])
        return Column(lib.GLINT_BLOOM_VIEWS, count, width=data.n_buffers - 3, data=buffers + 2,
                      buffers=sizes, **fields)
    large = kind in "UZ"
    offsets = ffi.cast("const int64_t *" if large else "const int32_t *", buffers[1])
    return Column(lib.GLINT_BLOOM_OFFSETS_64 if large else lib.GLINT_BLOOM_OFFSETS_32, count,
                  data=buffers[2], data_size=max(offsets[first + count], 0), **fields)


# ---- value by value

Values = list[Any]  # bytes, int, or None


def _values(schema: Any, data: Any, first: int, count: int) -> Values:
    kind = _format(schema)
    if kind == "n":
        return [None] * count
    if kind == "+r":
        return _runs(schema, data, first, count)
    if schema.dictionary != ffi.NULL:
        return _decoded(schema, data, first, count)
    values: Values = (
        _numbers(kind, data, first, count)
        if kind in _INTEGERS
        else [_bytes(kind, data, first + i) for i in range(count)]
    )
    return _with_nulls(values, data, first)


def _with_nulls(values: Values, data: Any, first: int) -> Values:
    valid = _valid(data)
    if valid == ffi.NULL:
        return values
    return [
        value if valid[i >> 3] >> (i & 7) & 1 else None for i, value in enumerate(values, first)
    ]


def _numbers(kind: str, data: Any, first: int, count: int) -> Values:
    size = {"b": 1, "h": 2, "i": 4, "q": 8}[_INTEGERS[kind].lower()]
    begin = ffi.cast("const char *", data.buffers[1]) + size * first
    cells: Any = memoryview(ffi.buffer(begin, size * count))
    numbers: Values = cells.cast(_INTEGERS[kind]).tolist()
    return numbers


def _bytes(kind: str, data: Any, at: int) -> bytes:
    if kind.startswith("w:"):
        width = int(kind[2:])
        begin = ffi.cast("const char *", data.buffers[1]) + width * at
        return bytes(ffi.buffer(begin, width))
    if kind.startswith("v"):
        view = ffi.cast("const int32_t *", data.buffers[1]) + 4 * at
        if view[0] <= 12:
            return bytes(ffi.buffer(ffi.cast("const char *", view + 1), view[0]))
        begin = ffi.cast("const char *", data.buffers[2 + view[2]]) + view[3]
        return bytes(ffi.buffer(begin, view[0]))
    form = "const int64_t *" if kind in "UZ" else "const int32_t *"
    offsets = ffi.cast(form, data.buffers[1])
    begin = ffi.cast("const char *", data.buffers[2]) + offsets[at]
    return bytes(ffi.buffer(begin, offsets[at + 1] - offsets[at]))


def _decoded(schema: Any, data: Any, first: int, count: int) -> Values:
    """Of a dictionary array: categories, enums."""
    array = data.dictionary
    known = _values(schema.dictionary, array, array.offset, array.length)
    indexes = _with_nulls(_numbers(_format(schema), data, first, count), data, first)
    if any(index is not None and not 0 <= index < len(known) for index in indexes):
        raise ValueError("an index of a dictionary array is not in its dictionary")
    return [None if index is None else known[index] for index in indexes]


def _runs(schema: Any, data: Any, first: int, count: int) -> Values:
    """Of a run-end encoded array."""
    ends_array, array = data.children[0], data.children[1]
    kind = _format(schema.children[0])
    ends = _numbers(kind, ends_array, ends_array.offset, ends_array.length)
    run, found = bisect_right(ends, first), list[Any]()
    while len(found) < count:
        (value,) = _values(schema.children[1], array, array.offset + run, 1)
        found += [value] * min(ends[run] - first - len(found), count - len(found))
        run += 1
    return found
