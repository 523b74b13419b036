"""Sorts: partitions, and parts of them, are ranges of keys, whose bounds a sample gives."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Optional

from .. import _shuffle
from .._functions import Composed, Each, Whole, count_items, map_items
from .._shuffle import Partitioner, portable_hash, same
from . import _typed
from ._data import functions_of
from ._sampling import KeySampler, bounds_of_ranges
from ._typed import in_engine

RANGES = 16  # of a partition, so that a worker sorts a part of it at a time
SAMPLE_PER_RANGE = 20
UNCHANGED = (_shuffle.gather, _shuffle.gather_sorted)  # which give each pair that they read


class SortMethods:
    getNumPartitions: Callable[[], int]  # of RDD
    _chain: Any
    _count: Callable[[Optional[int]], int]
    _elements: Any
    _like: Any
    _shuffled: Any
    _then: Any
    _values: Any

    def repartitionAndSortWithinPartitions(
        self, numPartitions: Optional[int] = None,
        partitionFunc: Callable[[Any], int] = portable_hash,
        ascending: bool = True, keyfunc: Callable[[Any], Any] = same,
    ) -> Any:
        count = self._count(numPartitions)
        place = _shuffle.FunctionPlace(partitionFunc, count)
        return self._shuffled(Whole(_shuffle.scatter_packed, place, 1, count), count,
                              Whole(_shuffle.gather_sorted, keyfunc, ascending),
                              Partitioner(count, partitionFunc))

    @in_engine(_typed.sort_by_key)
    def sortByKey(self, ascending: Optional[bool] = True, numPartitions: Optional[int] = None,
                  keyfunc: Callable[[Any], Any] = same) -> Any:
        return self._elements()._sorted(None, bool(ascending), numPartitions, keyfunc)

    def sortBy(self, keyfunc: Callable[[Any], Any], ascending: bool = True,
               numPartitions: Optional[int] = None) -> Any:
        return self._elements()._sorted(keyfunc, bool(ascending), numPartitions)

    def _sorted(self, key: Optional[Callable[[Any], Any]], up: bool, numPartitions: Optional[int],
                keyfunc: Callable[[Any], Any] = same) -> Any:
        """`key`: of elements; None: they are pairs. It is called once for each in the shuffle."""
        count = self._count(numPartitions)
        ranges = count * RANGES
        keys = [(keyfunc(k), weight) for k, weight in self._sample(ranges, key)]
        if not keys:  # as in PySpark
            return self
        place = _shuffle.RangePlace(bounds_of_ranges(keys, ranges), keyfunc, up)
        # Into one partition tuples may be longer than pairs, as in PySpark.
        unpack = tuple if count == 1 else _shuffle._unpack
        return self._shuffled(
            Whole(_shuffle.scatter_packed, place, RANGES, count, unpack, key), count,
            Whole(_shuffle.gather_sorted, keyfunc, up, key is not None),
            None if key else Partitioner(count, lambda k: place(k) // RANGES))

    def _sample(self, ranges: int, key: Optional[Callable[[Any], Any]]) -> list[Any]:
        """Keys and their weights. Functions of single elements are called for a sample of what
        they read, unless they leave so little that a sample of what they give is needed."""
        most = max(100, 3 * ranges * SAMPLE_PER_RANGE // max(self.getNumPartitions(), 1))
        source, last = self._chain(same)
        functions = functions_of(last)[:-1]
        if functions and all(isinstance(function, Each) for function in functions):
            sampler = KeySampler(most, key or operator.itemgetter(0), *functions)
            parts = self._like(source)._values(sampler)
            if (all(whole for _, _, whole in parts)
                    or sum(len(keys) for keys, _, _ in parts) >= ranges * SAMPLE_PER_RANGE):
                return _keys_of(parts)
        return _keys_of(self._values(KeySampler(most, key or operator.itemgetter(0))))

    def _sizes(self) -> list[int]:
        """How many elements each partition has. Functions that give one for each element are not
        called, and nothing is sorted."""
        source, last = self._chain(same)
        functions = functions_of(last)[:-1]
        while functions and isinstance(functions[-1], Each) and functions[-1].kind is map_items:
            functions = functions[:-1]
        first = functions[0] if len(functions) == 1 else None
        if isinstance(first, Whole) and any(first.f is f for f in UNCHANGED):
            functions, counts = (), Whole(_shuffle.count_pairs)
        else:
            counts = Whole(count_items)
        left = Composed(functions) if functions else None
        sizes: list[int] = self._like(source, left)._values(counts)
        return sizes


def _keys_of(parts: list[Any]) -> list[Any]:
    return [(key, weight) for keys, weight, _ in parts for key in keys]
