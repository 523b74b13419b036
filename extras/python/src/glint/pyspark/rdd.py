"""RDD, with the names, parameters and results of PySpark 4.3. Transformations compose functions of
(partition, iterator) until a shuffle, a cache or an action; then workers run the chain."""

from __future__ import annotations

import heapq
import math
import operator
import os
import random
import shlex
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Optional, Union

from .. import _shuffle
from .._functions import filter_items, flat_map_items, map_items
from .._names import function_of
from .._shuffle import portable_hash, same
from ._column_methods import ColumnMethods
from ._data import Dataset, identity
from ._sampling import RangeSampler, Sampler, StratifiedSampler, sample_fraction
from ._saving import save_pickle_part, save_text_part
from .errors import PySparkRuntimeError, not_here
from .resultiterable import ResultIterable
from .statcounter import StatCounter
from .storagelevel import StorageLevel

if TYPE_CHECKING:
    from .context import SparkContext

Function = Callable[[int, Iterator[Any]], Iterable[Any]]
Hash = Callable[[Any], int]
SORT_RANGES = 16  # of a partition, so that a worker sorts a part of it at a time
SAMPLE_PER_RANGE = 20


class Partitioner:
    """How many partitions, and what chooses one. Equal ones need no shuffle."""

    def __init__(self, numPartitions: int, partitionFunc: Hash) -> None:
        self.numPartitions = numPartitions
        self.partitionFunc = partitionFunc

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Partitioner) and self.numPartitions == other.numPartitions
                and self.partitionFunc == other.partitionFunc)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, k: Any) -> int:
        return self.partitionFunc(k) % self.numPartitions


def _partitions_of_union(rdds: Sequence[RDD]) -> int:
    counts, by = [rdd.getNumPartitions() for rdd in rdds], rdds[0].partitioner
    alike = by is not None and all(rdd.partitioner == by for rdd in rdds)
    return counts[0] if alike and len(set(counts)) == 1 else sum(counts)


def compose(first: Optional[Function], then: Function) -> Function:
    if first is None:
        return then
    before = first
    return lambda split, items: then(split, iter(before(split, items)))


def _stop_iteration_is_an_error(f: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        try:
            return f(*arguments)
        except StopIteration as error:
            raise RuntimeError("a function raised StopIteration") from error

    return call


class RDD(ColumnMethods):
    """Elements of any type of Python, in partitions."""

    def __init__(self, ctx: SparkContext, source: Callable[[], Dataset],
                 function: Optional[Function] = None,
                 partitioner: Optional[Partitioner] = None) -> None:
        self.ctx = ctx
        self._source = source  # what the function reads
        self._function = function
        self.partitioner = partitioner
        self._made: Optional[Dataset] = None
        self._computed: Optional[list[Any]] = None  # batches, for Arrow's stream interface
        self.is_cached = False
        self.is_checkpointed = False
        self._level = StorageLevel.NONE
        self._local_checkpoint = False
        self._kind = "PythonRDD"  # for its repr
        self._checkpoint_file: Optional[str] = None
        self._id = ctx._next_rdd_id()
        self._name: Optional[str] = None

    __class_getitem__: Any = classmethod(GenericAlias)  # programs annotate RDD[T]

    def __repr__(self) -> str:
        name = f"{self._name} " if self._name else ""
        return f"{name}{self._kind}[{self._id}] of {self.ctx!r}"

    def __getnewargs__(self) -> Any:
        raise PySparkRuntimeError(
            "[RDD_TRANSFORM_ONLY_VALID_ON_DRIVER] It appears that you are attempting to broadcast "
            "an RDD or reference an RDD from an action or transformation. RDD transformations and "
            "actions can only be invoked by the driver, not inside of other transformations")

    __reduce__ = __getnewargs__

    # ---- how it is computed

    def _dataset(self) -> Dataset:
        if self._made is None:
            data = self._source()
            if self._function is not None:
                data = self.ctx._workers.apply(data, self._function)
            self._keep(data)
        assert self._made is not None
        return self._made

    def _keep(self, data: Dataset) -> None:
        self._made = data
        if self._name is not None:
            data.rdd.setName(self._name)
        if self.is_cached:
            self._persist()

    def _blocks(self, size: int = 0) -> Dataset:
        return self.ctx._workers.blocks(self._dataset(), size)

    def _then(self, function: Function, preserves: bool = False) -> RDD:
        """The elements that the function gives; in the same worker, unless this RDD is kept."""
        partitioner = self.partitioner if preserves else None
        if self.is_cached or self.is_checkpointed or self._made is not None:
            return RDD(self.ctx, self._dataset, function, partitioner)
        return RDD(self.ctx, self._source, compose(self._function, function), partitioner)

    def _apply(self, function: Function, output: str = "blocks", block: int = 0) -> Dataset:
        """As _then, now."""
        then = self._then(function)
        if then._function is None:
            return then._dataset()
        return self.ctx._workers.apply(then._source(), then._function, output, block)

    def _values(self, function: Function) -> list[Any]:
        """The elements that the function gives, as an action."""
        self._do_checkpoint()
        return list(self.ctx._workers.collect(self._apply(function)))

    def _do_checkpoint(self) -> None:
        if not self.is_checkpointed or self._checkpoint_file is not None:
            return
        if self._local_checkpoint:
            return
        path = os.path.join(self.ctx._checkpoint_dir or "", f"rdd-{self._id}")
        self._checkpoint_file = path
        os.makedirs(self.ctx._checkpoint_dir or "", exist_ok=True)
        self.saveAsPickleFile(path)
        self._made = self.ctx._pickle_parts(path)._dataset()

    def id(self) -> int:
        return self._id

    @property
    def context(self) -> SparkContext:
        return self.ctx

    def name(self) -> Optional[str]:
        return self._name

    def setName(self, name: str) -> RDD:
        self._name = name
        return self

    def toDebugString(self) -> Optional[bytes]:
        source = self._source()
        lines = [f"({self.getNumPartitions()}) PythonRDD[{self._id}] of {source.form}",
                 *(f" |  {data.origin}" for data in source.lineage())]
        return "\n".join(lines).encode()

    def getNumPartitions(self) -> int:
        if self._made is not None:
            return self._made.rdd.getNumPartitions()
        return self._source().rdd.getNumPartitions()

    def cache(self) -> RDD:
        return self.persist(StorageLevel.MEMORY_ONLY)

    def persist(self, storageLevel: StorageLevel = StorageLevel.MEMORY_ONLY) -> RDD:
        """What does not fit into a quarter of the memory is written to disk, or computed again."""
        if self.is_cached and storageLevel != self._level:
            raise PySparkRuntimeError("Cannot change storage level of an RDD after it was already "
                                      "assigned a level")
        self.is_cached, self._level = True, storageLevel
        if self._made is not None:
            self._persist()
        return self

    def _persist(self) -> None:
        level = {(True, True): "both", (True, False): "disk"}.get(
            (self._level.useDisk, self._level.useMemory), "memory")
        assert self._made is not None
        self._made.rdd.persist(level)

    def unpersist(self, blocking: bool = False) -> RDD:
        if self.is_cached and self._made is not None:
            self._made.rdd.unpersist()
        self.is_cached, self._level = False, StorageLevel.NONE
        return self

    def getStorageLevel(self) -> StorageLevel:
        return self._level

    def checkpoint(self) -> None:
        if self.ctx._checkpoint_dir is None:
            raise PySparkRuntimeError("Checkpoint directory has not been set in the SparkContext")
        self.is_checkpointed = True

    def isCheckpointed(self) -> bool:
        return self._checkpoint_file is not None or self._local_checkpoint

    def localCheckpoint(self) -> None:
        self._local_checkpoint = True
        if not self.is_cached:
            self.persist(StorageLevel.MEMORY_AND_DISK)

    def isLocallyCheckpointed(self) -> bool:
        return self._local_checkpoint

    def getCheckpointFile(self) -> Optional[str]:
        return self._checkpoint_file

    def cleanShuffleDependencies(self, blocking: bool = False) -> None:
        """Map outputs are freed with their RDDs."""

    # ---- elements

    def map(self, f: Callable[[Any], Any], preservesPartitioning: bool = False) -> RDD:
        g = function_of(f, "map")
        return self._then(lambda _, items: map_items(g, items), preservesPartitioning)

    def flatMap(self, f: Callable[[Any], Iterable[Any]],
                preservesPartitioning: bool = False) -> RDD:
        g = function_of(f, "flatMap")
        return self._then(lambda _, items: flat_map_items(g, items), preservesPartitioning)

    def filter(self, f: Callable[[Any], bool]) -> RDD:
        return self._then(lambda _, items: filter_items(f, items), True)

    def mapPartitions(self, f: Callable[[Iterator[Any]], Iterable[Any]],
                      preservesPartitioning: bool = False) -> RDD:
        return self._then(lambda _, items: f(items), preservesPartitioning)

    def mapPartitionsWithIndex(self, f: Function, preservesPartitioning: bool = False) -> RDD:
        return self._then(f, preservesPartitioning)

    def mapPartitionsWithSplit(self, f: Function, preservesPartitioning: bool = False) -> RDD:
        warnings.warn("mapPartitionsWithSplit is deprecated; use mapPartitionsWithIndex instead",
                      FutureWarning, stacklevel=2)
        return self.mapPartitionsWithIndex(f, preservesPartitioning)

    def keyBy(self, f: Callable[[Any], Any]) -> RDD:
        return self.map(lambda x: (f(x), x))

    def glom(self) -> RDD:
        return self._then(lambda _, items: [list(items)])

    def pipe(self, command: str, env: Optional[dict[str, str]] = None,
             checkCode: bool = False) -> RDD:
        """Lines of a command that gets each element's str as a line."""
        words, variables = shlex.split(command), {} if env is None else dict(env)

        def through(_: int, items: Iterator[Any]) -> Iterator[str]:
            import subprocess
            import threading

            process = subprocess.Popen(words, env=variables or None, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
            assert process.stdin is not None and process.stdout is not None
            feed, failed = process.stdin, list[BaseException]()

            def write() -> None:
                try:
                    with feed:
                        for x in items:
                            feed.write((str(x).rstrip("\n") + "\n").encode())
                except BrokenPipeError:  # it reads no more
                    pass
                except BaseException as error:
                    failed.append(error)

            thread = threading.Thread(target=write)
            thread.start()
            for line in process.stdout:
                yield line.rstrip(b"\n").decode("utf-8")
            thread.join()
            if failed:
                raise failed[0]
            if process.wait() != 0 and checkCode:
                raise PySparkRuntimeError(
                    f"Pipe function `{command}` exited with error code {process.returncode}")

        return self._then(through)

    def sample(self, withReplacement: bool, fraction: float, seed: Optional[int] = None) -> RDD:
        if not fraction >= 0:
            raise ValueError("Fraction must be nonnegative.")
        return self._then(Sampler(withReplacement, fraction, seed), True)

    def sampleByKey(self, withReplacement: bool, fractions: dict[Any, float],
                    seed: Optional[int] = None) -> RDD:
        for fraction in fractions.values():
            assert fraction >= 0.0, f"Negative fraction value: {fraction}"
        return self._then(StratifiedSampler(withReplacement, fractions, seed), True)

    def randomSplit(self, weights: Sequence[float], seed: Optional[int] = None) -> list[RDD]:
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

    def zipWithIndex(self) -> RDD:
        starts = [0]
        if self.getNumPartitions() > 1:
            for count in self._values(lambda _, items: [sum(1 for _ in items)]):
                starts.append(starts[-1] + count)
        return self._then(lambda k, items: ((x, i) for i, x in enumerate(items, starts[k])))

    def zipWithUniqueId(self) -> RDD:
        n = self.getNumPartitions()
        return self._then(lambda k, items: ((x, i * n + k) for i, x in enumerate(items)))

    # ---- several RDDs

    def union(self, other: RDD) -> RDD:
        def made() -> Dataset:
            a, b = self._dataset(), other._dataset()
            if a.form != b.form or a.form not in ("text", "lines"):
                a, b = self._blocks(), other._blocks()
            return Dataset(a.rdd.union(b.rdd), a.form, a, b)

        return RDD(self.ctx, made)

    __add__ = union

    def intersection(self, other: RDD) -> RDD:
        pairs = self.map(lambda v: (v, None)).cogroup(other.map(lambda v: (v, None)))
        return pairs.filter(lambda pair: all(pair[1])).keys()

    def subtract(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        marked = other.map(lambda x: (x, True))
        return self.map(lambda x: (x, True)).subtractByKey(marked, numPartitions).keys()

    def cartesian(self, other: RDD) -> RDD:
        def made() -> Dataset:
            a, b = self._blocks(), other._blocks()
            return Dataset(a.rdd.cartesian(b.rdd), "cartesian", a, b)

        return RDD(self.ctx, made, identity)

    def zip(self, other: RDD) -> RDD:
        if self.getNumPartitions() != other.getNumPartitions():
            raise ValueError("Can only zip with RDD which has the same number of partitions")

        def made() -> Dataset:
            a, b = self._blocks(100), other._blocks(100)
            return Dataset(a.rdd.zip(b.rdd), "zip", a, b)

        return RDD(self.ctx, made, identity)

    # ---- partitions

    def coalesce(self, numPartitions: int, shuffle: bool = False) -> RDD:
        if not numPartitions > 0:
            raise ValueError("Number of partitions must be positive.")

        def made() -> Dataset:
            if shuffle:  # records are spread, so they must be small
                small = self._blocks(10)
                return Dataset(small.rdd.repartition(numPartitions), "blocks", small)
            data = self._dataset()
            return Dataset(data.rdd.coalesce(numPartitions), data.form, data)

        return RDD(self.ctx, made)

    def repartition(self, numPartitions: int) -> RDD:
        return self.coalesce(numPartitions, shuffle=True)

    def _shuffled(self, scatter: Function, count: int, gather: Callable[[Any], Iterable[Any]],
                  partitioner: Optional[Partitioner]) -> RDD:
        def made() -> Dataset:
            return self.ctx._workers.shuffle(self._apply(scatter, "pairs"), count)

        return RDD(self.ctx, made, lambda _, buckets: gather(buckets), partitioner)

    def _count(self, numPartitions: Optional[int]) -> int:
        """Of the partitions of a shuffle."""
        if numPartitions is not None:
            if numPartitions < 1:
                raise ValueError("Number of partitions must be positive.")
            return numPartitions
        if self.ctx._conf.contains("spark.default.parallelism"):
            return self.ctx.defaultParallelism
        return self.getNumPartitions()

    def partitionBy(self, numPartitions: Optional[int],
                    partitionFunc: Hash = portable_hash) -> RDD:
        count = self._count(numPartitions)
        partitioner = Partitioner(count, partitionFunc)
        if self.partitioner == partitioner:
            return self
        place = _shuffle.place_in_partition(partitionFunc, count)
        return self._shuffled(lambda _, pairs: _shuffle.scatter(pairs, place), count,
                              _shuffle.gather, partitioner)

    def repartitionAndSortWithinPartitions(
        self, numPartitions: Optional[int] = None, partitionFunc: Hash = portable_hash,
        ascending: bool = True, keyfunc: Callable[[Any], Any] = same,
    ) -> RDD:
        count = self._count(numPartitions)
        place = _shuffle.place_in_partition(partitionFunc, count)
        return self._shuffled(
            lambda _, pairs: _shuffle.scatter(pairs, place), count,
            lambda buckets: _shuffle.gather_sorted(buckets, keyfunc, ascending),
            Partitioner(count, partitionFunc))

    def sortByKey(self, ascending: Optional[bool] = True, numPartitions: Optional[int] = None,
                  keyfunc: Callable[[Any], Any] = same) -> RDD:
        """Partitions, and parts of them, are ranges of keys, whose bounds a sample gives."""
        count, up = self._count(numPartitions), bool(ascending)
        ranges = count * SORT_RANGES
        most = max(100, 3 * ranges * SAMPLE_PER_RANGE // max(self.getNumPartitions(), 1))

        def sampled(split: int, pairs: Iterator[Any]) -> list[Any]:
            chosen: list[Any] = []
            seen, rand = 0, random.Random(split)
            for key, _ in pairs:
                seen += 1
                if len(chosen) < most:
                    chosen.append(key)
                elif (at := int(rand.random() * seen)) < most:
                    chosen[at] = key
            return [(chosen, seen / len(chosen))] if chosen else []

        keys = [(keyfunc(key), weight) for some, weight in self._values(sampled) for key in some]
        if not keys:  # as in PySpark
            return self
        keys.sort(key=lambda pair: pair[0])
        total, passed = sum(weight for _, weight in keys), 0.0
        bounds: list[Any] = []
        for key, weight in keys:
            passed += weight
            while len(bounds) < ranges - 1 and passed * ranges >= total * (len(bounds) + 1):
                bounds.append(key)
        place = _shuffle.place_by_range(bounds, keyfunc, up, ranges - 1)
        return self._shuffled(
            lambda _, pairs: _shuffle.scatter(pairs, place, SORT_RANGES), count,
            lambda buckets: _shuffle.gather_sorted(buckets, keyfunc, up),
            Partitioner(count, lambda key: place(key) // SORT_RANGES))

    def sortBy(self, keyfunc: Callable[[Any], Any], ascending: bool = True,
               numPartitions: Optional[int] = None) -> RDD:
        return self.keyBy(keyfunc).sortByKey(ascending, numPartitions).values()

    def distinct(self, numPartitions: Optional[int] = None) -> RDD:
        return self.map(lambda x: (x, None)).reduceByKey(lambda x, _: x, numPartitions).map(
            lambda pair: pair[0])

    # ---- pairs

    def keys(self) -> RDD:
        return self.map(lambda pair: pair[0])

    def values(self) -> RDD:
        return self.map(lambda pair: pair[1])

    def mapValues(self, f: Callable[[Any], Any]) -> RDD:
        return self.map(lambda pair: (pair[0], f(pair[1])), preservesPartitioning=True)

    def flatMapValues(self, f: Callable[[Any], Iterable[Any]]) -> RDD:
        g = function_of(f, "flatMapValues")
        return self.flatMap(lambda pair: ((pair[0], x) for x in g(pair[1])),
                            preservesPartitioning=True)

    def combineByKey(self, createCombiner: Callable[[Any], Any],
                     mergeValue: Callable[[Any, Any], Any],
                     mergeCombiners: Callable[[Any, Any], Any],
                     numPartitions: Optional[int] = None,
                     partitionFunc: Hash = portable_hash) -> RDD:
        count = self._count(numPartitions)
        place = _shuffle.HashPlace(partitionFunc, count)
        return self._shuffled(
            lambda _, pairs: _shuffle.scatter_combined(pairs, place, createCombiner, mergeValue),
            count, lambda buckets: _shuffle.gather_combined(buckets, mergeCombiners),
            Partitioner(count, partitionFunc))

    def reduceByKey(self, func: Callable[[Any, Any], Any], numPartitions: Optional[int] = None,
                    partitionFunc: Hash = portable_hash) -> RDD:
        f = function_of(func, "reduceByKey")
        return self.combineByKey(same, f, f, numPartitions, partitionFunc)

    def aggregateByKey(self, zeroValue: Any, seqFunc: Callable[[Any, Any], Any],
                       combFunc: Callable[[Any, Any], Any], numPartitions: Optional[int] = None,
                       partitionFunc: Hash = portable_hash) -> RDD:
        import copy

        return self.combineByKey(lambda v: seqFunc(copy.deepcopy(zeroValue), v), seqFunc, combFunc,
                                 numPartitions, partitionFunc)

    def foldByKey(self, zeroValue: Any, func: Callable[[Any, Any], Any],
                  numPartitions: Optional[int] = None,
                  partitionFunc: Hash = portable_hash) -> RDD:
        import copy

        return self.combineByKey(lambda v: func(copy.deepcopy(zeroValue), v), func, func,
                                 numPartitions, partitionFunc)

    def _grouped(self, numPartitions: Optional[int], partitionFunc: Hash = portable_hash) -> RDD:
        count = self._count(numPartitions)
        place = _shuffle.HashPlace(partitionFunc, count)
        return self._shuffled(lambda _, pairs: _shuffle.scatter(pairs, place), count,
                              _shuffle.gather_grouped, Partitioner(count, partitionFunc))

    def groupByKey(self, numPartitions: Optional[int] = None,
                   partitionFunc: Hash = portable_hash) -> RDD:
        return self._grouped(numPartitions, partitionFunc).mapValues(ResultIterable)

    def groupBy(self, f: Callable[[Any], Any], numPartitions: Optional[int] = None,
                partitionFunc: Hash = portable_hash) -> RDD:
        return self.map(lambda x: (f(x), x)).groupByKey(numPartitions, partitionFunc)

    def _cogrouped(self, others: Sequence[RDD], numPartitions: Optional[int]) -> RDD:
        """(key, a list of values for each RDD). By default it has as many partitions as a union of
        the RDDs, as in PySpark: those of all, or of one if they are partitioned alike."""
        rdds = [self, *others]
        sides = len(rdds)
        count = numPartitions if numPartitions is not None else (
            self.ctx.defaultParallelism if self.ctx._conf.contains("spark.default.parallelism")
            else _partitions_of_union(rdds))
        place = _shuffle.HashPlace(portable_hash, count)

        def scattered(side: int) -> Dataset:
            return rdds[side]._apply(
                lambda _, pairs: _shuffle.scatter(pairs, place, side=side), "pairs")

        def made() -> Dataset:
            parts = [scattered(side) for side in range(sides)]
            union = reduce(lambda a, b: Dataset(a.rdd.union(b.rdd), "buckets", a, b), parts)
            return self.ctx._workers.shuffle(union, count)

        return RDD(self.ctx, made, lambda _, buckets: _shuffle.gather_sides(buckets, sides),
                   Partitioner(count, portable_hash))

    def _joined(self, other: RDD, numPartitions: Optional[int],
                join: Callable[[Any, Any], Iterable[Any]]) -> RDD:
        """The values that `join` gives for the lists of both sides."""
        return self._cogrouped([other], numPartitions)._then(
            lambda _, groups: ((key, x) for key, lists in groups for x in join(*lists)), True)

    def cogroup(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._cogrouped([other], numPartitions).mapValues(
            lambda lists: tuple(ResultIterable(values) for values in lists))

    def groupWith(self, other: RDD, *others: RDD) -> RDD:
        return self._cogrouped([other, *others], None).mapValues(
            lambda lists: tuple(ResultIterable(values) for values in lists))

    def join(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._joined(other, numPartitions,
                            lambda left, right: ((v, w) for v in left for w in right))

    def leftOuterJoin(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._joined(other, numPartitions,
                            lambda left, right: ((v, w) for v in left for w in right or [None]))

    def rightOuterJoin(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._joined(other, numPartitions,
                            lambda left, right: ((v, w) for v in left or [None] for w in right))

    def fullOuterJoin(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._joined(other, numPartitions,
                            lambda left, right: ((v, w) for v in left or [None]
                                                 for w in right or [None]))

    def subtractByKey(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._joined(other, numPartitions,
                            lambda left, right: [] if right else left)

    # ---- actions

    def collect(self) -> list[Any]:
        self._do_checkpoint()
        return list(self.ctx._workers.collect(self._blocks()))

    def collectWithJobGroup(self, groupId: str, description: str,
                            interruptOnCancel: bool = False) -> list[Any]:
        warnings.warn("Deprecated in 3.1, Use pyspark.InheritableThread with the pinned thread "
                      "mode enabled.", FutureWarning, stacklevel=2)
        return self.collect()

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[Any]:
        self._do_checkpoint()
        return self.ctx._workers.iterate(self._blocks())

    def foreach(self, f: Callable[[Any], None]) -> None:
        def each(_: int, items: Iterator[Any]) -> Iterator[Any]:
            for x in items:
                f(x)
            return iter(())

        self._values(each)

    def foreachPartition(self, f: Callable[[Iterator[Any]], Any]) -> None:
        def each(_: int, items: Iterator[Any]) -> Iterator[Any]:
            f(items)
            return iter(())

        self._values(each)

    def count(self) -> int:
        return sum(self._values(lambda _, items: [sum(1 for _ in items)]))

    def take(self, num: int) -> list[Any]:
        """The first; computes as few partitions as it can."""
        self._do_checkpoint()
        if num <= 0:
            return []
        first = self._apply(lambda _, items: islice(items, num), block=1)
        return list(self.ctx._workers.collect(first, num))

    def first(self) -> Any:
        some = self.take(1)
        if some:
            return some[0]
        raise ValueError("RDD is empty")

    def isEmpty(self) -> bool:
        return not self.take(1)

    def takeSample(self, withReplacement: bool, num: int,
                   seed: Optional[int] = None) -> list[Any]:
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

    def reduce(self, f: Callable[[Any, Any], Any]) -> Any:
        g = _stop_iteration_is_an_error(function_of(f, "reduce"))

        def each(_: int, items: Iterator[Any]) -> Iterator[Any]:
            for first in items:
                yield reduce(g, items, first)

        values = self._values(each)
        if values:
            return reduce(g, values)
        raise ValueError("Can not reduce() empty RDD")

    def treeReduce(self, f: Callable[[Any, Any], Any], depth: int = 2) -> Any:
        g = function_of(f, "treeReduce")
        if depth < 1:
            raise ValueError(f"Depth cannot be smaller than 1 but got {depth}.")

        def merge(x: tuple[Any, bool], y: tuple[Any, bool]) -> tuple[Any, bool]:
            if x[1] or y[1]:
                return y if x[1] else x
            return g(x[0], y[0]), False

        merged = self.map(lambda x: (x, False)).treeAggregate((None, True), merge, merge, depth)
        if merged[1]:
            raise ValueError("Cannot reduce empty RDD.")
        return merged[0]

    def fold(self, zeroValue: Any, op: Callable[[Any, Any], Any]) -> Any:
        return self.aggregate(zeroValue, op, op)

    def aggregate(self, zeroValue: Any, seqOp: Callable[[Any, Any], Any],
                  combOp: Callable[[Any, Any], Any]) -> Any:
        seq, comb = map(_stop_iteration_is_an_error, (seqOp, combOp))
        values = self._values(lambda _, items: [reduce(seq, items, zeroValue)])
        return reduce(comb, values, zeroValue)

    def treeAggregate(self, zeroValue: Any, seqOp: Callable[[Any, Any], Any],
                      combOp: Callable[[Any, Any], Any], depth: int = 2) -> Any:
        if depth < 1:
            raise ValueError(f"Depth cannot be smaller than 1 but got {depth}.")
        parts: float = self.getNumPartitions()
        partial = self.mapPartitions(lambda items: [reduce(seqOp, items, zeroValue)])
        scale = max(int(math.ceil(pow(parts, 1.0 / depth))), 2)
        while parts > scale + parts / scale:
            parts /= scale
            partial = _by_group(partial, int(parts)).reduceByKey(combOp, int(parts)).values()
        return partial.reduce(combOp)

    def max(self, key: Optional[Callable[[Any], Any]] = None) -> Any:
        return self.reduce(max if key is None else lambda a, b: max(a, b, key=key))

    def min(self, key: Optional[Callable[[Any], Any]] = None) -> Any:
        return self.reduce(min if key is None else lambda a, b: min(a, b, key=key))

    def sum(self) -> Any:
        return self.mapPartitions(lambda items: [sum(items)]).fold(0, operator.add)

    def stats(self) -> StatCounter:
        return self.mapPartitions(lambda items: [StatCounter(items)]).reduce(  # type: ignore
            lambda a, b: a.mergeStats(b))

    def mean(self) -> Any:
        return self.stats().mean()

    def variance(self) -> Any:
        return self.stats().variance()

    def stdev(self) -> Any:
        return self.stats().stdev()

    def sampleStdev(self) -> Any:
        return self.stats().sampleStdev()

    def sampleVariance(self) -> Any:
        return self.stats().sampleVariance()

    def histogram(self, buckets: Union[int, Sequence[Any]]) -> tuple[Sequence[Any], list[int]]:
        from ._histogram import bounds_of, count_in

        bounds, even = bounds_of(self, buckets)
        if even is not None and len(bounds) == 2 and bounds[0] == bounds[1]:
            return bounds, [self.filter(_is_comparable).count()]
        counts = self._values(lambda _, items: [count_in(items, bounds, even)])
        return bounds, [sum(column) for column in zip(*counts)]

    def countByValue(self) -> dict[Any, int]:
        def each(_: int, items: Iterator[Any]) -> list[dict[Any, int]]:
            counts: dict[Any, int] = {}
            for x in items:
                counts[x] = counts.get(x, 0) + 1
            return [counts]

        total: dict[Any, int] = defaultdict(int)
        for counts in self._values(each):
            for value, count in counts.items():
                total[value] += count
        return total

    def countByKey(self) -> dict[Any, int]:
        return self.keys().countByValue()

    def top(self, num: int, key: Optional[Callable[[Any], Any]] = None) -> list[Any]:
        some = self._values(lambda _, items: heapq.nlargest(num, items, key))
        return heapq.nlargest(num, some, key)

    def takeOrdered(self, num: int, key: Optional[Callable[[Any], Any]] = None) -> list[Any]:
        if num < 0:
            raise ValueError("top N cannot be negative.")
        if num == 0:
            return []
        some = self._values(lambda _, items: heapq.nsmallest(num, items, key))
        return heapq.nsmallest(num, some, key)

    def collectAsMap(self) -> dict[Any, Any]:
        return dict(self.collect())

    def reduceByKeyLocally(self, func: Callable[[Any, Any], Any]) -> dict[Any, Any]:
        f = _stop_iteration_is_an_error(function_of(func, "reduceByKey"))

        def merge(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
            out: dict[Any, Any] = {}
            for k, v in pairs:
                out[k] = f(out[k], v) if k in out else v
            return out

        return merge(pair for part in self._values(lambda _, pairs: [merge(pairs)])
                     for pair in part.items())

    def lookup(self, key: Any) -> list[Any]:
        partitioner = self.partitioner

        def each(split: int, pairs: Iterator[Any]) -> list[Any]:
            # Workers agree on hashes of text; the driver has others.
            if partitioner is not None and partitioner(key) != split:
                return []
            return [v for k, v in pairs if k == key]

        return self._values(each)

    def countApprox(self, timeout: int, confidence: float = 0.95) -> int:
        return self.count()

    def sumApprox(self, timeout: int, confidence: float = 0.95) -> BoundedFloat:
        return BoundedFloat(float(self.sum()), 1.0)

    def meanApprox(self, timeout: int, confidence: float = 0.95) -> BoundedFloat:
        return BoundedFloat(float(self.mean()), 1.0)

    def countApproxDistinct(self, relativeSD: float = 0.05) -> int:
        from ._histogram import estimate_distinct, registers_of

        if relativeSD < 0.000017:
            raise ValueError("relativeSD should be greater than 0.000017")
        bits = max(4, int(math.ceil(2 * math.log2(1.054 / relativeSD))))
        parts = self._values(lambda _, items: [registers_of(items, bits)])
        return estimate_distinct(bytes(map(max, *parts, bytes(1 << bits))), bits)

    def saveAsTextFile(self, path: str, compressionCodecClass: Optional[str] = None) -> None:
        self.ctx._save(self, path, save_text_part(compressionCodecClass))

    def saveAsPickleFile(self, path: str, batchSize: int = 10) -> None:
        """Files that SparkContext.pickleFile of glint reads; not Hadoop's sequence files."""
        self.ctx._save(self, path, save_pickle_part(batchSize))

    def __getattr__(self, name: str) -> Any:
        if name in _NOT_HERE:
            raise not_here(f"RDD.{name}", _NOT_HERE[name])
        raise AttributeError(f"'RDD' object has no attribute {name!r}")


_HADOOP = "use saveAsTextFile or saveAsPickleFile; Hadoop's formats need the JVM"
_NOT_HERE = {name: _HADOOP for name in (
    "saveAsNewAPIHadoopDataset", "saveAsNewAPIHadoopFile", "saveAsHadoopDataset",
    "saveAsHadoopFile", "saveAsSequenceFile")}
_NOT_HERE["barrier"] = "tasks do not wait for each other; use mapPartitions"
_NOT_HERE["withResources"] = _NOT_HERE["getResourceProfile"] = "there are no resource profiles"
_NOT_HERE["toDF"] = "collect() and a DataFrame of pandas or Polars, or PySpark itself"


class BoundedFloat(float):
    """A float and its bounds; here it is exact."""

    confidence: float
    low: float
    high: float

    def __new__(cls, mean: float, confidence: float, low: Optional[float] = None,
                high: Optional[float] = None) -> BoundedFloat:
        self = float.__new__(cls, mean)
        self.confidence = confidence
        self.low = mean if low is None else low
        self.high = mean if high is None else high
        return self


def _is_comparable(x: Any) -> bool:
    return x is not None and not (type(x) is float and math.isnan(x))


def _by_group(rdd: RDD, groups: int) -> RDD:
    return rdd._then(lambda i, items: ((i % groups, x) for x in items))


PipelinedRDD = RDD
