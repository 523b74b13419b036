"""Columns of batches as arrays of NumPy and as values of Python, and arrays of NumPy as batches."""

from __future__ import annotations

import ctypes
import datetime
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Optional

from ._blocks import (
    ArrowArray,
    ArrowSchema,
    Batch,
    OwnBatch,
    batches_of,
    has_interface,
    own_array,
    release,
)

_LETTERS = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8",
            "L": "u8", "e": "f2", "f": "f4", "g": "f8"}
_CODES = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q",
          "f": "f", "g": "d"}
_UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
_EPOCH = datetime.datetime(1970, 1, 1)
_DAY_ONE = datetime.date(1970, 1, 1).toordinal()
ROWS = 1 << 16  # of a batch that is made of elements


class _Exported:
    """A batch's structs, released when nothing refers to its memory any more."""

    def __init__(self, batch: Batch) -> None:
        self.schema, self.array = batch.export()

    def __del__(self) -> None:
        release(self.array)
        release(self.schema)

    def columns(self) -> Iterator[tuple[str, ArrowSchema, ArrowArray]]:
        for i in range(self.schema.n_children):
            schema = self.schema.children[i].contents
            yield schema.name.decode(), schema, self.array.children[i].contents


class _Memory:
    """A buffer as NumPy's array interface has it; keeps the export."""

    def __init__(self, address: int, size: int, owner: Any) -> None:
        self.__array_interface__ = {"data": (address, True), "shape": (size,), "typestr": "|u1",
                                    "version": 3}
        self.owner = owner


def _bytes_of(array: ArrowArray, buffer: int, first: int, size: int) -> memoryview:
    address = array.buffers[buffer]
    if not address or size == 0:
        return memoryview(b"")
    return memoryview((ctypes.c_char * size).from_address(address + first)).cast("B")


def _valid_bits(array: ArrowArray, length: int) -> Optional[list[bool]]:
    """Which rows are not null; None: all."""
    if array.null_count == 0 or array.n_buffers == 0 or not array.buffers[0]:
        return None
    data = _bytes_of(array, 0, 0, (array.offset + length + 7) // 8)
    bits = int.from_bytes(data, "little") >> array.offset
    text = bin(bits | 1 << length)[:2:-1]
    return [bit == "1" for bit in text] if "0" in text else None


# ---- NumPy


def to_numpy(batch: Batch) -> dict[str, Any]:
    """{name: array}: numbers, dates and times without nulls in place, read-only; with nulls
    numpy.ma; text and bytes as arrays of objects."""
    exported, rows = _Exported(batch), batch.num_rows
    names = [name for name, _, _ in exported.columns()]
    if len(set(names)) < len(names):
        raise ValueError(f"two columns have one name: {names}")
    return {name: _numpy_column(batch, exported, name, schema, array, rows)
            for name, schema, array in exported.columns()}


def _dtype(form: str) -> Optional[str]:
    if form in _LETTERS:
        return _LETTERS[form]
    if form.startswith("ts") or form.startswith("tD"):
        return ("M8[" if form[1] == "s" else "m8[") + _UNITS[form[2]] + "]"
    return {"tdD": "i4", "tdm": "M8[ms]"}.get(form)


def _numpy_column(batch: Batch, owner: Any, name: str, schema: ArrowSchema, array: ArrowArray,
                  rows: int) -> Any:
    import numpy

    form = schema.format.decode()
    kind = None if schema.dictionary else _dtype(form)
    if kind is not None:
        size = numpy.dtype(kind).itemsize
        address = (array.buffers[1] or 0) + array.offset * size
        memory = _Memory(address, rows * size, owner)
        values = numpy.asarray(memory).view(kind) if rows else numpy.empty(0, kind)
        if form == "tdD":
            values = values.astype("M8[D]")
    elif form == "b" and not schema.dictionary:
        data = _bytes_of(array, 1, 0, (array.offset + rows + 7) // 8)
        bits = numpy.unpackbits(numpy.frombuffer(data, "u1"), bitorder="little")
        values = bits[array.offset : array.offset + rows].astype(bool)
    else:
        values = numpy.empty(rows, object)
        values[:] = _list(batch, name, schema, array, rows)
        return values
    valid = _valid_bits(array, rows)
    if valid is None:
        return values
    return numpy.ma.masked_array(values, numpy.logical_not(numpy.array(valid, bool)))


def from_numpy(columns: dict[str, Any]) -> Batch:
    """Of arrays of one dimension and equal length; numbers, dates and times are not copied."""
    import numpy

    arrays = {name: values if isinstance(values, numpy.ndarray) else numpy.asarray(values)
              for name, values in columns.items()}
    if len({values.shape for values in arrays.values()}) > 1:
        raise ValueError("the columns of a batch have one length, not " + ", ".join(
            f"{name}: {values.shape}" for name, values in arrays.items()))
    made = [_own_column(str(name), values) for name, values in arrays.items()]
    children = (ctypes.POINTER(ArrowSchema) * max(len(made), 1))(
        *(ctypes.pointer(schema) for schema, _, _ in made))
    schema = ArrowSchema(format=b"+s", name=b"", n_children=len(made), children=children)
    length = len(next(iter(arrays.values()))) if arrays else 0
    return OwnBatch(schema, own_array(length, [None], [array for _, array, _ in made]),
                    [kept for _, _, kept in made])


def _own_column(name: str, values: Any) -> tuple[ArrowSchema, ArrowArray, Any]:
    import numpy

    if values.ndim != 1:
        raise ValueError(f"column {name!r} has {values.ndim} dimensions, not 1")
    mask = numpy.ma.getmaskarray(values) if isinstance(values, numpy.ma.MaskedArray) else None
    data = numpy.ma.getdata(values)
    if data.dtype.kind in "OUST":
        return _own_texts(name, values.tolist())
    form, data = _own_values(name, data)
    if data.dtype.kind in "Mm" and numpy.isnat(data).any():
        mask = numpy.isnat(data) | (False if mask is None else mask)
    data = numpy.packbits(data, bitorder="little") if form == "b" else numpy.ascontiguousarray(data)
    bits = None if mask is None else numpy.packbits(~mask, bitorder="little")
    schema = ArrowSchema(format=form.encode(), name=name.encode(), flags=2)
    buffers = [None if bits is None else bits.ctypes.data, data.ctypes.data]
    return schema, own_array(len(values), buffers), (bits, data)


def _own_values(name: str, data: Any) -> tuple[str, Any]:
    kind = data.dtype.kind
    if kind == "b":
        return "b", data
    if kind in "iuf":
        data = data.astype(data.dtype.newbyteorder("="), copy=False)
        forms = {code: letter for letter, code in _LETTERS.items()}
        if data.dtype.str[1:] in forms:
            return forms[data.dtype.str[1:]], data
    if kind in "Mm":
        import numpy

        unit = numpy.datetime_data(data.dtype)[0]
        if kind == "M" and unit == "D":
            return "tdm", data.astype("M8[ms]")
        if unit in _UNITS.values():
            letter = {long: short for short, long in _UNITS.items()}[unit]
            return f"ts{letter}:" if kind == "M" else f"tD{letter}", data
    raise TypeError(f"column {name!r}: arrays of {data.dtype} are no columns; convert it")


def _own_texts(name: str, values: list[Any]) -> tuple[ArrowSchema, ArrowArray, Any]:
    """str, bytes and None; NaN is null, as in StringDType and pandas."""
    import array as arrays

    values = [None if value is None or value != value else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    if not kinds <= {str} and not kinds <= {bytes}:
        raise TypeError(f"column {name!r} has objects of {', '.join(k.__name__ for k in kinds)}; "
                        "columns of objects have str, or bytes, and None")
    parts = [b"" if v is None else v.encode() if isinstance(v, str) else v for v in values]
    data = b"".join(parts)
    ends = arrays.array("q", itertools.accumulate(map(len, parts), initial=0))
    bits = bytearray((len(values) + 7) // 8)
    for i, value in enumerate(values):
        bits[i >> 3] |= (value is not None) << (i & 7)
    held = [(ctypes.c_char * max(len(x), 1)).from_buffer_copy(x or b"\0")
            for x in (bytes(bits), data)]
    schema = ArrowSchema(format=b"Z" if kinds == {bytes} else b"U", name=name.encode(), flags=2)
    array = own_array(len(values), [ctypes.addressof(held[0]), ends.buffer_info()[0],
                                    ctypes.addressof(held[1])])
    return schema, array, (held, ends)


# ---- Values of Python

UNEQUAL = "the elements of an RDD of tuples are all tuples of one length"


def rows_of(batches: Iterable[Batch]) -> Iterator[Any]:
    """The elements: the values of the only column, or tuples of those of all."""
    for batch in batches:
        exported, rows = _Exported(batch), batch.num_rows
        lists = [_list(batch, *column, rows) for column in exported.columns()]
        if len(lists) == 1:
            yield from lists[0]
        elif lists:
            yield from zip(*lists)


def _list(batch: Batch, name: str, schema: ArrowSchema, array: ArrowArray, rows: int) -> list[Any]:
    if schema.dictionary:
        known = _list(batch, name, schema.dictionary.contents, array.dictionary.contents,
                      array.dictionary.contents.length)
        plain = ArrowSchema(format=schema.format)
        return [None if i is None else known[i] for i in _list(batch, name, plain, array, rows)]
    values = _plain_list(schema.format.decode(), array, rows)
    if values is None:
        return _by_pyarrow(batch, name)
    valid = _valid_bits(array, rows)
    if valid is not None:
        values = [v if ok else None for v, ok in zip(values, valid)]
    make = _MAKERS.get(schema.format.decode())
    return values if make is None else [None if v is None else make(v) for v in values]


def _date(day: int) -> datetime.date:
    return datetime.date.fromordinal(_DAY_ONE + day)


def _time(microseconds: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(microseconds=microseconds)


_MAKERS: dict[str, Callable[[Any], Any]] = {"tdD": _date, "tsu:": _time}  # of what is an integer


def _plain_list(form: str, array: ArrowArray, rows: int) -> Optional[list[Any]]:
    """None: pyarrow has to do it."""
    first = array.offset
    if form == "n":
        return [None] * rows
    if form in _CODES:
        return _numbers(_CODES[form], array, rows)
    if form in _MAKERS:
        return _numbers("i" if form == "tdD" else "q", array, rows)
    if form == "b":
        bits = int.from_bytes(_bytes_of(array, 1, 0, (first + rows + 7) // 8), "little") >> first
        return [bit == "1" for bit in bin(bits & (1 << rows) - 1 | 1 << rows)[:2:-1]]
    if form in ("u", "z", "U", "Z"):
        ends = _numbers("q" if form in "UZ" else "i", array, rows + 1) if rows else [0]
        data = bytes(_bytes_of(array, 2, ends[0], ends[-1] - ends[0]))
        parts = [data[a - ends[0] : b - ends[0]] for a, b in zip(ends, ends[1:])]
        return parts if form in "zZ" else [p.decode("utf-8", "surrogateescape") for p in parts]
    return None


def _numbers(code: str, array: ArrowArray, rows: int) -> list[Any]:
    size = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "f": 4}.get(code, 8)
    data: Any = _bytes_of(array, 1, array.offset * size, rows * size)
    numbers: list[Any] = data.cast(code).tolist() if rows else []
    return numbers


def _by_pyarrow(batch: Batch, name: str) -> list[Any]:
    try:
        import pyarrow
    except ImportError:
        raise TypeError(f"column {name!r} has a type whose values need pyarrow: install it, or "
                        "use mapBatches") from None
    values: list[Any] = pyarrow.record_batch(batch).column(name).to_pylist()
    return values


def _kind(row: Any) -> type:
    return dict if isinstance(row, dict) else tuple if isinstance(row, tuple) else object


def batches_from_rows(items: Iterable[Any]) -> Iterator[Batch]:
    """Batches of elements: a dict has its columns, a tuple the columns _1, _2, ... as in Spark,
    another element one column, "value". All have to be of one kind; a key that a dict does not
    have is null."""
    import pyarrow

    rest, kind = iter(items), None
    while rows := list(itertools.islice(rest, ROWS)):
        kind = kind or _kind(rows[0])
        if any(_kind(row) is not kind for row in rows):
            raise TypeError("the elements of an RDD that becomes columns are all dicts, all tuples "
                            "or all others")
        if kind is dict:
            names = list(dict.fromkeys(name for row in rows for name in row))
            lists = [[row.get(name) for row in rows] for name in names]
        elif kind is tuple:
            names = [f"_{i + 1}" for i in range(len(rows[0]))]
            if any(len(row) != len(names) for row in rows):
                raise TypeError(UNEQUAL)
            lists = [list(values) for values in zip(*rows)]
        else:
            names, lists = ["value"], [rows]
        if not names:
            raise TypeError("an empty dict or tuple becomes no row of columns")
        yield from batches_of(pyarrow.RecordBatch.from_arrays(
            [pyarrow.array(values) for values in lists], names))


def check_one_kind(batches: Iterable[Batch]) -> None:
    """Of what batches_from_rows made, of several partitions: columns of tuples have one number,
    and are beside no others."""
    found = {tuple(batch.names) for batch in batches if batch.num_rows > 0}
    made = {names for names in found
            if names == ("value",) or names == tuple(f"_{i + 1}" for i in range(len(names)))}
    if made and len(found) > 1:
        raise TypeError(UNEQUAL if made == found and ("value",) not in found else
                        "the elements of an RDD that becomes columns are all dicts, all tuples or "
                        "all others")


# ---- Functions on batches


def _arrow(batch: Batch) -> Any:
    import pyarrow

    return pyarrow.record_batch(batch)


def _polars(batch: Batch) -> Any:
    import polars

    return polars.DataFrame(batch)


def _pandas(batch: Batch) -> Any:
    return _arrow(batch).to_pandas()


FORMATS: dict[str, Callable[[Batch], Any]] = {
    "arrow": _arrow, "numpy": to_numpy, "polars": _polars, "pandas": _pandas}


def results_of(value: Any) -> Iterator[Batch]:
    """The batches of what a function of mapBatches returned."""
    if value is None:
        return
    if has_interface(value):
        yield from batches_of(value)
    elif isinstance(value, dict):
        yield from_numpy(value)
    elif isinstance(value, Iterator) or isinstance(value, (list, tuple)):
        for one in value:
            yield from results_of(one)
    else:
        import numpy

        if not isinstance(value, (numpy.ndarray, numpy.generic, int, float)):
            raise TypeError(f"a function of mapBatches returns a batch, a table, a dict of arrays "
                            f"or an array, not {type(value).__name__}")
        yield from_numpy({"value": numpy.atleast_1d(value)})


def map_batches(f: Callable[[Any], Any], form: str, batches: Iterable[Batch]) -> Iterator[Batch]:
    convert = FORMATS[form]
    for batch in batches:
        if batch.num_rows > 0:
            yield from results_of(f(convert(batch)))
