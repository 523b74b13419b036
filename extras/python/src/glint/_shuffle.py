"""The two halves of a shuffle in the workers. A record's key is the number of its partition and of
a bucket, its value a block of pairs; equal keys of Python have equal hashes and are in one bucket.
The engine sorts and spills these records, and the reading worker takes one bucket after the other:
what it compares, by __hash__ and __eq__, is a dict of one bucket, not of a partition."""

from __future__ import annotations

import bisect
import sys
from collections.abc import Callable, Iterable, Iterator
from pickle import dumps
from struct import Struct
from typing import Any, Optional

BUCKETS = 64  # of a partition
KEYS_MAX = 1 << 18  # that a worker combines before it writes them
VALUES_MAX = 1 << 20
BLOCK_ITEMS = 1 << 12

_PLACE = Struct(">IH")
Pairs = Iterable[tuple[Any, Any]]
Place = Callable[[Any], int]


def portable_hash(x: Any) -> int:
    """The hash of a key, the same in each process: that of None and of tuples with None does not
    depend on addresses. Source: PySpark's portable_hash, whose values it has."""
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
    return hash(x)


def _bucket(value: int) -> int:
    return ((value * 0x9E3779B97F4A7C15 >> 32) & 0xFFFF) % BUCKETS


def place_by_hash(function: Optional[Callable[[Any], int]], count: int) -> Place:
    """Of a key: partition * BUCKETS + bucket. The partition is Spark's."""
    own = function is None or function is portable_hash

    def place(key: Any) -> int:
        h = hash(key) if type(key) is str or type(key) is int else portable_hash(key)
        p = h if own else function(key)  # type: ignore[misc]
        return int(p % count) * BUCKETS + _bucket(h)

    return place


def place_in_partition(function: Callable[[Any], int], count: int) -> Place:
    """One bucket per partition: the order of records is kept."""
    return lambda key: int(function(key) % count) * BUCKETS


def place_by_range(bounds: list[Any], keyfunc: Callable[[Any], Any], ascending: bool,
                   last: int) -> Place:
    """Bucket i has keys up to bounds[i]; so a bucket is a range, in the order of the output."""
    find = bisect.bisect_left
    if ascending:
        return lambda key: find(bounds, keyfunc(key))
    return lambda key: last - find(bounds, keyfunc(key))


def write_places(blocks: dict[int, list[Any]], per: int) -> Iterator[tuple[bytes, bytes]]:
    """Records of all blocks by place, of which a partition has `per`; empties them."""
    for place in sorted(blocks):
        yield _PLACE.pack(place // per, place % per), dumps(blocks[place], 5)
    blocks.clear()


def scatter(pairs: Pairs, place: Place, per: int = BUCKETS) -> Iterator[tuple[bytes, bytes]]:
    """Pairs as they are."""
    blocks: dict[int, list[Any]] = {}
    count = 0
    for pair in pairs:
        key, _ = pair
        at = place(key)
        if at in blocks:
            blocks[at].append(pair)
        else:
            blocks[at] = [pair]
        count += 1
        if count >= KEYS_MAX:
            yield from write_places(blocks, per)
            count = 0
    yield from write_places(blocks, per)


def scatter_combined(pairs: Pairs, place: Place, create: Callable[[Any], Any],
                     merge: Callable[[Any, Any], Any]) -> Iterator[tuple[bytes, bytes]]:
    """Pairs with a combiner for each key, in bounded memory: a key may occur repeatedly."""
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
        combined: dict[Any, Any] = {}
        for block in blocks:
            for key, value in block:
                if key in combined:
                    combined[key] = merge(combined[key], value)
                else:
                    combined[key] = value
        yield from combined.items()


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


def gather_sorted(buckets: Iterator[Iterator[Pairs]], keyfunc: Callable[[Any], Any],
                  ascending: bool) -> Iterator[tuple[Any, Any]]:
    for blocks in buckets:
        pairs = [pair for block in blocks for pair in block]
        pairs.sort(key=lambda pair: keyfunc(pair[0]), reverse=not ascending)
        yield from pairs


def gather(buckets: Iterator[Iterator[Pairs]]) -> Iterator[tuple[Any, Any]]:
    for blocks in buckets:
        for block in blocks:
            yield from block
