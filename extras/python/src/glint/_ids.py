"""Ids with a type: the bytes of their values, as filters hash them (docs/filter-format.md)."""

from __future__ import annotations

import datetime
import decimal
import numbers
import operator
import re
import struct
import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ._columns import BATCH, Column, is_numpy
from ._library import ffi, lib

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)
_BOUNDS = {"i32": (-1 << 31, 1 << 31), "i64": (-1 << 63, 1 << 63), "u64": (0, 1 << 64)}


def _integer(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError("an id is an int, not bool")
    number: int = operator.index(value)
    return number


def _microseconds(value: Any) -> int:
    if not isinstance(value, datetime.datetime):
        raise TypeError(f"an id is a datetime, not {type(value).__name__}")
    time: datetime.datetime = value
    if time.tzinfo is None:  # as glint's jobs read times without an offset
        time = time.replace(tzinfo=datetime.timezone.utc)
    return (time - _EPOCH) // _MICROSECOND


def _days(value: Any) -> int:
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        raise TypeError(f"an id is a date, not {type(value).__name__}")
    day: datetime.date = value
    return day.toordinal() - _EPOCH.toordinal()


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"an id is a float, not {type(value).__name__}")
    return float(value)


def _units(value: Any, type_: str) -> int:
    """The decimal times 10^scale."""
    found = _DECIMAL.fullmatch(type_)
    assert found is not None
    precision, scale = int(found[1]), int(found[2])
    if isinstance(value, bool) or not isinstance(value, (decimal.Decimal, int)):
        raise TypeError(f"an id is a Decimal, not {type(value).__name__}")
    with decimal.localcontext() as context:
        context.prec = 80
        units = decimal.Decimal(value).scaleb(scale)
    if not units.is_finite() or units != units.to_integral_value() or abs(units) >= 10**precision:
        raise ValueError(f"{value} is no {type_}")
    return int(units)


def value_bytes(type_: str, width: int, value: Any) -> bytes:
    """The value as the filter hashes it: `width` bytes, or any number of them if it is 0."""
    if type_ == "bytes":
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise TypeError(f"an id is bytes, not {type(value).__name__}")
    if type_ == "uuid":
        if isinstance(value, uuid.UUID):
            return value.bytes
        raise TypeError(f"an id is a UUID, not {type(value).__name__}")
    if type_ == "f64":
        return struct.pack("<d", _real(value))
    if type_ in _BOUNDS:
        number = _integer(value)
        low, end = _BOUNDS[type_]
        if not low <= number < end:
            raise ValueError(f"{number} is no {type_}")
    elif type_ == "date":
        number = _days(value)
    elif type_ == "timestamp":
        number = _microseconds(value)
    else:
        number = _units(value, type_)
    return number.to_bytes(width, "little", signed=type_ != "u64")


def value_columns(type_: str, width: int, ids: Any) -> Iterator[Column]:
    """Each column is valid until the next one is requested. Nulls are errors."""
    if is_numpy(ids) and ids.ndim == 1 and not hasattr(ids, "mask"):
        wanted = {"i32": "<i4", "i64": "<i8", "u64": "<u8", "f64": "<f8"}.get(type_, "")
        if ids.dtype.str == wanted and ids.dtype.itemsize == width:
            data = ids.tobytes()
            yield _fixed(data, width)
            return
        ids = ids.tolist()
    elif hasattr(ids, "to_pylist"):  # Arrow's arrays
        ids = ids.to_pylist()
    if isinstance(ids, (str, bytes, bytearray)) or not isinstance(ids, Iterable):
        raise TypeError(f"ids are an array or a list, not {type(ids).__name__}")
    rest = iter(ids)
    while batch := list(islice(rest, BATCH)):
        yield _fixed(b"".join(value_bytes(type_, width, value) for value in batch), width)


def _fixed(data: bytes, width: int) -> Column:
    return Column(lib.GLINT_BLOOM_FIXED, len(data) // width, data=ffi.from_buffer(data),
                  data_size=len(data), width=width)
