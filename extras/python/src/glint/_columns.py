"""Ids of any kind of container as columns of the library, without a copy where the container has
its bytes in one piece: Arrow's arrays, and NumPy's arrays of bytes."""

from __future__ import annotations

import array
import numbers
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice
from typing import Any, Optional, Union

from ._library import ffi, lib

Id = Union[str, bytes, bytearray, memoryview, int]

BATCH = 1 << 16  # ids that are copied at a time
_FORMAT = re.compile(r"(\d*)s")  # a buffer of byte strings, as NumPy's S
_INTEGERS = ("h", "H", "i", "I", "l", "L", "q", "Q", "n", "N")  # formats of other buffers


class Column:
    """A column, and what must be kept while it is used."""

    __slots__ = ("c", "count", "_kept")

    def __init__(self, kind: int, count: int, *kept: object, **fields: Any) -> None:
        self.c = ffi.new("struct glint_bloom_column *", dict(kind=kind, count=count, **fields))
        self.count = count
        self._kept = (kept, fields)  # the struct has addresses only


def id_bytes(value: Id) -> bytes:
    """Of an integer: its decimal text."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value)).encode()
    raise TypeError(f"an id is str, bytes or int, not {type(value).__name__}")


def columns(ids: Any) -> Iterator[Column]:
    """Each column is valid until the next one is requested."""
    from . import _arrow

    if hasattr(ids, "__arrow_c_array__"):
        yield from _arrow.arrow_array(ids)
    elif hasattr(ids, "__arrow_c_stream__"):
        yield from _arrow.arrow_stream(ids)
    elif is_numpy(ids):
        yield from _numpy(ids)
    elif isinstance(ids, memoryview) and ids.format not in _INTEGERS:
        yield _buffer(ids)
    elif isinstance(ids, (list, tuple)):
        yield _sequence(ids)
    elif isinstance(ids, (str, bytes, bytearray)) or not isinstance(ids, Iterable):
        raise TypeError(
            f"ids are an array or a list of str, bytes or int, not {type(ids).__name__}"
        )
    else:
        rest = iter(ids)
        while batch := list(islice(rest, BATCH)):
            yield _sequence(batch)


def with_interface(ids: Any) -> Any:
    """An index or an array of pandas as a series, which has Arrow's interface and so nulls."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(
        ids, (pandas.Index, pandas.api.extensions.ExtensionArray)
    ):
        return ids
    return pandas.Series(ids)


# ---- lists


def column_of(values: list[Any]) -> Column:
    """Ids, of which some may be None: null."""
    if None not in values:
        return _sequence(values)
    encoded = [b"" if value is None else id_bytes(value) for value in values]
    bits = bytearray((len(values) + 7) // 8)
    for i, value in enumerate(values):
        bits[i >> 3] |= (value is not None) << (i & 7)
    return _with_offsets(encoded, valid=ffi.from_buffer(bits))


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
    return _with_offsets(encoded or [id_bytes(value) for value in ids])


def _with_offsets(encoded: list[bytes], **fields: Any) -> Column:
    data = b"".join(encoded)
    offsets = array.array("q", accumulate(map(len, encoded), initial=0))
    return Column(
        lib.GLINT_BLOOM_OFFSETS_64,
        len(encoded),
        offsets=ffi.from_buffer(offsets),
        data=ffi.from_buffer(data),
        data_size=len(data),
        **fields,
    )


def _joined(ids: Union[list[Any], tuple[Any, ...]]) -> tuple[bytes, Optional[list[bytes]]]:
    """All ids with a NUL between them; and the ids as bytes, if they were not all str."""
    try:
        return "\0".join(ids).encode(), None
    except TypeError:
        if all(type(value) is int for value in ids):
            return "\0".join(map(str, ids)).encode(), None
        encoded = [id_bytes(value) for value in ids]
        return b"\0".join(encoded), encoded


# ---- NumPy, or any buffer of byte strings


def is_numpy(ids: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(ids, numpy.ndarray)


def _numpy(ids: Any) -> Iterator[Column]:
    kind = ids.dtype.kind
    if ids.ndim != 1:
        raise TypeError(f"ids are an array of one dimension, not of {ids.ndim}")
    if kind not in "SVUOTiu" or ids.dtype.fields is not None:
        raise TypeError(f"ids are strings, bytes or integers, not of dtype {ids.dtype}")
    if kind == "S" and _is_view_of_numbers(ids):
        raise TypeError("dtype S cuts the zeros at the end of an id: use the integers, or dtype V")
    masked = hasattr(ids, "mask")  # numpy.ma
    if kind in "SV" and not masked:
        yield _buffer(ids)
        return
    for begin in range(0, max(len(ids), 1), BATCH):
        some = ids[begin : begin + BATCH]
        if kind in "iu" and not masked:
            yield _buffer(some.astype("S"))  # decimal text
        else:  # a value that is masked is None
            yield column_of([None if _is_null(value, ids) else value for value in some.tolist()])


def _is_view_of_numbers(ids: Any) -> bool:
    while (ids := getattr(ids, "base", None)) is not None:
        if getattr(getattr(ids, "dtype", None), "kind", "") in ("i", "u", "f"):
            return True
    return False


def _is_null(value: Any, ids: Any) -> bool:
    if value is None or value is getattr(ids.dtype, "na_object", None):
        return True
    pandas = sys.modules.get("pandas")
    is_nan = isinstance(value, float) and value != value
    return is_nan or (pandas is not None and value is pandas.NA)


def _buffer(ids: Any) -> Column:
    if is_numpy(ids):
        if ids.dtype.itemsize == 0:  # an array of empty ids, which has no buffer
            return _sequence([b""] * len(ids))
        if ids.dtype.kind == "V":
            import numpy

            data = numpy.ascontiguousarray(ids).view("u1")
            return Column(
                lib.GLINT_BLOOM_FIXED,
                len(ids),
                data=ffi.from_buffer(data),
                data_size=data.nbytes,
                width=ids.dtype.itemsize,
            )
    view = memoryview(ids)
    if view.ndim != 1 or not _FORMAT.fullmatch(view.format) or view.format == "s":
        raise TypeError(f"ids are an array of byte strings or integers, not of {view.format}")
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
