"""Iterators that call a function for each element, and blocks of plain keys and values: in C by the
module glint._native, which does the same in a part of the time, or without it in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from struct import Struct
from typing import Any, Optional

Function = Callable[[int, Iterator[Any]], Iterable[Any]]  # of a partition and its elements
_MAP, _FLAT_MAP, _FILTER = range(3)
PACKED = 1  # the first byte of a packed block; a pickle begins with 0x80
native: Optional[Any] = None
try:
    from . import _native  # type: ignore[attr-defined,unused-ignore]

    native = _native
except ImportError:
    pass


def load(path: Optional[str]) -> None:
    """The module of the driver, on a cluster; its machine may be of another kind than this one."""
    global native
    if path is None or native is not None:
        return
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    loader = ExtensionFileLoader("glint._native", path)
    spec = spec_from_file_location("glint._native", path, loader=loader)
    assert spec is not None
    try:
        native = module_from_spec(spec)
    except ImportError:
        pass


def map_items(f: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    # In a generator a StopIteration of the function is an error, not an end.
    return (f(x) for x in items) if native is None else native.Mapped(_MAP, f, items)


def flat_map_items(f: Callable[[Any], Iterable[Any]], items: Iterable[Any]) -> Iterator[Any]:
    if native is None:
        return (y for x in items for y in f(x))
    return native.Mapped(_FLAT_MAP, f, items)  # type: ignore[no-any-return]


def filter_items(f: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    return (x for x in items if f(x)) if native is None else native.Mapped(_FILTER, f, items)


class Each:
    """A function of partitions that calls `f` for each element; `kind` is map_items or its like."""

    def __init__(self, kind: Callable[..., Iterator[Any]], f: Callable[[Any], Any]) -> None:
        self.kind = kind
        self.f = f

    def __call__(self, _: int, items: Iterable[Any]) -> Iterator[Any]:
        return self.kind(self.f, items)


class Whole:
    """A function of partitions that calls `f` once, with the elements and the arguments. A plan of
    these is pickled by name and faster than one of functions within functions."""

    def __init__(self, f: Callable[..., Iterable[Any]], *arguments: Any) -> None:
        self.f = f
        self.arguments = arguments

    def __call__(self, _: int, items: Iterable[Any]) -> Iterable[Any]:
        return self.f(items, *self.arguments)


def reduce_items(f: Callable[[Any, Any], Any], items: Iterable[Any], *initial: Any) -> Any:
    """A StopIteration of the function is an error, not an end."""
    try:
        return reduce(f, items, *initial)
    except StopIteration as error:
        raise RuntimeError("a function raised StopIteration") from error


class Composed:
    """Functions in a row, not within each other: a pickle of functions has a limited depth."""

    def __init__(self, functions: tuple[Function, ...]) -> None:
        self.functions = functions

    def __call__(self, split: int, items: Iterator[Any]) -> Iterable[Any]:
        for function in self.functions:
            items = iter(function(split, items))
        return items


def identity(_: int, items: Iterator[Any]) -> Iterator[Any]:
    return items


def count_items(items: Iterable[Any]) -> list[int]:
    return [sum(1 for _ in items)]


def reduced_items(items: Iterator[Any], f: Callable[[Any, Any], Any]) -> Iterator[Any]:
    """At most one."""
    for first in items:
        yield reduce_items(f, items, first)


class Packed:
    """Pairs in a block of native/combiner.c, whose encodings native/encoding.h describes."""

    __slots__ = ("block",)

    def __init__(self, block: bytes) -> None:
        self.block = block

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(native.unpack_pairs(self.block)) if native is not None else self._decoded()

    def __len__(self) -> int:
        if native is not None:
            return int(native.count_pairs(self.block))
        return sum(1 for _ in self._decoded())

    def _decoded(self) -> Iterator[tuple[Any, Any]]:
        at, block = 1, self.block
        while at < len(block):
            key, at = _decode(block, at)
            value, at = _decode(block, at)
            yield key, value


def _decode(block: bytes, at: int) -> tuple[Any, int]:
    tag, at = block[at : at + 1], at + 1
    if tag in _CONSTANTS:
        return _CONSTANTS[tag], at
    if tag in _NUMBERS:
        (number,) = _NUMBERS[tag].unpack_from(block, at)
        return number, at + _NUMBERS[tag].size
    if tag not in _SIZES:
        raise ValueError("a block of a shuffle is damaged")
    (size,) = _SIZES[tag].unpack_from(block, at)
    at += _SIZES[tag].size
    if tag == b"(":
        items = []
        for _ in range(size):
            item, at = _decode(block, at)
            items.append(item)
        return tuple(items), at
    data = block[at : at + size]
    return data.decode() if tag in b"sS" else data, at + size


_CONSTANTS: dict[bytes, Any] = {b"N": None, b"T": True, b"F": False}
_NUMBERS = {b"1": Struct("<b"), b"4": Struct("<i"), b"8": Struct("<q"), b"d": Struct("<d")}
_SIZES = {b"s": Struct("<B"), b"S": Struct("<H"), b"b": Struct("<B"), b"B": Struct("<H"),
          b"(": Struct("<B")}
