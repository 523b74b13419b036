"""Batches of columns, in the blocks that the engine and workers exchange (<glint/glint_columns.h>
of libglint.so; tests/test_declarations.py compares them). Through ctypes, because a worker imports
that in a tenth of the time that cffi takes."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Optional

from . import _task
from ._engine import LIBRARY

_P = ctypes.c_void_p
_U64 = ctypes.c_uint64


class ArrowSchema(ctypes.Structure):
    """Of Arrow's C data interface (arrow.apache.org/docs/format/CDataInterface.html)."""


class ArrowArray(ctypes.Structure):
    pass


class ArrowArrayStream(ctypes.Structure):
    pass


_SCHEMAS, _ARRAYS = ctypes.POINTER(ArrowSchema), ctypes.POINTER(ArrowArray)
ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", _P),
    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(_SCHEMAS)), ("dictionary", _SCHEMAS), ("release", _P),
    ("private_data", _P)]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(_P)),
    ("children", ctypes.POINTER(_ARRAYS)), ("dictionary", _ARRAYS), ("release", _P),
    ("private_data", _P)]
ArrowArrayStream._fields_ = [
    ("get_schema", _P), ("get_next", _P), ("get_last_error", _P), ("release", _P),
    ("private_data", _P)]
_CALL = ctypes.CFUNCTYPE(ctypes.c_int, _P, _P)
_LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_char_p, _P)
RELEASE = ctypes.CFUNCTYPE(None, _P)


class _GlintError(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("cause", ctypes.c_char * 5120),
                ("effect", ctypes.c_char * 256), ("hint", ctypes.c_char * 512)]


FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "glint_columns_create": (_P, [_U64, ctypes.POINTER(_P)]),
    "glint_columns_decode": (ctypes.c_int, [_P, _P]),
    "glint_columns_adopt": (_P, [_P, _P, _P]),
    "glint_columns_borrow": (_P, [_P, _P, _P]),
    "glint_columns_release": (None, [_P]),
    "glint_columns_rows": (_U64, [_P]),
    "glint_columns_size": (_U64, [_P]),
    "glint_columns_export": (ctypes.c_int, [_P, _P, _P]),
    "glint_columns_stream": (ctypes.c_int, [_P, _U64, _P, _P]),
    "glint_columns_encode": (ctypes.c_int, [_P, _U64, _U64, ctypes.POINTER(_P),
                                            ctypes.POINTER(_U64), _P]),
}
_library: Optional[Any] = None


def _lib() -> Any:
    global _library
    if _library is None:
        library = ctypes.CDLL(_task.files.get("library", LIBRARY))
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        _library = library
    return _library


def _raise(error: _GlintError) -> None:
    raise ValueError(error.cause.decode("utf-8", "replace"))


# ---- Capsules

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [_P, ctypes.c_char_p, _P]
_pointer_of = ctypes.PYFUNCTYPE(_P, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
_KINDS: dict[type[ctypes.Structure], bytes] = {
    ArrowSchema: b"arrow_schema", ArrowArray: b"arrow_array",
    ArrowArrayStream: b"arrow_array_stream"}
# Capsules that were given away, with their structs. They have no destructor: one in Python would
# run while an exception of the consumer is raised. Those that only this list refers to are found
# when the next one is made.
_given: list[tuple[Any, Any]] = []


def release(struct: Any) -> None:
    """Of Arrow, unless it was moved or released before."""
    if struct.release:
        RELEASE(struct.release)(ctypes.addressof(struct))


def _release_unused() -> None:
    for at in range(len(_given) - 1, -1, -1):
        if sys.getrefcount(_given[at][0]) <= 2:  # the tuple's and the argument's
            release(_given.pop(at)[1])


def capsule(struct: Any) -> Any:
    """What a consumer moves the struct out of."""
    _release_unused()
    held = _new_capsule(ctypes.addressof(struct), _KINDS[type(struct)], None)
    _given.append((held, struct))
    return held


def _in_capsule(held: Any, kind: Any) -> Any:
    return kind.from_address(_pointer_of(held, _KINDS[kind]))


# ---- Batches


class Batch:
    """Columns of equal length, which do not change. It has Arrow's C data interface:
    pyarrow.record_batch(batch), polars.DataFrame(batch)."""

    __slots__ = ("handle", "__weakref__")

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __del__(self) -> None:
        if _library is not None:
            _library.glint_columns_release(self.handle)

    @classmethod
    def read(cls, size: int, readinto: Callable[[memoryview], None]) -> Batch:
        """Of a block, which readinto writes into the memory that it gets."""
        lib, memory = _lib(), _P()
        handle = lib.glint_columns_create(size, ctypes.byref(memory))
        if not handle:
            raise MemoryError(f"no memory for a block of {size} bytes")
        batch = cls(handle)
        readinto(memoryview((ctypes.c_char * size).from_address(memory.value or 0)).cast("B"))
        error = _GlintError()
        if lib.glint_columns_decode(handle, ctypes.byref(error)) != 0:
            _raise(error)
        return batch

    @classmethod
    def decode(cls, block: Any) -> Batch:
        def copy(memory: memoryview) -> None:
            memory[:] = block

        return cls.read(len(block), copy)

    @classmethod
    def adopt(cls, schema: ArrowSchema, array: ArrowArray) -> Batch:
        """Takes the array, whose shape, offsets and indexes are checked."""
        error = _GlintError()
        handle = _lib().glint_columns_adopt(ctypes.byref(schema), ctypes.byref(array),
                                            ctypes.byref(error))
        if not handle:
            _raise(error)
        return cls(handle)

    @property
    def num_rows(self) -> int:
        return int(_lib().glint_columns_rows(self.handle))

    @property
    def nbytes(self) -> int:
        """Of the memory that it keeps, about."""
        return int(_lib().glint_columns_size(self.handle))

    def encode(self, first: int = 0, count: Optional[int] = None) -> memoryview:
        """A block of these rows, which is valid until the next call, as long as the batch."""
        lib, error = _lib(), _GlintError()
        block, size = _P(), _U64()
        rows = self.num_rows - first if count is None else count
        if lib.glint_columns_encode(self.handle, first, rows, ctypes.byref(block),
                                    ctypes.byref(size), ctypes.byref(error)) != 0:
            _raise(error)
        return memoryview((ctypes.c_char * size.value).from_address(block.value or 0)).cast("B")

    def encode_parts(self, least: int = 1 << 20) -> Iterator[memoryview]:
        """All rows, in blocks of about so many bytes; an empty batch is a block, too."""
        rows = self.num_rows
        step = max(1, rows * least // max(self.nbytes, 1), min(rows, 1024))
        for first in range(0, max(rows, 1), step):
            yield self.encode(first, min(step, rows - first))

    def export(self) -> tuple[ArrowSchema, ArrowArray]:
        schema, array = ArrowSchema(), ArrowArray()
        if _lib().glint_columns_export(self.handle, ctypes.byref(schema), ctypes.byref(array)):
            raise MemoryError("no memory for columns")
        return schema, array

    def __arrow_c_schema__(self) -> Any:
        schema, array = self.export()
        release(array)
        return capsule(schema)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        schema, array = self.export()
        return capsule(schema), capsule(array)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return stream_of([self])

    @property
    def names(self) -> list[str]:
        schema, array = self.export()
        found = [schema.children[i].contents.name.decode() for i in range(schema.n_children)]
        release(schema)
        release(array)
        return found

    def __repr__(self) -> str:
        return f"<glint batch of {self.num_rows} rows: {', '.join(self.names)}>"


def stream_of(batches: Sequence[Batch]) -> Any:
    """A capsule of a stream of batches with the same columns."""
    stream, error = ArrowArrayStream(), _GlintError()
    handles = (_P * len(batches))(*(batch.handle for batch in batches))
    if _lib().glint_columns_stream(handles, len(batches), ctypes.byref(stream),
                                   ctypes.byref(error)) != 0:
        _raise(error)
    return capsule(stream)


def has_interface(source: Any) -> bool:
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def batches_of(source: Any) -> Iterator[Batch]:
    """Of what has Arrow's C interface; a stream is read once."""
    if isinstance(source, Batch):
        yield source
    elif hasattr(source, "__arrow_c_stream__"):
        yield from _of_stream(source.__arrow_c_stream__())
    elif hasattr(source, "__arrow_c_array__"):
        held, array = source.__arrow_c_array__()
        yield Batch.adopt(_in_capsule(held, ArrowSchema), _in_capsule(array, ArrowArray))
    else:
        raise TypeError(f"{type(source).__name__} has no Arrow C stream interface "
                        "(__arrow_c_stream__): pass a table of pyarrow, Polars, pandas or DuckDB")


def _of_stream(held: Any) -> Iterator[Batch]:
    stream = _in_capsule(held, ArrowArrayStream)
    at, schema = ctypes.addressof(stream), ArrowSchema()

    def call(function: int, out: Any) -> None:
        result = _CALL(function)(at, ctypes.addressof(out))
        if result != 0:
            text = _LAST_ERROR(stream.get_last_error)(at)
            reason = text.decode("utf-8", "replace") if text else os.strerror(result)
            raise ValueError(f"Arrow's stream failed: {reason}")

    call(stream.get_schema, schema)
    any_rows = False
    try:
        while True:
            array = ArrowArray()
            call(stream.get_next, array)
            if not array.release:
                break
            batch = Batch.adopt(schema, array)
            if batch.num_rows > 0 or not any_rows:  # an empty one has the type
                any_rows = True
                yield batch
        if not any_rows:
            yield _empty(schema)
    finally:
        release(schema)


class OwnBatch(Batch):
    """Of memory of this process, which it keeps. What is exported is a copy."""

    __slots__ = ("_kept",)

    def __init__(self, schema: ArrowSchema, array: ArrowArray, *kept: Any) -> None:
        error = _GlintError()
        self._kept = schema, array, kept
        super().__init__(_lib().glint_columns_borrow(ctypes.byref(schema), ctypes.byref(array),
                                                     ctypes.byref(error)))
        if not self.handle:
            _raise(error)

    def export(self) -> tuple[ArrowSchema, ArrowArray]:
        return Batch.decode(self.encode()).export()


def own_array(length: int, buffers: Sequence[Optional[int]],
              children: Sequence[ArrowArray] = ()) -> ArrowArray:
    """The caller keeps the buffers."""
    pointers = (_P * max(len(buffers), 1))(*buffers)
    parts = (_ARRAYS * max(len(children), 1))(*(ctypes.pointer(child) for child in children))
    return ArrowArray(length=length, null_count=-1, n_buffers=len(buffers),
                      n_children=len(children), buffers=pointers, children=parts)


_BUFFERS = {"n": 0, "+s": 1, "+w": 1, "+r": 0, "u": 3, "z": 3, "U": 3, "Z": 3, "vu": 3, "vz": 3}


def _empty(schema: ArrowSchema) -> Batch:
    def array(of: ArrowSchema) -> ArrowArray:
        kind = of.format.decode()
        count = _BUFFERS.get(kind, _BUFFERS.get(kind[:2], 2) if kind[0] == "+" else 2)
        made = own_array(0, [None] * count, [array(of.children[i].contents)
                                             for i in range(of.n_children)])
        if of.dictionary:
            made.dictionary = ctypes.pointer(array(of.dictionary.contents))
        made.null_count = 0
        return made

    empty = OwnBatch(schema, array(schema))
    return Batch.decode(empty.encode())
