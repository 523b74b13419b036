"""RDD, with the names, parameters and results of PySpark 4.3. Transformations compose functions of
(partition, iterator) until a shuffle, a cache or an action; then workers run the chain."""

from __future__ import annotations

import copy
import heapq
import math
import operator
import os
import random
import sys
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, chain, islice
from itertools import count as count_from
from typing import TYPE_CHECKING, Any, Generic, Optional, Union

from .. import _shuffle
from .._context import add_underscored, cstring
from .._functions import (
    Each,
    Function,
    Whole,
    count_items,
    filter_items,
    flat_map_items,
    identity,
    map_items,
    reduce_items,
    reduced_items,
)
from .._names import function_of
from .._records import Records, positive
from .._shuffle import Partitioner, portable_hash, same
from .._turns import in_turn
from . import _typed
from ._checkpoints import Checkpoints
from ._column_methods import ColumnMethods
from ._data import LINES, Dataset, Once, Source, Workers, compose
from ._numbers import NumberMethods
from ._pipe import lines_of
from ._sampling import RangeSampler, Sampler, StratifiedSampler, sample_fraction
from ._saving import GZIP, save_parts, save_pickle_part, save_text_part, text_of
from ._sorting import SortMethods
from ._typed import in_engine
from .errors import PySparkRuntimeError, refuse_methods
from .resultiterable import ResultIterable
from .statcounter import StatCounter
from .storagelevel import StorageLevel

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any, covariant=True)  # so that RDD is RDD[Any]
    K = TypeVar("K", default=Any)
    U = TypeVar("U", default=Any)
    V = TypeVar("V", default=Any)
    W = TypeVar("W", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T", covariant=True)

Hash = Callable[[Any], int]
Merge = Callable[[Any, Any], Any]
Reduce = Union[str, Merge]
_LEVELS = {"memory": StorageLevel.MEMORY_ONLY, "disk": StorageLevel.DISK_ONLY,
           "both": StorageLevel.MEMORY_AND_DISK}


def union_of(rdds: Iterable[RDD]) -> RDD:
    some = [_elements_of(rdd) for rdd in rdds]
    if not some:
        raise ValueError("union needs an RDD")
    by = some[0].partitioner if _are_alike(some) else None
    while len(some) > 1:  # a tree, since plans have a limited depth
        last = some[-1:] if len(some) % 2 == 1 else []
        some = [a._followed_by(b, by) for a, b in zip(some[::2], some[1::2])] + last
    return some[0]


def _elements_of(rdd: Any) -> RDD:
    if not isinstance(rdd, RDD):
        raise TypeError(f"an RDD is needed, not {type(rdd).__name__}")
    return rdd._elements()


def _are_alike(rdds: Sequence[RDD]) -> bool:
    by = rdds[0].partitioner
    return by is not None and all(rdd.partitioner == by for rdd in rdds)


def _partitions_of_union(rdds: Sequence[RDD]) -> int:
    some = rdds[:1] if _are_alike(rdds) else rdds
    return sum(rdd.getNumPartitions() for rdd in some)


class RDD(Checkpoints, ColumnMethods, NumberMethods, SortMethods, Generic[T]):
    """Elements of any type of Python, in partitions. What glint.Context makes has records of types
    that the engine knows: str, bytes, int or float, or pairs of them; the engine computes methods
    that need no function of Python, or get the name of a built-in one. Each method has a name with
    underscores, too."""

    _form = "blocks"  # of what its function gives

    def __init__(self, ctx: Any, source: Source, function: Optional[Function] = None,
                 partitioner: Optional[Partitioner] = None) -> None:
        self.ctx = ctx
        self._turns = ctx._turns
        self._read(source, function)
        self.partitioner = partitioner
        self._records: Optional[Records] = None  # if their types are known
        self._computed: Optional[list[Any]] = None  # batches, for Arrow's stream interface
        self.is_cached = False
        self.is_checkpointed = False
        self._level = StorageLevel.NONE
        self._kind = "PythonRDD"  # for its repr
        self._id: int = next(ctx._rdd_numbers)
        self._name: Optional[str] = None

    def __repr__(self) -> str:
        name = f"{self._name} " if self._name else ""
        if self._records is not None:
            return f"<glint.RDD {name}{_typed.describe(self._records)}>"
        return f"{name}{self._kind}[{self._id}] of {self.ctx!r}"

    def __getnewargs__(self) -> Any:
        raise PySparkRuntimeError(
            "[RDD_TRANSFORM_ONLY_VALID_ON_DRIVER] It appears that you are attempting to broadcast "
            "an RDD or reference an RDD from an action or transformation. RDD transformations and "
            "actions can only be invoked by the driver, not inside of other transformations")

    __reduce__ = __getnewargs__

    # ---- how it is computed

    @property
    def _workers(self) -> Workers:
        workers: Workers = self.ctx._workers
        return workers

    def _read(self, source: Source, function: Optional[Function]) -> None:
        self._source, self._function, self._reads = source, function, (source,)

    def _make(self) -> Dataset:
        data = self._applied(self._form)
        if self._name is not None:
            data.rdd.set("glint_with_name", cstring(self._name))
        if self.is_cached:
            self._persist(data)
        return data

    @in_turn
    def _applied(self, output: str, block: int = 0) -> Dataset:
        """What its function gives, as `output`."""
        data = self._source._dataset()
        return data if self._function is None else self._workers.apply(data, self._function, output,
                                                                       block)

    def _of_records(self, records: Records) -> RDD:
        return typed_rdd(self.ctx, records)

    @in_turn
    def _blocks(self, size: int = 0) -> Dataset:
        return self._workers.blocks(self._dataset(), size)

    def _elements(self) -> RDD[T]:
        """An RDD whose functions give elements."""
        return self

    def _like(self, source: Source, function: Optional[Function] = None) -> RDD:
        return RDD(self.ctx, source, function)

    def _chain(self, function: Function) -> tuple[Source, Function]:
        """The function after those of this RDD, and what it reads."""
        if self.is_cached or self.is_checkpointed:
            return self, function
        return self._source, compose(self._function, function)

    def _then(self, function: Function, preserves: bool = False) -> RDD:
        """The elements that the function gives; in the same worker, unless this RDD is kept."""
        return RDD(self.ctx, *self._chain(function), self.partitioner if preserves else None)

    @in_turn
    def _act(self, make: Callable[[], Dataset], most: int = -1) -> list[Any]:
        """The elements, as an action; `most`: of so many records."""
        found = list(self._workers.collect(make(), most))
        self._checkpoint_lineage()
        return found

    def _values(self, function: Function, most: int = -1, block: int = 0) -> list[Any]:
        """The elements that the function gives, as an action."""
        then = self._then(function)
        return then._act(lambda: then._applied("blocks", block), most)

    def _some_values(self, function: Function) -> list[Any]:
        """One of each partition, of which there must be some, as in PySpark."""
        values = self._values(function)
        if not values:
            raise ValueError("Can not reduce() empty RDD")
        return values

    def id(self) -> int:
        return self._id

    @property
    def context(self) -> Any:
        return self.ctx

    def name(self) -> Optional[str]:
        return self._name

    def setName(self, name: str) -> RDD[T]:
        self._name = name
        if self._made is not None:
            self._made.rdd.set("glint_with_name", cstring(name))
        return self

    def withPartitions(self, numPartitions: int) -> RDD[T]:
        """Of records of known types: sets the number of partitions of this shuffle, and of those
        that follow it. PySpark's RDD does not have it."""
        if self._records is None:
            raise TypeError("withPartitions is for an RDD of glint.Context; use numPartitions")
        self._records.set("glint_with_partitions", positive(numPartitions))
        return self

    @in_turn
    def toDebugString(self) -> Optional[bytes]:
        source = self._source._dataset()
        lines = [f"({self.getNumPartitions()}) PythonRDD[{self._id}] of {source.form}",
                 *(f" |  {data.origin}" for data in source.lineage())]
        return "\n".join(lines).encode()

    @in_turn
    def getNumPartitions(self) -> int:
        return self._source._dataset().rdd.partitions()

    def cache(self) -> RDD[T]:
        return self.persist(StorageLevel.MEMORY_ONLY)

    def persist(self,
                storageLevel: Union[StorageLevel, str] = StorageLevel.MEMORY_ONLY) -> RDD[T]:
        """What does not fit into a quarter of the memory is written to disk, or computed again.
        "memory", "disk" and "both" are levels, too."""
        if isinstance(storageLevel, str):
            if storageLevel not in _LEVELS:
                raise ValueError('storageLevel must be "memory", "disk" or "both"')
            storageLevel = _LEVELS[storageLevel]
        if self.is_cached and storageLevel != self._level:
            raise PySparkRuntimeError("Cannot change storage level of an RDD after it was already "
                                      "assigned a level")
        self.is_cached, self._level = True, storageLevel
        if self._made is not None:
            self._persist(self._made)
        return self

    def _persist(self, data: Dataset) -> None:
        data.rdd.set("glint_persist", self._level.useMemory + 2 * self._level.useDisk or 1)

    def unpersist(self, blocking: bool = False) -> RDD[T]:
        if self.is_cached and self._made is not None:
            self._made.rdd.set("glint_unpersist")
        self.is_cached, self._level = False, StorageLevel.NONE
        return self

    def getStorageLevel(self) -> StorageLevel:
        return self._level

    def cleanShuffleDependencies(self, blocking: bool = False) -> None:
        """Map outputs are freed with their RDDs."""

    # ---- elements

    @in_engine(_typed.apply("glint_map", "map"))
    def map(self, f: Union[str, Callable[[T], U]],
            preservesPartitioning: bool = False) -> RDD[U]:
        return self._map(function_of(f, "map"), preservesPartitioning)

    def _map(self, f: Callable[[Any], Any], preserves: bool = False) -> RDD:
        return self._then(Each(map_items, f), preserves)

    @in_engine(_typed.apply("glint_flat_map", "flatMap"))
    def flatMap(self, f: Union[str, Callable[[T], Iterable[U]]],
                preservesPartitioning: bool = False) -> RDD[U]:
        g = function_of(f, "flatMap")
        return self._then(Each(flat_map_items, g), preservesPartitioning)

    def filter(self, f: Callable[[T], Any]) -> RDD[T]:
        return self._then(Each(filter_items, f), True)

    def mapPartitions(self, f: Callable[[Iterator[T]], Iterable[U]],
                      preservesPartitioning: bool = False) -> RDD[U]:
        return self._then(Whole(f), preservesPartitioning)

    def mapPartitionsWithIndex(self, f: Callable[[int, Iterator[T]], Iterable[U]],
                               preservesPartitioning: bool = False) -> RDD[U]:
        return self._then(f, preservesPartitioning)

    def mapPartitionsWithSplit(self, f: Callable[[int, Iterator[T]], Iterable[U]],
                               preservesPartitioning: bool = False) -> RDD[U]:
        warnings.warn("mapPartitionsWithSplit is deprecated; use mapPartitionsWithIndex instead",
                      FutureWarning, stacklevel=2)
        return self.mapPartitionsWithIndex(f, preservesPartitioning)

    def keyBy(self, f: Callable[[T], K]) -> RDD[tuple[K, T]]:
        return self._map(lambda x: (f(x), x))

    @in_engine(_typed.transform("glint_glom"))
    def glom(self) -> RDD[list[T]]:
        return self._then(lambda _, items: [list(items)])

    @in_engine(_typed.pipe)
    def pipe(self, command: Union[str, Sequence[str]], env: Optional[Mapping[str, str]] = None,
             checkCode: Optional[bool] = None, *, ok: Iterable[int] = (0,)) -> RDD[str]:
        """Lines of a command that gets each element's str as a line, or of pairs of known types key
        TAB value. There is no shell: a str is split as by shlex.split. A status that is not in `ok`
        is an error if checkCode is True, and by default in glint.Context."""
        if checkCode is None:
            checkCode = not self.ctx._is_spark
        through = lines_of(command, env or {}, frozenset(ok) if checkCode else None)
        return self._then(lambda _, items: through(items))

    @in_engine(_typed.sample)
    def sample(self, withReplacement: bool, fraction: float,
               seed: Optional[int] = None) -> RDD[T]:
        if not fraction >= 0:
            raise ValueError("Fraction must be nonnegative.")
        return self._then(Sampler(withReplacement, fraction, seed), True)

    @in_engine(_typed.sample_by_key)
    def sampleByKey(self, withReplacement: bool, fractions: dict[Any, float],
                    seed: Optional[int] = None) -> RDD[T]:
        for fraction in fractions.values():
            assert fraction >= 0.0, f"Negative fraction value: {fraction}"
        return self._then(StratifiedSampler(withReplacement, fractions, seed), True)

    def randomSplit(self, weights: Sequence[float], seed: Optional[int] = None) -> list[RDD[T]]:
        if self._records is not None:
            return [*map(self._of_records, _typed.random_split(self._records, weights, seed))]
        if not all(w >= 0 for w in weights):
            raise ValueError("Weights must be nonnegative")
        total = float(sum(weights))
        if not total > 0:
            raise ValueError("Sum of weights must be positive")
        bounds = [0.0]
        for weight in weights:
            bounds.append(bounds[-1] + weight / total)
        seed = random.randint(0, 2**32 - 1) if seed is None else seed
        return [self._then(RangeSampler(a, b, seed), True) for a, b in zip(bounds, bounds[1:])]

    @in_engine(_typed.transform("glint_zip_with_index"))
    def zipWithIndex(self) -> RDD[tuple[T, int]]:
        sizes = self._elements()._sizes() if self.getNumPartitions() > 1 else []
        starts = [0, *accumulate(sizes)]
        return self._then(lambda k, items: zip(items, count_from(starts[k])))

    @in_engine(_typed.transform("glint_zip_with_unique_id"))
    def zipWithUniqueId(self) -> RDD[tuple[T, int]]:
        n = self.getNumPartitions()
        return self._then(lambda k, items: zip(items, count_from(k, n)))

    # ---- several RDDs

    def union(self, other: RDD[U]) -> RDD[Union[T, U]]:
        """Of RDDs that are partitioned alike, each partition with the same one of the other."""
        return union_of([self, other])

    @in_engine(_typed.combine("glint_union"))
    def _followed_by(self, other: RDD, partitioner: Optional[Partitioner]) -> RDD:
        def made() -> Dataset:
            a, b = self._dataset(), other._dataset()
            if a.form != b.form or a.form not in LINES:
                a, b = self._blocks(), other._blocks()
            name = "glint_union" if partitioner is None else "glint_union_partitions"
            return Dataset(a.rdd.call(name, b.rdd), a.form, a, b)

        return RDD(self.ctx, Once(made, self, other), None, partitioner)

    __add__ = union

    @in_engine(_typed.combine("glint_intersection"))
    def intersection(self, other: RDD) -> RDD[T]:
        pairs = self._map(lambda v: (v, None)).cogroup(other._map(lambda v: (v, None)))
        return pairs.filter(lambda pair: all(pair[1])).keys()

    @in_engine(_typed.combine("glint_subtract"))
    def subtract(self, other: RDD, numPartitions: Optional[int] = None) -> RDD[T]:
        marked = other._map(lambda x: (x, True))
        return self._map(lambda x: (x, True)).subtractByKey(marked, numPartitions).keys()

    @in_engine(_typed.combine("glint_cartesian"))
    def cartesian(self, other: RDD[U]) -> RDD[tuple[T, U]]:
        left, right = self._elements(), _elements_of(other)

        def made() -> Dataset:
            a, b = left._blocks(), right._blocks()
            return Dataset(a.rdd.call("glint_cartesian", b.rdd), "cartesian", a, b)

        return RDD(self.ctx, Once(made, left, right), identity)

    @in_engine(_typed.combine("glint_zip"))
    def zip(self, other: RDD[U]) -> RDD[tuple[T, U]]:
        left, right = self._elements(), _elements_of(other)
        if left.getNumPartitions() != right.getNumPartitions():
            raise ValueError("Can only zip with RDD which has the same number of partitions")

        def made() -> Dataset:
            a, b = left._blocks(100), right._blocks(100)
            return Dataset(a.rdd.call("glint_zip", b.rdd), "zip", a, b)

        return RDD(self.ctx, Once(made, left, right), identity)

    # ---- partitions

    @in_engine(_typed.coalesce)
    def coalesce(self, numPartitions: int, shuffle: bool = False) -> RDD[T]:
        if not numPartitions > 0:
            raise ValueError("Number of partitions must be positive.")

        rdd, name = (self, "glint_coalesce") if not shuffle else (self._elements(),
                                                                  "glint_repartition")

        def made() -> Dataset:
            data = rdd._blocks(10) if shuffle else rdd._dataset()  # what is spread must be small
            return Dataset(data.rdd.call(name, numPartitions), data.form, data)

        return rdd._like(Once(made, rdd))

    def repartition(self, numPartitions: int) -> RDD[T]:
        return self.coalesce(numPartitions, shuffle=True)

    def _shuffled(self, scatter: Function, count: int, gather: Function,
                  partitioner: Optional[Partitioner]) -> RDD:
        if count == 0:
            return self
        mapped = self._then(scatter)
        shuffled = Once(lambda: self._workers.shuffle(mapped._applied("pairs"), count),
                        mapped._source)
        return RDD(self.ctx, shuffled, gather, partitioner)

    def _count(self, numPartitions: Optional[int]) -> int:
        """Of the partitions of a shuffle; none, if this RDD has none and no number is given."""
        if numPartitions is not None:
            return positive(numPartitions)
        return self.ctx._shuffle_partitions or self.getNumPartitions()

    @in_engine(_typed.partition_by)
    def partitionBy(self: RDD[tuple[K, V]], numPartitions: Optional[int],
                    partitionFunc: Hash = portable_hash) -> RDD[tuple[K, V]]:
        count = self._count(numPartitions)
        partitioner = Partitioner(count, partitionFunc)
        if self.partitioner == partitioner:
            return self
        place = _shuffle.FunctionPlace(partitionFunc, count)
        return self._shuffled(Whole(_shuffle.scatter_packed, place, 1, count), count,
                              Whole(_shuffle.gather), partitioner)

    @in_engine(_typed.transform("glint_distinct"))
    def distinct(self, numPartitions: Optional[int] = None) -> RDD[T]:
        return self._map(lambda x: (x, None)).reduceByKey(lambda x, _: x, numPartitions).keys()

    # ---- pairs

    @in_engine(_typed.transform("glint_keys"))
    def keys(self: RDD[tuple[K, V]]) -> RDD[K]:
        return self.map(lambda pair: pair[0])

    @in_engine(_typed.transform("glint_values"))
    def values(self: RDD[tuple[K, V]]) -> RDD[V]:
        return self.map(lambda pair: pair[1])

    def mapValues(self: RDD[tuple[K, V]], f: Callable[[V], U]) -> RDD[tuple[K, U]]:
        return self.map(lambda pair: (pair[0], f(pair[1])), preservesPartitioning=True)

    @in_engine(_typed.apply("glint_flat_map_values", "flatMapValues"))
    def flatMapValues(self: RDD[tuple[K, V]],
                      f: Union[str, Callable[[V], Iterable[U]]]) -> RDD[tuple[K, U]]:
        g = function_of(f, "flatMapValues")
        return self.flatMap(lambda pair: ((pair[0], x) for x in g(pair[1])),
                            preservesPartitioning=True)

    @in_engine(_typed.combine_by_key)
    def combineByKey(self: RDD[tuple[K, V]], createCombiner: Union[str, Callable[[V], U]],
                     mergeValue: Optional[Merge] = None, mergeCombiners: Optional[Merge] = None,
                     numPartitions: Optional[int] = None,
                     partitionFunc: Hash = portable_hash) -> RDD[tuple[K, U]]:
        """"count" alone: (key, how many values)."""
        if createCombiner == "count":
            return self._map(lambda pair: (pair[0], 1), True).reduceByKey(
                operator.add, numPartitions, partitionFunc)
        create = function_of(createCombiner, "combineByKey")
        if mergeValue is None or mergeCombiners is None:
            raise TypeError("combineByKey needs mergeValue and mergeCombiners")
        count, merge, merge_combiners = self._count(numPartitions), mergeValue, mergeCombiners
        place = _shuffle.HashPlace(partitionFunc, count)
        return self._shuffled(
            Whole(_shuffle.scatter_combined, place, create, merge), count,
            Whole(_shuffle.gather_combined, merge_combiners),
            Partitioner(count, partitionFunc))

    @in_engine(_typed.apply("glint_reduce_by_key", "reduceByKey"))
    def reduceByKey(self: RDD[tuple[K, V]], func: Reduce, numPartitions: Optional[int] = None,
                    partitionFunc: Hash = portable_hash) -> RDD[tuple[K, V]]:
        f = function_of(func, "reduceByKey")
        return self.combineByKey(same, f, f, numPartitions, partitionFunc)

    def aggregateByKey(self: RDD[tuple[K, V]], zeroValue: U, seqFunc: Merge, combFunc: Merge,
                       numPartitions: Optional[int] = None,
                       partitionFunc: Hash = portable_hash) -> RDD[tuple[K, U]]:
        return self.combineByKey(lambda v: seqFunc(copy.deepcopy(zeroValue), v), seqFunc, combFunc,
                                 numPartitions, partitionFunc)

    def foldByKey(self: RDD[tuple[K, V]], zeroValue: Any, func: Merge,
                  numPartitions: Optional[int] = None,
                  partitionFunc: Hash = portable_hash) -> RDD[tuple[K, V]]:
        return self.combineByKey(lambda v: func(copy.deepcopy(zeroValue), v), func, func,
                                 numPartitions, partitionFunc)

    @in_engine(_typed.transform("glint_mean_by_key"))
    def meanByKey(self: RDD[tuple[K, V]]) -> RDD[tuple[K, float]]:
        """(key, the mean of its numbers). PySpark's RDD does not have it."""
        return self.aggregateByKey(StatCounter(), StatCounter.merge, StatCounter.mergeStats) \
            .mapValues(StatCounter.mean)

    def _grouped(self, numPartitions: Optional[int], partitionFunc: Hash = portable_hash) -> RDD:
        count = self._count(numPartitions)
        place = _shuffle.HashPlace(partitionFunc, count)
        return self._shuffled(Whole(_shuffle.scatter, place), count, Whole(_shuffle.gather_grouped),
                              Partitioner(count, partitionFunc))

    def groupByKey(self: RDD[tuple[K, V]], numPartitions: Optional[int] = None,
                   partitionFunc: Hash = portable_hash) -> RDD[tuple[K, ResultIterable[V]]]:
        return self._grouped(numPartitions, partitionFunc).mapValues(ResultIterable)

    def groupBy(self, f: Callable[[T], K], numPartitions: Optional[int] = None,
                partitionFunc: Hash = portable_hash) -> RDD[tuple[K, ResultIterable[T]]]:
        return self._map(lambda x: (f(x), x)).groupByKey(numPartitions, partitionFunc)

    def _cogrouped(self, others: Sequence[RDD], numPartitions: Optional[int]) -> RDD:
        """(key, a list of values for each RDD). By default it has as many partitions as a union of
        the RDDs, as in PySpark: those of all, or of one if they are partitioned alike."""
        rdds = [self, *map(_elements_of, others)]
        sides = len(rdds)
        count = numPartitions if numPartitions is not None else (
            self.ctx._shuffle_partitions or _partitions_of_union(rdds))
        if count == 0:
            return self
        place = _shuffle.HashPlace(portable_hash, count)

        mapped = [rdd._then(Whole(_shuffle.scatter_side, place, side))
                  for side, rdd in enumerate(rdds)]

        def made() -> Dataset:
            union = reduce(lambda a, b: Dataset(a.rdd.call("glint_union", b.rdd), "buckets", a, b),
                           [rdd._applied("pairs") for rdd in mapped])
            return self._workers.shuffle(union, count)

        return RDD(self.ctx, Once(made, *(rdd._source for rdd in mapped)),
                   Whole(_shuffle.gather_sides, sides),
                   Partitioner(count, portable_hash))

    def _joined(self, other: RDD, numPartitions: Optional[int],
                join: Callable[[Any, Any], Iterable[Any]]) -> RDD:
        """The values that `join` gives for the lists of both sides."""
        return self._cogrouped([other], numPartitions)._then(
            lambda _, groups: ((key, x) for key, lists in groups for x in join(*lists)), True)

    def cogroup(self: RDD[tuple[K, V]], other: RDD[tuple[K, W]], numPartitions: Optional[int] = None
                ) -> RDD[tuple[K, tuple[ResultIterable[V], ResultIterable[W]]]]:
        return self._cogrouped([other], numPartitions)._map(_iterables, True)

    def groupWith(self: RDD[tuple[K, V]], other: RDD[tuple[K, Any]],
                  *others: RDD[tuple[K, Any]]) -> RDD[tuple[K, tuple[ResultIterable[Any], ...]]]:
        return self._cogrouped([other, *others], None)._map(_iterables, True)

    @in_engine(_typed.combine("glint_join"))
    def join(self: RDD[tuple[K, V]], other: RDD[tuple[K, W]],
             numPartitions: Optional[int] = None) -> RDD[tuple[K, tuple[V, W]]]:
        return self._joined(other, numPartitions,
                            lambda left, right: ((v, w) for v in left for w in right))

    @in_engine(_typed.combine("glint_left_outer_join"))
    def leftOuterJoin(self: RDD[tuple[K, V]], other: RDD[tuple[K, W]],
                      numPartitions: Optional[int] = None) -> RDD[tuple[K, tuple[V, Optional[W]]]]:
        return self._joined(other, numPartitions,
                            lambda left, right: ((v, w) for v in left for w in right or [None]))

    @in_engine(_typed.combine("glint_right_outer_join"))
    def rightOuterJoin(self: RDD[tuple[K, V]], other: RDD[tuple[K, W]],
                       numPartitions: Optional[int] = None) -> RDD[tuple[K, tuple[Optional[V], W]]]:
        return self._joined(other, numPartitions,
                            lambda left, right: ((v, w) for v in left or [None] for w in right))

    @in_engine(_typed.combine("glint_full_outer_join"))
    def fullOuterJoin(self: RDD[tuple[K, V]], other: RDD[tuple[K, W]],
                      numPartitions: Optional[int] = None
                      ) -> RDD[tuple[K, tuple[Optional[V], Optional[W]]]]:
        return self._joined(other, numPartitions,
                            lambda left, right: ((v, w) for v in left or [None]
                                                 for w in right or [None]))

    @in_engine(_typed.combine("glint_subtract_by_key"))
    def subtractByKey(self: RDD[tuple[K, V]], other: RDD[tuple[K, Any]],
                      numPartitions: Optional[int] = None) -> RDD[tuple[K, V]]:
        return self._joined(other, numPartitions,
                            lambda left, right: [] if right else left)

    # ---- actions

    @in_engine(_typed.rows("glint_collect"))
    def collect(self) -> list[T]:
        return self._act(self._blocks)

    def collectWithJobGroup(self, groupId: str, description: str,
                            interruptOnCancel: bool = False) -> list[Any]:
        warnings.warn("Deprecated in 3.1, Use pyspark.InheritableThread with the pinned thread "
                      "mode enabled.", FutureWarning, stacklevel=2)
        return self.collect()

    @in_engine(_typed.iterate)
    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[T]:
        """Saves no checkpoint, as in Spark."""
        return self._workers.iterate(self._elements()._blocks())

    def foreach(self, f: Callable[[T], Any]) -> None:
        def each(_: int, items: Iterator[Any]) -> Iterator[Any]:
            for x in items:
                f(x)
            return iter(())

        self._values(each)

    def foreachPartition(self, f: Callable[[Iterator[T]], Any]) -> None:
        def each(_: int, items: Iterator[Any]) -> list[Any]:
            made = f(items)
            if isinstance(made, Iterable):  # such as a generator, which has done nothing yet
                deque(made, 0)
            return []

        self._values(each)

    @in_engine(_typed.count)
    def count(self) -> int:
        return sum(self._values(Whole(count_items)))

    @in_engine(_typed.take)
    def take(self, num: int) -> list[T]:
        """The first; computes as few partitions as it can."""
        if num <= 0:
            return []
        return self._values(lambda _, items: islice(items, num), num, 1)

    @in_engine(_typed.first)
    def first(self) -> T:
        some = self.take(1)
        if some:
            return some[0]
        raise ValueError("RDD is empty")

    def isEmpty(self) -> bool:
        return not self.take(1)

    @in_engine(_typed.take_sample)
    def takeSample(self, withReplacement: bool, num: int,
                   seed: Optional[int] = None) -> list[T]:
        most = sys.maxsize - int(10.0 * math.sqrt(sys.maxsize))
        if num < 0:
            raise ValueError("Sample size cannot be negative.")
        if num > most:
            raise ValueError(f"Sample size cannot be greater than {most}.")
        count = self.count() if num > 0 else 0
        if count == 0:
            return []
        rand = random.Random(seed)
        if not withReplacement and num >= count:
            samples = self.collect()
            rand.shuffle(samples)
            return samples
        fraction = sample_fraction(num, count, withReplacement)
        samples = self.sample(withReplacement, fraction, seed).collect()
        while len(samples) < num:
            seed = rand.randint(0, sys.maxsize)
            samples = self.sample(withReplacement, fraction, seed).collect()
        rand.shuffle(samples)
        return samples[:num]

    @in_engine(_typed.reduce)
    def reduce(self, f: Reduce) -> T:
        g = function_of(f, "reduce")
        values = self._values(Whole(reduced_items, g))
        if values:
            return reduce_items(g, values)  # type: ignore[no-any-return]
        raise ValueError("Can not reduce() empty RDD")

    @in_engine(_typed.tree_reduce)
    def treeReduce(self, f: Reduce, depth: int = 2) -> T:
        g = function_of(f, "reduce")
        if depth < 1:
            raise ValueError(f"Depth cannot be smaller than 1 but got {depth}.")

        def merge(x: tuple[Any, bool], y: tuple[Any, bool]) -> tuple[Any, bool]:
            if x[1] or y[1]:
                return y if x[1] else x
            return g(x[0], y[0]), False

        zero: tuple[Any, bool] = (None, True)
        merged = self._map(lambda x: (x, False)).treeAggregate(zero, merge, merge, depth)
        if merged[1]:
            raise ValueError("Cannot reduce empty RDD.")
        return merged[0]  # type: ignore[no-any-return]

    def fold(self, zeroValue: U, op: Merge) -> U:
        return self.aggregate(zeroValue, op, op)

    def aggregate(self, zeroValue: U, seqOp: Merge, combOp: Merge) -> U:
        values = self._values(lambda _, items: [reduce_items(seqOp, items, zeroValue)])
        return reduce_items(combOp, values, zeroValue)  # type: ignore[no-any-return]

    def treeAggregate(self, zeroValue: U, seqOp: Merge, combOp: Merge, depth: int = 2) -> U:
        if depth < 1:
            raise ValueError(f"Depth cannot be smaller than 1 but got {depth}.")
        parts: float = self.getNumPartitions()
        if parts == 0:
            return zeroValue
        partial = self.mapPartitions(lambda items: [reduce(seqOp, items, zeroValue)])
        scale = max(int(math.ceil(pow(parts, 1.0 / depth))), 2)
        while parts > scale + parts / scale:
            parts /= scale
            partial = _by_group(partial, int(parts)).reduceByKey(combOp, int(parts)).values()
        return partial.reduce(combOp)

    @in_engine(_typed.greatest)
    def max(self, key: Optional[Callable[[T], Any]] = None) -> T:
        return self.reduce(max if key is None else lambda a, b: max(a, b, key=key))

    @in_engine(_typed.least)
    def min(self, key: Optional[Callable[[T], Any]] = None) -> T:
        return self.reduce(min if key is None else lambda a, b: min(a, b, key=key))

    @in_engine(_typed.count_by_value)
    def countByValue(self: RDD[K]) -> dict[K, int]:
        def each(_: int, items: Iterator[Any]) -> list[dict[Any, int]]:
            counts: dict[Any, int] = {}
            for x in items:
                counts[x] = counts.get(x, 0) + 1
            return [counts]

        def merge(total: dict[Any, int], counts: dict[Any, int]) -> dict[Any, int]:
            for value, count in counts.items():
                total[value] += count
            return total

        first: list[dict[Any, int]] = [defaultdict(int)]
        return reduce(merge, first + self._some_values(each))

    def countByKey(self: RDD[tuple[K, V]]) -> dict[K, int]:
        return self.keys().countByValue()

    @in_engine(_typed.top)
    def top(self, num: int, key: Optional[Callable[[T], Any]] = None) -> list[T]:
        some = self._some_values(lambda _, items: [heapq.nlargest(num, items, key)])
        return heapq.nlargest(num, chain.from_iterable(some), key)

    @in_engine(_typed.take_ordered)
    def takeOrdered(self, num: int, key: Optional[Callable[[T], Any]] = None) -> list[T]:
        if num < 0:
            raise ValueError("top N cannot be negative.")
        if num == 0:
            return []
        some = self._values(lambda _, items: heapq.nsmallest(num, items, key))
        return heapq.nsmallest(num, some, key)

    def collectAsMap(self: RDD[tuple[K, V]]) -> dict[K, V]:
        return dict(self.collect())

    @in_engine(_typed.reduce_by_key_locally)
    def reduceByKeyLocally(self: RDD[tuple[K, V]], func: Reduce) -> dict[K, V]:
        f = function_of(func, "reduceByKey")

        def merge_pair(out: dict[Any, Any], pair: tuple[Any, Any]) -> dict[Any, Any]:
            k, v = pair
            out[k] = f(out[k], v) if k in out else v
            return out

        def merge(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
            return reduce_items(merge_pair, pairs, {})  # type: ignore[no-any-return]

        return merge(pair for part in self._some_values(lambda _, pairs: [merge(pairs)])
                     for pair in part.items())

    def lookup(self: RDD[tuple[K, V]], key: K) -> list[V]:
        partitioner = self.partitioner

        def each(split: int, pairs: Iterator[Any]) -> list[Any]:
            # Workers agree on hashes of text; the driver has others.
            if partitioner is not None and partitioner(key) != split:
                return []
            return [v for k, v in pairs if k == key]

        return self._values(each)

    @in_engine(_typed.save_as_text_file)
    def saveAsTextFile(self, path: Any, compressionCodecClass: Optional[str] = None, *,
                       compress: bool = False) -> None:
        """A directory of parts with a line for each element, of pairs of known types key TAB value;
        compress writes gzip. What glint.Context saves appears when it ends without an error;
        textFile of this context may read it before."""
        if self.ctx._is_spark:
            codec = GZIP if compress and compressionCodecClass is None else compressionCodecClass
            save_parts(self, path, save_text_part(codec))
        else:
            lines = self._then(lambda _, items: map(text_of, items))._applied("lines")
            self._workers.act(lambda: _typed.save_as_text_file(
                lines.rdd, path, compressionCodecClass, compress=compress))

    def saveAsPickleFile(self, path: str, batchSize: int = 10) -> None:
        """Files that SparkContext.pickleFile of glint reads; not Hadoop's sequence files."""
        save_parts(self, path, save_pickle_part(batchSize))

    def collectEach(self, f: Callable[[T], object]) -> None:
        """Calls f(element) in this process, in order, without all elements in memory. An exception
        ends the action. PySpark's RDD does not have it."""
        if self._records is not None:
            return _typed.collect_each(self._records, f)
        for x in self.toLocalIterator():
            f(x)

    def getResourceProfile(self) -> None:
        """It has none."""


refuse_methods(RDD, "use saveAsTextFile or saveAsPickleFile; Hadoop's formats need the JVM",
               "saveAsNewAPIHadoopDataset", "saveAsNewAPIHadoopFile", "saveAsHadoopDataset",
               "saveAsHadoopFile", "saveAsSequenceFile")
refuse_methods(RDD, "tasks do not wait for each other; use mapPartitions", "barrier")
refuse_methods(RDD, "there are no resource profiles; use local[N] or the slots of a cluster",
               "withResources")
refuse_methods(RDD, "use toPandas, toPolars or toArrow, or PySpark itself", "toDF")


def _iterables(pair: tuple[Any, Any]) -> tuple[Any, tuple[ResultIterable[Any], ...]]:
    return pair[0], tuple(map(ResultIterable, pair[1]))


def _by_group(rdd: RDD, groups: int) -> RDD:
    return rdd._then(lambda i, items: ((i % groups, x) for x in items))


PipelinedRDD = RDD


def typed_rdd(ctx: Any, records: Records, form: Optional[str] = None) -> RDD:
    """An RDD of records whose types are known; `form` is what workers call them."""
    data = Dataset(records, form or records.form())
    made = RDD(ctx, Once(lambda: data))
    made._made, made._records = data, records
    return made


add_underscored(RDD)
