"""Ids of any kind of container as columns of the library, without a copy where the container has
its bytes in one piece: Arrow's arrays, and NumPy's arrays of bytes."""

from __future__ import annotations

import array
import ctypes
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice
from typing import Any, Optional, Union

from ._library import ffi, lib

Id = Union[str, bytes, bytearray, memoryview]

_BATCH = 1 << 16  # ids of an iterator that are in memory at a time
_FORMAT = re.compile(r"(\d*)s")  # a buffer of byte strings, as NumPy's S

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Column:
    """A column, and what must be kept while it is used."""

    __slots__ = ("c", "count", "_kept")

    def __init__(self, kind: int, count: int, *kept: object, **fields: Any) -> None:
        self.c = ffi.new("struct glint_bloom_column *", dict(kind=kind, count=count, **fields))
        self.count = count
        self._kept = (kept, fields)  # the struct has addresses only


def id_bytes(value: Id) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"an id is str or bytes, not {type(value).__name__}")


def columns(ids: Any) -> Iterator[Column]:
    """Each column is valid until the next one is requested."""
    if hasattr(ids, "__arrow_c_array__"):
        yield _arrow_array(ids)
    elif hasattr(ids, "__arrow_c_stream__"):
        yield from _arrow_stream(ids)
    elif is_numpy(ids) or isinstance(ids, memoryview):
        yield _buffer(ids)
    elif isinstance(ids, (list, tuple)):
        yield _sequence(ids)
    elif isinstance(ids, (str, bytes, bytearray)) or not isinstance(ids, Iterable):
        raise TypeError(f"ids are an array or a list of str or bytes, not {type(ids).__name__}")
    else:
        rest = iter(ids)
        while batch := list(islice(rest, _BATCH)):
            yield _sequence(batch)


# ---- lists


def _sequence(ids: Union[list[Any], tuple[Any, ...]]) -> Column:
    data, encoded = _joined(ids)
    count = len(ids)
    if count > 0 and data.count(b"\0") == count - 1 and len(data) < 1 << 32:
        return Column(
            lib.GLINT_BLOOM_SEPARATED,
            count,
            data=ffi.from_buffer(data),
            data_size=len(data),
            width=0,
        )
    # An id contains a NUL.
    encoded = encoded or [id_bytes(value) for value in ids]
    data = b"".join(encoded)
    offsets = array.array("q", accumulate(map(len, encoded), initial=0))
    return Column(
        lib.GLINT_BLOOM_OFFSETS_64,
        count,
        offsets=ffi.from_buffer(offsets),
        data=ffi.from_buffer(data),
        data_size=len(data),
    )


def _joined(ids: Union[list[Any], tuple[Any, ...]]) -> tuple[bytes, Optional[list[bytes]]]:
    """All ids with a NUL between them; and the ids as bytes, if they were not all str."""
    try:
        return "\0".join(ids).encode(), None
    except TypeError:
        encoded = [id_bytes(value) for value in ids]
        return b"\0".join(encoded), encoded


# ---- NumPy, or any buffer of byte strings


def is_numpy(ids: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(ids, numpy.ndarray)


def _buffer(ids: Any) -> Column:
    if is_numpy(ids):
        if ids.ndim != 1:
            raise TypeError(f"ids are an array of one dimension, not of {ids.ndim}")
        if ids.dtype.kind in "UOT":
            return _sequence(ids.tolist())
        if ids.dtype.kind != "S":
            raise TypeError(f"ids are an array of dtype S, U or object, not {ids.dtype}")
        if ids.dtype.itemsize == 0:  # an array of empty ids, which has no buffer
            return _sequence([b""] * len(ids))
    view = memoryview(ids)
    if view.ndim != 1 or not _FORMAT.fullmatch(view.format) or view.format == "s":
        raise TypeError(f"ids are an array of byte strings, not of format {view.format}")
    if not view.c_contiguous:
        return _sequence([bytes(value).rstrip(b"\0") for value in ids.tolist()])
    data = ffi.from_buffer(view)
    return Column(
        lib.GLINT_BLOOM_PADDED,
        len(view),
        data=data,
        data_size=view.nbytes,
        width=view.itemsize,
    )


# ---- Arrow


def _struct(capsule: object, name: str) -> Any:
    pointer = _capsule_pointer(capsule, ("arrow_" + name).encode())
    names = {"schema": "Schema", "array": "Array", "array_stream": "ArrayStream"}
    return ffi.cast(f"struct Arrow{names[name]} *", pointer)


def _arrow_array(ids: Any) -> Column:
    capsules = ids.__arrow_c_array__()
    schema, data = _struct(capsules[0], "schema"), _struct(capsules[1], "array")
    return _arrow_column(_arrow_format(schema), data, capsules)


def _arrow_stream(ids: Any) -> Iterator[Column]:
    capsule = ids.__arrow_c_stream__()
    stream = _struct(capsule, "array_stream")
    schema = ffi.new("struct ArrowSchema *")
    _expect_next(stream, stream.get_schema(stream, schema))
    try:
        kind = _arrow_format(schema)
    finally:
        schema.release(schema)
    while True:
        data = ffi.new("struct ArrowArray *")
        _expect_next(stream, stream.get_next(stream, data))
        if data.release == ffi.NULL:  # the end
            return
        try:
            yield _arrow_column(kind, data)
        finally:
            data.release(data)


def _expect_next(stream: Any, result: int) -> None:
    if result != 0:
        text = stream.get_last_error(stream)
        raise ValueError(ffi.string(text).decode() if text else f"Arrow's stream failed: {result}")


def _arrow_format(schema: Any) -> str:
    kind: str = ffi.string(schema.format).decode()
    if schema.dictionary != ffi.NULL:
        raise TypeError("ids are not a dictionary array: decode it, by array.dictionary_decode()")
    if kind not in ("u", "z", "U", "Z", "vu", "vz") and not kind.startswith("w:"):
        raise TypeError(f'ids are an Arrow array of strings or binary, not of format "{kind}"')
    return kind


def _arrow_column(kind: str, data: Any, *kept: object) -> Column:
    first, count, buffers = data.offset, data.length, data.buffers
    if count == 0:
        return Column(lib.GLINT_BLOOM_OFFSETS_32, 0)
    fields: dict[str, Any] = {"first": first}
    if data.null_count != 0 and buffers[0] != ffi.NULL:
        fields["valid"] = ffi.cast("const uint8_t *", buffers[0])
    if kind.startswith("w:"):
        width = int(kind[2:])
        return Column(
            lib.GLINT_BLOOM_FIXED,
            count,
            *kept,
            width=width,
            data=buffers[1],
            data_size=width * (first + count),
            **fields,
        )
    fields["offsets"] = buffers[1]
    if kind.startswith("v"):
        others = data.n_buffers - 3
        return Column(
            lib.GLINT_BLOOM_VIEWS,
            count,
            *kept,
            width=others,
            data=buffers + 2,
            buffers=ffi.cast("const int64_t *", buffers[data.n_buffers - 1]),
            **fields,
        )
    large = kind in "UZ"
    offsets = ffi.cast("const int64_t *" if large else "const int32_t *", buffers[1])
    return Column(
        lib.GLINT_BLOOM_OFFSETS_64 if large else lib.GLINT_BLOOM_OFFSETS_32,
        count,
        *kept,
        data=buffers[2],
        data_size=max(offsets[first + count], 0),
        **fields,
    )
