"""Bloom filters: the class over the library's filters, and files of filters."""

from __future__ import annotations

import contextlib
import operator
import os
import pathlib
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Optional, Union

from ._columns import Column, columns, id_bytes, is_numpy, with_interface
from ._errors import Error, check
from ._ids import value_bytes, value_columns
from ._library import ffi, lib

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

_CLOSED = "the filter is closed"
_contains = lib.glint_bloom_contains
_SCHEMES = {"classic": "wide", "counting": "wide"}  # of the others xxh64


# By id(), since filters have no hash. A child has no thread that would release their locks.
_filters: weakref.WeakValueDictionary[int, Bloom] = weakref.WeakValueDictionary()


def _renew_locks() -> None:
    for bloom in list(_filters.values()):
        bloom._writing = threading.Lock()


os.register_at_fork(after_in_child=_renew_locks)


class Bloom:
    """A set of ids that takes about 10 bits per id, and contains a few ids that were not added.

    n is how many ids it is for, p the rate of false positives with so many. An id is bytes, or a
    str: its UTF-8, or an int: its decimal text. More than n can be added, at a higher rate.

    layout "split-block" is the fastest; "classic" takes the fewest bits for a small p, and is
    several times slower. scheme is how ids are hashed; docs/filter-format.md lists schemes.
    bits_per_id replaces p. Layout "counting" has a counter of 4 bits for each bit of "classic", so
    that remove() works. Filters of the layouts "fuse8", "fuse16" and "exact", which the job
    bloom-build makes, are read like the others; they cannot be created or changed here.

    id_type makes ids values that are hashed as their bytes, as other systems hash numbers: "i32",
    "i64", "u64" (int), "f64" (float), "date", "timestamp" (datetime), "uuid", "decimal(P,S)",
    "bytes"; other ids are a TypeError or ValueError.

    Threads may use a filter at the same time. A query is sure to find the ids whose add returned
    before the query began.
    """

    __slots__ = ("_filter", "_params", "_read_only", "_type", "_width", "_writing", "__weakref__")

    _filter: Any
    _params: Any
    _read_only: bool
    _type: Optional[str]  # of ids; None: text
    _width: int  # of their values, in bytes; 0: any
    _writing: threading.Lock

    def __init__(
        self,
        n: int,
        p: float = 0.01,
        *,
        bits_per_id: Optional[float] = None,
        layout: str = "split-block",
        scheme: Optional[str] = None,
        id_type: str = "text",
    ) -> None:
        ids = operator.index(n)
        what = f"n={ids}, " + (f"p={p}" if bits_per_id is None else f"bits_per_id={bits_per_id}")
        if ids < 0 or ids >= 1 << 64:
            check(lib.GLINT_BLOOM_ERR_N if ids < 0 else lib.GLINT_BLOOM_ERR_M, what)
        chosen = ffi.new("enum glint_bloom_layout *")
        hashed = ffi.new("enum glint_bloom_scheme *")
        check(lib.glint_bloom_layout_named(layout.encode(), chosen), layout,
              "layouts: classic, block512, split-block, counting")
        scheme = _SCHEMES.get(layout, "xxh64") if scheme is None else scheme
        check(lib.glint_bloom_scheme_named(scheme.encode(), hashed), scheme)
        params = ffi.new("struct glint_bloom_params *")
        if bits_per_id is None:
            result = lib.glint_bloom_size_by_rate(hashed[0], chosen[0], ids, p, params)
        else:
            result = lib.glint_bloom_size_by_bits(hashed[0], chosen[0], ids, bits_per_id, params)
        check(result, f"{what}, {layout}, {scheme}")
        kind = ffi.new("uint32_t *")
        check(lib.glint_bloom_id_type_named(id_type.encode(), kind), f"id_type={id_type!r}")
        params.id_type = kind[0]
        out = ffi.new("glint_bloom **")
        result = lib.glint_bloom_create(params, out)
        if result == lib.GLINT_BLOOM_ERR_ID_TYPE:
            check(result, f"id_type={id_type!r}, scheme={scheme!r}")
        check(result, f"{what}: {params.bits / 8e6:.1f} MB")
        self._own(out[0])

    def _own(self, pointer: Any) -> None:
        self._set(ffi.gc(pointer, lib.glint_bloom_destroy), False)

    def _set(self, pointer: Any, read_only: bool) -> None:
        self._filter = pointer
        self._params = lib.glint_bloom_params_of(pointer)
        self._type = None if self._params.id_type == 0 else self.id_type
        self._width = lib.glint_bloom_id_bytes(ffi.addressof(self._params))
        self._read_only = read_only
        self._writing = threading.Lock()
        _filters[id(self)] = self

    @classmethod
    def _new(cls, pointer: Any) -> Bloom:
        self = cls.__new__(cls)
        self._own(pointer)
        return self

    @property
    def _open(self) -> Any:
        pointer = self._filter
        if pointer is None:
            raise ValueError(_CLOSED)
        return pointer

    @property
    def _writable(self) -> Any:
        if self._read_only:
            raise ValueError("the filter is read-only: copy() returns one that is not")
        return self._open

    # ---- ids

    def _bytes(self, value: Any) -> bytes:
        if self._type is None:
            return id_bytes(value)
        return value_bytes(self._type, self._width, value)

    def _columns(self, ids: Any) -> Iterator[Column]:
        if self._type is None or self._width == 0:
            return columns(ids)
        return value_columns(self._type, self._width, ids)

    def add(self, value: Any) -> None:
        data = self._bytes(value)
        with self._writing:
            check(lib.glint_bloom_add(self._writable, data, len(data)))

    def remove(self, value: Any) -> None:
        """Removes an id that was added, from a filter of the layout "counting". KeyError: it does
        not contain the id. One that was added twice is there until it has been removed twice. Never
        remove what was not added: where it is a false positive, other ids are lost."""
        data = self._bytes(value)
        with self._writing:
            result = lib.glint_bloom_remove(self._writable, data, len(data))
        if result == lib.GLINT_BLOOM_ERR_ABSENT:
            raise KeyError(value)
        check(result, f"layout {self.layout!r}")

    def __contains__(self, value: Any) -> bool:
        if type(value) is str and self._type is None:
            data = value.encode()
        else:
            data = self._bytes(value)
        try:
            return _contains(self._filter, data, len(data))  # type: ignore[no-any-return]
        except TypeError:
            raise ValueError(_CLOSED) from None

    def add_many(self, ids: Any) -> None:
        """Adds all ids of an Arrow array, a NumPy array, a list, or any iterable; see
        contains_many. Nulls of Arrow are skipped. After an error some may have been added."""
        for column in self._columns(with_interface(ids)):
            with self._writing:
                check(lib.glint_bloom_add_many(self._writable, column.c))

    def contains_many(self, ids: Any) -> Any:
        """Looks up many ids at once, in the order of ids. Returns

        - for an Arrow array (strings, binary, integers; also chunked, dictionaries, runs, a table
          of one column, or of another library with Arrow's C interface): a memoryview of bool, one
          byte each, which numpy.asarray() takes without a copy; False for null;
        - for a NumPy array of strings, bytes or integers: a NumPy array of bool;
        - for a list or another iterable of str, bytes or int: a list of bool.
        """
        ids = with_interface(ids)
        found = [self._contains_column(column) for column in self._columns(ids)]
        data = found[0] if len(found) == 1 else bytearray().join(found)
        if is_numpy(ids):
            import numpy

            return numpy.frombuffer(data, dtype=numpy.bool_)
        hits = memoryview(data).cast("?")
        return hits if _is_arrow(ids) else hits.tolist()

    def _contains_column(self, column: Column) -> bytearray:
        hits = bytearray(column.count)
        check(lib.glint_bloom_contains_many(self._open, column.c, ffi.from_buffer(hits)))
        return hits

    def clear(self) -> None:
        with self._writing:
            check(lib.glint_bloom_clear(self._writable))

    # ---- sets

    def __ior__(self, other: Bloom) -> Bloom:
        if not isinstance(other, Bloom):
            return NotImplemented
        with self._writing:
            check(lib.glint_bloom_unite(self._writable, other._open), f"{self!r} | {other!r}")
        return self

    def __or__(self, other: Bloom) -> Bloom:
        if not isinstance(other, Bloom):
            return NotImplemented
        both = self.copy()
        both |= other
        return both

    def union(self, *others: Bloom) -> Bloom:
        """A new filter with the ids of all. Their scheme, layout, bits and hashes must be equal:
        create them with the same n and p."""
        both = self.copy()
        for other in others:
            both |= other
        return both

    def __iand__(self, other: Bloom) -> Bloom:
        if not isinstance(other, Bloom):
            return NotImplemented
        with self._writing:
            check(lib.glint_bloom_intersect(self._writable, other._open), f"{self!r} & {other!r}")
        return self

    def __and__(self, other: Bloom) -> Bloom:
        """The ids that are in both, and false positives: each of both, at most, which are more
        than a filter of only these ids would have."""
        if not isinstance(other, Bloom):
            return NotImplemented
        both = self.copy()
        both &= other
        return both

    def intersection_ids(self, other: Bloom) -> float:
        """About how many different ids were added to both, by the bits of both and of their union:
        the error is that of these estimates, whatever the result. Infinity if all bits of each
        are set."""
        out = ffi.new("double *")
        check(lib.glint_bloom_intersection_ids(self._open, other._open, out),
              f"{self!r}, {other!r}")
        return float(out[0])

    def copy(self) -> Bloom:
        """A writable copy."""
        out = ffi.new("glint_bloom **")
        with self._writing:
            check(lib.glint_bloom_copy(self._open, out))
        return Bloom._new(out[0])

    __copy__ = copy

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bloom):
            return NotImplemented
        return self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    # ---- bytes and files

    def to_bytes(self) -> bytes:
        """The filter as a file contains it."""
        pointer = self._open
        data = bytearray(lib.glint_bloom_encoded_size(pointer))
        with self._writing:
            check(lib.glint_bloom_encode(pointer, ffi.from_buffer(data), len(data)))
        return bytes(data)

    @classmethod
    def from_bytes(cls, data: Union[bytes, bytearray, memoryview]) -> Bloom:
        out = ffi.new("glint_bloom **")
        view = ffi.from_buffer(data)
        check(lib.glint_bloom_decode(view, len(view), out))
        return cls._new(out[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return (Bloom.from_bytes, (self.to_bytes(),))

    def save(self, path: Path) -> None:
        """Writes a file that appears whole or not at all, and that `glint filter` reads."""
        entry = ffi.new("struct glint_bloom_entry *", {"filter": self._open})
        with self._writing:
            result = lib.glint_bloom_write(os.fsencode(path), entry, 1)
            check(result, os.fsdecode(path), writes=True)

    @classmethod
    def load(cls, path: Path) -> Bloom:
        """Reads a file with one filter into memory."""
        return cls._only(path, False)

    @classmethod
    def mmap(cls, path: Path) -> Bloom:
        """Maps a file with one filter: pages are read when they are used, and shared with other
        processes. The file is validated, which reads it once. Read-only. The file must not be
        changed while it is mapped, only replaced, as save does."""
        return cls._only(path, True)

    @classmethod
    def _only(cls, path: Path, mapped: bool) -> Bloom:
        filters = _read(path, mapped)
        if len(filters) != 1:
            raise Error("E0803", f"{os.fsdecode(path)}: {len(filters)} filters instead of one",
                        hint="read them all with glint.load_filters")
        return filters[0][1]

    def close(self) -> None:
        """Gives the memory back without waiting for the garbage collector; the filter cannot be
        used any more. Calls that other threads are making still succeed."""
        self._filter = None

    def __enter__(self) -> Bloom:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- parameters and estimates

    @property
    def n(self) -> int:
        """How many ids it is for."""
        return int(self._params.ids)

    @property
    def p(self) -> float:
        """The rate of false positives after n ids."""
        return float(lib.glint_bloom_expected_rate(ffi.addressof(self._params)))

    @property
    def m(self) -> int:
        """How many bits it has."""
        return int(self._params.bits)

    @property
    def k(self) -> int:
        """How many bits an id sets."""
        return int(self._params.hashes)

    @property
    def scheme(self) -> str:
        name: bytes = ffi.string(lib.glint_bloom_scheme_name(self._params.scheme))
        return name.decode()

    @property
    def layout(self) -> str:
        name: bytes = ffi.string(lib.glint_bloom_layout_name(self._params.layout))
        return name.decode()

    @property
    def id_type(self) -> str:
        """The type of ids; "text": any bytes."""
        name = ffi.new("char[]", lib.GLINT_BLOOM_ID_TYPE_NAME_MAX)
        lib.glint_bloom_id_type_name(self._params.id_type, name)
        found: bytes = ffi.string(name)
        return found.decode()

    @property
    def read_only(self) -> bool:
        return self._read_only

    def bits_set(self) -> int:
        return int(lib.glint_bloom_bits_set(self._open))

    def rate(self) -> float:
        """The rate of false positives with the ids it has now, from its bits: (bits set / m)^k.

        Schemes with hashes of 32 bits have up to 1.7 times that near 2^31 bits ("Hashes of 32 bits"
        in docs/filter-format.md); "wide", "guava" and "spark-bloom-v2" keep it.
        """
        return float(lib.glint_bloom_rate(self._open))

    def estimated_ids(self) -> float:
        """About how many different ids were added; infinity if every bit is set."""
        return float(lib.glint_bloom_ids(self._open))

    def __repr__(self) -> str:
        return (f"<glint.Bloom n={self.n} p={self.p:.3g} m={self.m} k={self.k} "
                f"{self.layout} {self.scheme}{' ' + self._type if self._type else ''}"
                f"{' read-only' if self.read_only else ''}>")


def _is_arrow(ids: object) -> bool:
    return hasattr(ids, "__arrow_c_array__") or hasattr(ids, "__arrow_c_stream__")


# ---- files

Key = Union[str, bytes, int, float, None]


def load_filters(path: Path, *, mmap: bool = False) -> dict[Key, Bloom]:
    """The filters of a file, or of all parts of an output of bloom-build, by key. A filter without
    a key has None. Two of one key are an error, E0804."""
    where = pathlib.Path(os.fsdecode(path))
    found: dict[Key, Bloom] = {}
    for part in parts_of(where):
        for key, bloom in _read(part, mmap):
            if key in found:
                raise Error("E0804", f"{where}: two filters have the key {key!r}",
                            hint="unite them: glint filter merge")
            found[key] = bloom
    return found


def save_filters(path: Path, filters: Mapping[Key, Bloom]) -> None:
    """Writes a file with these filters, which appears whole or not at all: load_filters gives them
    back, and `glint filter`, bloom-test and membership read them if all keys are integers, or all
    are str. The key None is for a filter that is alone."""
    entries = ffi.new("struct glint_bloom_entry[]", len(filters))
    kept = []  # memory of the texts
    for entry, (key, bloom) in zip(entries, filters.items()):
        entry.filter = bloom._open
        if isinstance(key, (str, bytes)):
            text = ffi.new("char[]", key.encode() if isinstance(key, str) else key)
            kept.append(text)
            entry.kind, entry.text, entry.text_size = lib.GLINT_BLOOM_KEY_TEXT, text, len(text) - 1
        elif isinstance(key, float):
            entry.kind, entry.real = lib.GLINT_BLOOM_KEY_DOUBLE, key
        elif key is not None:
            number = operator.index(key)
            if not -(1 << 63) <= number < 1 << 63:
                raise ValueError(f"the key {number} has more than 64 bits")
            entry.kind, entry.number = lib.GLINT_BLOOM_KEY_INT, number
    with contextlib.ExitStack() as writing:
        for bloom in {id(each): each for each in filters.values()}.values():
            writing.enter_context(bloom._writing)
        result = lib.glint_bloom_write(os.fsencode(path), entries, len(filters))
    check(result, os.fsdecode(path), writes=True)


def parts_of(path: pathlib.Path) -> list[pathlib.Path]:
    """The files of an output, in their order."""
    if not path.is_dir():
        return [path]
    return sorted(path.glob("part-*"), key=lambda part: (len(part.name), part.name))


def _read(path: Path, mapped: bool) -> list[tuple[Key, Bloom]]:
    out = ffi.new("glint_bloom_file **")
    mode = lib.GLINT_BLOOM_MAP if mapped else lib.GLINT_BLOOM_READ
    check(lib.glint_bloom_open(os.fsencode(path), mode, out), os.fsdecode(path))
    file = ffi.gc(out[0], lib.glint_bloom_close)
    found = []
    for i in range(lib.glint_bloom_entries(file)):
        entry = lib.glint_bloom_entry_at(file, i)
        found.append((_key(entry), _mapped(entry.filter, file) if mapped else _copied(entry)))
    return found


def _mapped(pointer: Any, file: Any) -> Bloom:
    bloom = Bloom.__new__(Bloom)
    # The destructor keeps the file open as long as the filter is used.
    bloom._set(ffi.gc(ffi.cast("glint_bloom *", pointer), lambda _, kept=file: None), True)
    return bloom


def _copied(entry: Any) -> Bloom:
    out = ffi.new("glint_bloom **")
    check(lib.glint_bloom_copy(entry.filter, out))
    return Bloom._new(out[0])


def _key(entry: Any) -> Key:
    if entry.kind == lib.GLINT_BLOOM_KEY_TEXT:
        data = bytes(ffi.buffer(entry.text, entry.text_size))
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data
    if entry.kind == lib.GLINT_BLOOM_KEY_INT:
        return int(entry.number)
    return float(entry.real) if entry.kind == lib.GLINT_BLOOM_KEY_DOUBLE else None
