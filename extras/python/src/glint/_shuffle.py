"""The two halves of a shuffle in the workers. A record's key is the number of its partition and of
a bucket, its value a block of pairs; equal keys of Python have equal hashes and are in one bucket.
The engine sorts and spills these records, and the reading worker takes one bucket after the other:
what it compares, by __hash__ and __eq__, is a dict of one bucket, not of a partition."""

from __future__ import annotations

import bisect
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pickle import loads
from struct import Struct
from types import (BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType,
                   ModuleType)
from typing import Any, Optional

from . import _functions
from ._functions import PACKED, Packed, map_items
from ._pickling import dumps

BUCKETS = 64  # of a partition
KEYS_MAX = 1 << 18  # that a worker combines before it writes them
VALUES_MAX = 1 << 20
BLOCK_ITEMS = 1 << 12
PLACES_MAX = 1 << 20  # of native.pack

_PLACE = Struct(">IH")
Pairs = Iterable[tuple[Any, Any]]
Place = Callable[[Any], int]


class Partitioner:
    """How many partitions, and what chooses one. Equal ones need no shuffle."""

    def __init__(self, numPartitions: int, partitionFunc: Callable[[Any], int]) -> None:
        self.numPartitions = numPartitions
        self.partitionFunc = partitionFunc

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Partitioner) and self.numPartitions == other.numPartitions
                and self.partitionFunc == other.partitionFunc)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, k: Any) -> int:
        return self.partitionFunc(k) % self.numPartitions


_NAMED = (type, FunctionType, BuiltinFunctionType, MethodType, MethodDescriptorType, ModuleType,
          type(...), type(NotImplemented))


def portable_hash(x: Any) -> int:
    """The hash of a key, the same in each process: that of None, of what is pickled by its name,
    and of tuples with them does not depend on addresses. Source: PySpark's portable_hash, whose
    values it has where those do not depend on them either."""
    if x is None:
        return 0
    if isinstance(x, tuple):
        h = 0x345678
        for i in x:
            h ^= portable_hash(i)
            h *= 1000003
            h &= sys.maxsize
        h ^= len(x)
        return -2 if h == -1 else int(h)
    return hash(_without_addresses(x))


def _without_addresses(x: Any) -> Any:
    """What has the hash of x, but for what is pickled by its name and, before Python 3.12, None:
    their own hashes are addresses."""
    if x is None:
        return x if sys.version_info >= (3, 12) else 0
    if isinstance(x, _NAMED):
        return getattr(x, "__qualname__", None) or getattr(x, "__name__", None) or repr(x)
    own: Any = type(x).__hash__
    if own is frozenset.__hash__:
        return frozenset(map(_without_addresses, x))
    if own is tuple.__hash__:
        return tuple(map(_without_addresses, x))
    if own is range.__hash__ and not x[1:]:  # its hash has None for what does not matter
        return tuple(x)
    code = getattr(own, "__code__", None)  # of a dataclass: made of its fields
    if code is not None and code.co_filename == "<string>" and hasattr(x, "__dataclass_fields__"):
        import dataclasses  # by now; before, it would take time

        return tuple(_without_addresses(getattr(x, field.name)) for field in dataclasses.fields(x)
                     if (field.compare if field.hash is None else field.hash))
    return x


def _bucket(value: int) -> int:
    return ((value * 0x9E3779B97F4A7C15 >> 32) & 0xFFFF) % BUCKETS


class HashPlace:
    """Of a key: partition * BUCKETS + bucket. The partition is Spark's."""

    def __init__(self, function: Optional[Callable[[Any], int]], count: int) -> None:
        self.function = None if function is portable_hash else function
        self.count = count

    def __call__(self, key: Any) -> int:
        h = portable_hash(key)
        p = h if self.function is None else self.function(key)
        return int(p % self.count) * BUCKETS + _bucket(h)


class FunctionPlace:
    """Of a key: its partition, of one bucket, so that the order of records is kept."""

    def __init__(self, function: Callable[[Any], int], count: int) -> None:
        self.function = function
        self.count = count

    def __call__(self, key: Any) -> int:
        return int(self.function(key) % self.count)


class RangePlace:
    """Of a key: bucket i has keys up to bounds[i], or from it on; so a bucket is a range, in the
    order of the output."""

    def __init__(self, bounds: list[Any], keyfunc: Callable[[Any], Any], ascending: bool) -> None:
        self.bounds = bounds
        self.keyfunc = None if keyfunc is same else keyfunc
        self.ascending = ascending

    def __call__(self, key: Any) -> int:
        at = bisect.bisect_left(self.bounds, key if self.keyfunc is None else self.keyfunc(key))
        return at if self.ascending else len(self.bounds) - at


def same(x: Any) -> Any:
    return x


def _unpack(pair: Any) -> tuple[Any, Any]:
    key, value = pair
    return key, value


def _first_two(item: Any) -> tuple[Any, Any]:
    """Of an element of a join, which may be longer."""
    return item[0], item[1]


def load_block(value: bytes) -> Iterable[Any]:
    return Packed(value) if value[0] == PACKED else loads(value)


def write_places(blocks: dict[int, list[Any]], per: int) -> Iterator[tuple[bytes, bytes]]:
    """Records of all blocks by place, of which a partition has `per`; empties them."""
    for place in sorted(blocks):
        yield _PLACE.pack(place // per, place % per), dumps(blocks[place], 5)
    blocks.clear()


def _plain_hash(place: Place) -> int:
    """The number of partitions, if `place` is known to C; else 0."""
    known = isinstance(place, HashPlace) and place.function is None and place.count < 1 << 24
    return place.count if known else 0  # type: ignore[attr-defined]


def _divide(pairs: Iterator[Any], place: Place, unpack: Callable[[Any], tuple[Any, ...]],
            blocks: dict[int, list[Any]], count: int) -> bool:
    """Adds so many pairs to lists by place. False: at the end of the pairs."""
    if _functions.native is not None:
        return bool(_functions.native.scatter(pairs, place, _plain_hash(place), BUCKETS, unpack,
                                              blocks, count))
    for item in pairs:
        pair = unpack(item)  # a list or a named tuple becomes a pair, as in PySpark
        at = place(pair[0])
        if at in blocks:
            blocks[at].append(pair)
        else:
            blocks[at] = [pair]
        count -= 1
        if count == 0:
            return True
    return False


def scatter(pairs: Pairs, place: Place, per: int = BUCKETS,
            unpack: Callable[[Any], tuple[Any, ...]] = _unpack) -> Iterator[tuple[bytes, bytes]]:
    """Pairs as they are."""
    blocks: dict[int, Any] = {}
    rest, more = iter(pairs), True
    while more:
        more = _divide(rest, place, unpack, blocks, KEYS_MAX)
        yield from write_places(blocks, per)


def scatter_packed(items: Iterable[Any], place: Place, per: int, partitions: int,
                   unpack: Callable[[Any], tuple[Any, ...]] = _unpack,
                   key: Optional[Callable[[Any], Any]] = None) -> Iterator[tuple[bytes, bytes]]:
    """The same in the order of the items, and packed if they are plain, for those that read each
    pair once: packed values share nothing. `key`: of items that are values of pairs."""
    rest, native, more = iter(items), _functions.native, True
    pairs = rest if key is None else map_items(partial(_with_key, key), rest)
    if native is None or per * partitions > PLACES_MAX:
        yield from scatter(pairs, place, per, unpack)
        return
    ranges = isinstance(place, RangePlace) and place.keyfunc is None
    bounds, up = (place.bounds, place.ascending) if ranges else (None, True)  # type: ignore
    while more:
        packed, foreign, more = native.pack(rest, key, unpack, place, bounds, up, per * partitions,
                                            KEYS_MAX)
        for at, block in packed:
            yield _PLACE.pack(at // per, at % per), block
        if foreign is not None:
            blocks: dict[int, Any] = {}
            more = _divide(chain([foreign], pairs), place, unpack, blocks, KEYS_MAX)
            yield from write_places(blocks, per)


def _with_key(key: Callable[[Any], Any], item: Any) -> tuple[Any, Any]:
    return key(item), item


def scatter_side(items: Iterable[Any], place: Place, side: int) -> Iterator[tuple[bytes, bytes]]:
    """Of a join: a block is its side and the pairs."""
    blocks: dict[int, Any] = {}
    rest, more = iter(items), True
    while more:
        more = _divide(rest, place, _first_two, blocks, KEYS_MAX)
        for at in blocks:
            blocks[at] = side, blocks[at]
        yield from write_places(blocks, BUCKETS)


def scatter_combined(pairs: Pairs, place: Place, create: Callable[[Any], Any],
                     merge: Callable[[Any, Any], Any]) -> Iterator[tuple[bytes, bytes]]:
    """Pairs with a combiner for each key, in bounded memory: a key may occur repeatedly."""
    if _functions.native is None:
        yield from _scatter_combined_in_python(pairs, place, create, merge)
        return
    table = _combiner(create, merge)
    count = _plain_hash(place)
    by = None if count > 0 else place
    rest, more = iter(pairs), True
    while more:
        more = table.fill(rest, KEYS_MAX, VALUES_MAX)
        foreign = table.take_dict()
        if foreign is not None:
            yield from scatter(foreign.items(), place)
            continue
        for at, block in table.take_blocks(by, count or 1, BUCKETS, dumps):
            yield _PLACE.pack(at // BUCKETS, at % BUCKETS), block


def _combiner(create: Callable[[Any], Any], merge: Callable[[Any, Any], Any]) -> Any:
    assert _functions.native is not None
    return _functions.native.Combiner(None if create is same else create, merge,
                                      merge is operator.add, _unpack)


def _scatter_combined_in_python(
    pairs: Pairs, place: Place, create: Callable[[Any], Any], merge: Callable[[Any, Any], Any],
) -> Iterator[tuple[bytes, bytes]]:
    combined: dict[Any, Any] = {}
    left = VALUES_MAX
    for key, value in pairs:
        if key in combined:
            combined[key] = merge(combined[key], value)
        else:
            combined[key] = create(value)
            if len(combined) >= KEYS_MAX:
                left = 0
        left -= 1
        if left <= 0:
            yield from scatter(combined.items(), place)
            combined, left = {}, VALUES_MAX
    yield from scatter(combined.items(), place)


def gather_combined(buckets: Iterator[Iterator[Pairs]],
                    merge: Callable[[Any, Any], Any]) -> Iterator[tuple[Any, Any]]:
    for blocks in buckets:
        if _functions.native is not None:
            yield from _combine_blocks(blocks, merge)
            continue
        combined: dict[Any, Any] = {}
        for block in blocks:
            for key, value in block:
                if key in combined:
                    combined[key] = merge(combined[key], value)
                else:
                    combined[key] = value
        yield from combined.items()


def _combine_blocks(blocks: Iterator[Pairs],
                    merge: Callable[[Any, Any], Any]) -> Iterator[tuple[Any, Any]]:
    table = _combiner(same, merge)
    for block in blocks:
        if type(block) is Packed:
            table.merge(block.block)
            continue
        rest = iter(block)
        while table.fill(rest, sys.maxsize, sys.maxsize):
            pass
    foreign = table.take_dict()
    if foreign is not None:
        yield from foreign.items()
        return
    first = 0
    while some := table.pairs(first, BLOCK_ITEMS):
        yield from some
        first += len(some)


def gather_grouped(buckets: Iterator[Iterator[Pairs]]) -> Iterator[tuple[Any, list[Any]]]:
    for blocks in buckets:
        groups: dict[Any, list[Any]] = {}
        for block in blocks:
            for key, value in block:
                if key in groups:
                    groups[key].append(value)
                else:
                    groups[key] = [value]
        yield from groups.items()


def gather_sides(buckets: Iterator[Iterator[Any]],
                 sides: int) -> Iterator[tuple[Any, tuple[list[Any], ...]]]:
    """Keys with a list of the values of each side."""
    for blocks in buckets:
        groups: dict[Any, tuple[list[Any], ...]] = {}
        for side, pairs in blocks:
            for key, value in pairs:
                if key in groups:
                    groups[key][side].append(value)
                else:
                    groups[key] = tuple([] for _ in range(sides))
                    groups[key][side].append(value)
        yield from groups.items()


def gather_sorted(buckets: Iterator[Iterator[Pairs]], keyfunc: Callable[[Any], Any],
                  ascending: bool, values: bool = False) -> Iterator[Any]:
    """Pairs or their values."""
    return chain.from_iterable(_sort_bucket(tuple(blocks), keyfunc, ascending, values)
                               for blocks in buckets)


def _sort_bucket(blocks: tuple[Any, ...], keyfunc: Callable[[Any], Any], ascending: bool,
                 values: bool) -> Iterable[Any]:
    if (_functions.native is not None and keyfunc is same
            and all(type(block) is Packed for block in blocks)):
        packed = tuple(block.block for block in blocks)
        found: Optional[Iterable[Any]] = _functions.native.Sorted.of(packed, not ascending, values)
        if found is not None:
            return found
    first = operator.itemgetter(0)
    pairs = list(chain.from_iterable(blocks))
    pairs.sort(key=first if keyfunc is same else lambda pair: keyfunc(pair[0]),
               reverse=not ascending)
    return map(operator.itemgetter(1), pairs) if values else pairs


def count_pairs(buckets: Iterator[Iterator[Any]]) -> list[int]:
    """How many there are, for gather and gather_sorted."""
    return [sum(len(block) for blocks in buckets for block in blocks)]


def gather(buckets: Iterator[Iterator[Pairs]]) -> Iterator[tuple[Any, Any]]:
    for blocks in buckets:
        for block in blocks:
            yield from block
