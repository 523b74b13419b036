"""RDDs: transformations describe a dataset, actions compute it."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Optional, Union

from ._context import Context, Path, cstring
from ._engine import engine
from ._values import decode, decode_all, encode

Command = Union[str, Sequence[str]]
MapFunction = Literal["pair_with_one", "key_value"]
FlatMapFunction = Literal["split_words"]
FlatMapValuesFunction = Literal["parse_i64", "parse_f64"]
ReduceFunction = Literal[
    "sum_i64", "sum_f64", "or_i64", "min_i64", "min_f64", "min_text", "max_i64", "max_f64",
    "max_text", "concat_text", "first", "last_i64", "last_f64", "last_text"
]
CombineFunction = Literal["count"]


@dataclasses.dataclass(frozen=True)
class Stats:
    """Of numbers. Variances are NaN of no values, those of a sample also of one value."""

    count: int
    mean: float
    sum: float
    min: float
    max: float
    variance: float
    stdev: float
    sample_variance: float
    sample_stdev: float


class RDD:
    """A dataset: single elements, or pairs (key, value). Names and semantics are Spark's; a method
    says where it differs. Elements are str, bytes, int or float; the value of a join is a tuple."""

    def __init__(self, context: Context, pointer: Any) -> None:
        self.context = context
        self._pointer = pointer

    # ---- elements and partitions

    def map(self, function: MapFunction) -> RDD:
        """pair_with_one: "a" to ("a", 1). key_value: a line, split at its first tab; the value is
        empty without one."""
        return self._call("glint_map", *_function(function, MapFunction))

    def flatMap(self, function: FlatMapFunction) -> RDD:
        """split_words: the words of a line, separated by white space of ASCII."""
        return self._call("glint_flat_map", *_function(function, FlatMapFunction))

    def flatMapValues(self, function: FlatMapValuesFunction) -> RDD:
        """parse_i64, parse_f64: the number that the value, a str, is in decimal. Other values are
        bad rows: an error, unless the context's bad_rows is "skip"."""
        return self._call("glint_flat_map_values", *_function(function, FlatMapValuesFunction))

    def pipe(
        self,
        command: Command,
        env: Optional[Mapping[str, str]] = None,
        ok: Iterable[int] = (0,),
    ) -> RDD:
        """The lines that a command prints, given the lines of a partition: the elements, or key TAB
        value, which must be str or bytes. One process per partition. There is no shell: a str is
        split as by shlex.split. `env` is added to the environment; a status that is not in `ok` is
        an error."""
        ffi, _ = engine()
        words = shlex.split(command) if isinstance(command, str) else command
        statuses = list(ok)
        if not all(0 <= status <= 255 for status in statuses):
            raise ValueError("exit statuses are from 0 to 255")
        argv = [ffi.new("char[]", cstring(word)) for word in words]
        pairs = [ffi.new("char[]", cstring(f"{name}={text}")) for name, text in (env or {}).items()]
        described = {
            "argv": ffi.new("char *[]", [*argv, ffi.NULL]),
            "env": ffi.new("char *[]", [*pairs, ffi.NULL]),
            "ok": ffi.new("int[]", [*statuses, -1]),
        }
        return self._call("glint_pipe_command", ffi.new("struct glint_command *", described))

    def distinct(self) -> RDD:
        return self._call("glint_distinct")

    def sample(self, fraction: float, seed: int = 0, withReplacement: bool = False) -> RDD:
        """Each record with this probability; with replacement so many times on average. The same
        seed chooses the same ones."""
        name = "glint_sample_with_replacement" if withReplacement else "glint_sample"
        return self._call(name, fraction, seed)

    def randomSplit(self, weights: Sequence[float], seed: int = 0) -> list[RDD]:
        """Each record is in exactly one of the RDDs, chosen by weight."""
        ffi, lib = engine()
        self.context._open()
        out = ffi.new("struct glint_rdd *[]", len(weights))
        lib.glint_random_split(
            self._pointer, ffi.new("double[]", weights), len(weights), seed, out
        )
        return [self.context._rdd(pointer) for pointer in out]

    def union(self, other: RDD) -> RDD:
        return self._with(other, "glint_union")

    def intersection(self, other: RDD) -> RDD:
        return self._with(other, "glint_intersection")

    def subtract(self, other: RDD) -> RDD:
        return self._with(other, "glint_subtract")

    def zip(self, other: RDD) -> RDD:
        """Pairs of the elements at equal places. Both have as many partitions, and as many elements
        in each: else an error."""
        return self._with(other, "glint_zip")

    def zipWithIndex(self) -> RDD:
        return self._call("glint_zip_with_index")

    def zipWithUniqueId(self) -> RDD:
        return self._call("glint_zip_with_unique_id")

    def cartesian(self, other: RDD) -> RDD:
        """Each element with each element of the other."""
        return self._with(other, "glint_cartesian")

    def glom(self) -> RDD:
        """A tuple of the elements of each partition."""
        return self._call("glint_glom")

    def repartition(self, partitions: int) -> RDD:
        return self._call("glint_repartition", partitions)

    def coalesce(self, partitions: int) -> RDD:
        return self._call("glint_coalesce", partitions)

    def persist(self, level: str = "memory") -> RDD:
        """Keeps the records for later actions: "memory", "disk", or "both", first in memory."""
        levels = {"memory": 1, "disk": 2, "both": 3}
        if level not in levels:
            raise ValueError('level must be "memory", "disk" or "both"')
        self._call("glint_persist", levels[level])
        return self

    def cache(self) -> RDD:
        """Keeps the records in memory for later actions."""
        self._call("glint_cache")
        return self

    def unpersist(self) -> RDD:
        """Removes the records that persist kept."""
        self._call("glint_unpersist")
        return self

    def checkpoint(self, path: str) -> RDD:
        """Saves the records in a new directory now; returns an RDD that reads them from there."""
        save, made = engine()[1].glint_checkpoint, dict[int, Any]()
        action = lambda *words: 0 if made.setdefault(0, save(*words)) else -1  # noqa: E731
        self.context._run(action, self._pointer, cstring(path))
        return self.context._rdd(made[0])

    def setName(self, name: str) -> RDD:
        """The RDD with a name, which plans, events and errors show."""
        return self._call("glint_with_name", cstring(name))

    def withPartitions(self, partitions: int) -> RDD:
        """Sets the number of partitions of this shuffle, as numPartitions does in Spark."""
        return self._call("glint_with_partitions", partitions)

    def getNumPartitions(self) -> int:
        """How many there are, which cannot be changed after this call."""
        _, lib = engine()
        self.context._open()
        count = int(lib.glint_partitions(self._pointer))
        if count == 0:
            raise self.context._error()
        return count

    # ---- pairs

    def keys(self) -> RDD:
        return self._call("glint_keys")

    def values(self) -> RDD:
        return self._call("glint_values")

    def reduceByKey(self, function: ReduceFunction) -> RDD:
        """One pair per key. A function's name ends with the type of the values: i64 is int, f64
        float, text str. sum_i64 wraps around; concat_text, first and the last ones
        follow the order of values."""
        return self._call("glint_reduce_by_key", *_function(function, ReduceFunction))

    def combineByKey(self, function: CombineFunction = "count") -> RDD:
        """count: (key, how many values)."""
        return self._call("glint_combine_by_key", *_function(function, CombineFunction))

    def meanByKey(self) -> RDD:
        """(key, the mean of its int or float values)."""
        return self._call("glint_mean_by_key")

    def sampleByKey(
        self, withReplacement: bool, fractions: Mapping[Any, float], seed: int = 0
    ) -> RDD:
        """As sample, with a fraction for each key; a key without one is an error."""
        ffi, _ = engine()
        schema, records, count, _kept = encode(fractions)
        if count > 0 and schema.value != self._schema().key:
            raise TypeError("the keys of the fractions have another type than those of the RDD")
        packed = ffi.new("struct glint_fraction[]", count)
        for i, fraction in enumerate(fractions.values()):
            packed[i].key, packed[i].fraction = records[i].value, fraction
        return self._call("glint_sample_by_key", withReplacement, packed, count, seed)

    def partitionBy(self, partitions: int) -> RDD:
        return self._call("glint_partition_by", partitions)

    def sortByKey(self, ascending: bool = True) -> RDD:
        """Stable; text in the order of its bytes, NaN last."""
        return self._call("glint_sort_by_key", ascending)

    def join(self, other: RDD) -> RDD:
        """(key, (left, right)); None where an outer join has no value."""
        return self._with(other, "glint_join")

    def leftOuterJoin(self, other: RDD) -> RDD:
        return self._with(other, "glint_left_outer_join")

    def rightOuterJoin(self, other: RDD) -> RDD:
        return self._with(other, "glint_right_outer_join")

    def fullOuterJoin(self, other: RDD) -> RDD:
        return self._with(other, "glint_full_outer_join")

    def subtractByKey(self, other: RDD) -> RDD:
        return self._with(other, "glint_subtract_by_key")

    # ---- actions

    def collect(self) -> list[Any]:
        return self._rows("glint_collect")

    def collectEach(self, function: Callable[[Any], object]) -> None:
        """Calls function(row) in this process, in order, without all rows in memory; computes
        partitions in parallel. An exception ends the action."""
        ffi, lib = engine()
        context, raised = self.context, list[BaseException]()
        context._open()
        schema = self._schema()

        def row(_: Any, record: Any) -> int:
            try:
                function(decode(schema, record[0]))
            except BaseException as error:
                raised.append(error)
            return len(raised)

        called = ffi.callback("int(void *, const struct glint_record *)", row)
        try:
            context._run(lib.glint_collect_each, self._pointer, called, ffi.NULL)
        except BaseException as error:
            if not raised or isinstance(error, KeyboardInterrupt):
                raise
        if raised:
            raise raised[0]

    def toLocalIterator(self) -> Iterator[Any]:
        """The records, one by one. Computes one partition at a time, when its first record is
        needed."""
        ffi, lib = engine()
        self.context._open()
        iterator = ffi.gc(lib.glint_to_local_iterator(self._pointer), lib.glint_iterator_close)
        if not iterator:
            raise self.context._error()
        schema, record = self._schema(), ffi.new("struct glint_record *")
        while self.context._run(lib.glint_iterator_next, iterator, record) > 0:
            yield decode(schema, record[0])

    def collectAsMap(self) -> dict[Any, Any]:
        return dict(self._rows("glint_collect_as_map"))

    def count(self) -> int:
        return int(self._result("glint_count", "int64_t"))

    def countByKey(self) -> dict[Any, int]:
        return dict(self._rows("glint_count_by_key"))

    def countByValue(self) -> dict[Any, int]:
        """Of single elements only."""
        return dict(self._rows("glint_count_by_value"))

    def take(self, count: int) -> list[Any]:
        return self._rows("glint_take", count)

    def takeSample(self, withReplacement: bool, count: int, seed: int = 0) -> list[Any]:
        """So many records, chosen at random, in random order; without replacement at most all."""
        return self._rows("glint_take_sample", withReplacement, count, seed)

    def takeOrdered(self, count: int) -> list[Any]:
        """The smallest, by (key, value)."""
        return self._rows("glint_take_ordered", count)

    def top(self, count: int) -> list[Any]:
        """The largest, by (key, value)."""
        return self._rows("glint_top", count)

    def first(self) -> Any:
        return _only(self.take(1))

    def min(self) -> Any:
        return _only(self.takeOrdered(1))

    def max(self) -> Any:
        return _only(self.top(1))

    def reduce(self, function: ReduceFunction) -> Any:
        """All values merged into one, in order."""
        return self._reduce("glint_reduce", function)

    def treeReduce(self, function: ReduceFunction, depth: int = 2) -> Any:
        """reduce of many partitions, of which tasks merge groups."""
        return self._reduce("glint_tree_reduce", function, depth)

    def reduceByKeyLocally(self, function: ReduceFunction) -> dict[Any, Any]:
        return dict(
            self._rows("glint_reduce_by_key_locally", *_function(function, ReduceFunction))
        )

    def countApproxDistinct(self) -> int:
        """About how many different records there are; the standard error is 0.8 %."""
        return int(self._result("glint_count_approx_distinct", "int64_t"))

    def sum(self) -> Union[int, float]:
        """The sum of numbers, which are the elements or the values; of int it wraps around."""
        _, lib = engine()
        kind = self._number_type("sum")
        total = self._result("glint_sum", "union glint_value")
        return int(total.i64) if kind == lib.GLINT_I64 else float(total.f64)

    def stats(self) -> Stats:
        self._number_type("stats")
        out = self._result("glint_stats", "struct glint_stats")
        return Stats(*(getattr(out, field.name) for field in dataclasses.fields(Stats)))

    def mean(self) -> float:
        return self.stats().mean

    def variance(self) -> float:
        return self.stats().variance

    def stdev(self) -> float:
        return self.stats().stdev

    def sampleVariance(self) -> float:
        return self.stats().sample_variance

    def sampleStdev(self) -> float:
        return self.stats().sample_stdev

    def histogram(self, buckets: Union[int, Sequence[float]]) -> tuple[list[float], list[int]]:
        """The bounds and the counts of so many buckets of equal width, or of those with these
        bounds. A bucket contains its lower bound, the last one also its upper bound."""
        ffi, lib = engine()
        self._number_type("histogram")
        if isinstance(buckets, int):
            if buckets < 1:
                raise ValueError("a histogram has at least one bucket")
            if self.isEmpty():
                raise ValueError("the RDD is empty")
            count, bounds = ffi.new("uint32_t *", buckets), ffi.new("double[]", buckets + 1)
            self.context._run(lib.glint_histogram_bounds, self._pointer, count, bounds)
            size = count[0]
        else:
            size = len(buckets) - 1
            if size < 1 or not all(a < b for a, b in zip(buckets, buckets[1:])):
                raise ValueError("the bounds of a histogram are at least two, and ascend")
            bounds = ffi.new("double[]", list(buckets))
        counts = ffi.new("int64_t[]", size)
        self.context._run(lib.glint_histogram, self._pointer, bounds, size, counts)
        return list(bounds)[: size + 1], list(counts)

    def isEmpty(self) -> bool:
        return bool(self._result("glint_is_empty", "bool"))

    def saveAsTextFile(self, path: Path, compress: bool = False) -> None:
        """A directory of parts with one line per element, or key TAB value; compress writes gzip.
        It appears when the context ends without an error; textFile of this context may read it
        before."""
        _, lib = engine()
        name = "glint_save_as_gzip_text_file" if compress else "glint_save_as_text_file"
        self.context._open()
        self.context._saved = True
        self.context._run(getattr(lib, name), self._pointer, cstring(path))

    def __repr__(self) -> str:
        return f"<glint.RDD of {self.context!r}>"

    # ---- calls

    def _schema(self) -> Any:
        _, lib = engine()
        self.context._open()
        return lib.glint_schema(self._pointer)

    def _number_type(self, name: str) -> int:
        _, lib = engine()
        kind = int(self._schema().value)
        if kind not in (lib.GLINT_I64, lib.GLINT_F64):
            raise TypeError(f"{name} needs values that are int or float")
        return kind

    def _reduce(self, name: str, function: str, *arguments: Any) -> Any:
        if self.isEmpty():
            raise ValueError("the RDD is empty")
        return _only(self._rows(name, *_function(function, ReduceFunction), *arguments))

    def _call(self, name: str, *arguments: Any) -> RDD:
        """A transformation."""
        _, lib = engine()
        self.context._open()
        return self.context._rdd(getattr(lib, name)(self._pointer, *arguments))

    def _with(self, other: RDD, name: str) -> RDD:
        if not isinstance(other, RDD):
            raise TypeError(f"an RDD is needed, not {type(other).__name__}")
        if other.context is not self.context:
            raise ValueError("both RDDs must be of the same context")
        return self._call(name, other._pointer)

    def _rows(self, name: str, *arguments: Any) -> list[Any]:
        ffi, lib = engine()
        rows = ffi.new("struct glint_rows *")
        try:
            self.context._run(getattr(lib, name), self._pointer, *arguments, rows)
            return decode_all(rows)
        finally:
            lib.glint_rows_free(rows)

    def _result(self, name: str, kind: str) -> Any:
        ffi, lib = engine()
        out = ffi.new(kind + " *")
        self.context._run(getattr(lib, name), self._pointer, out)
        return out[0]

    # ---- names with underscores

    flat_map = flatMap
    flat_map_values = flatMapValues
    random_split = randomSplit
    zip_with_index = zipWithIndex
    zip_with_unique_id = zipWithUniqueId
    sample_by_key = sampleByKey
    to_local_iterator = toLocalIterator
    take_sample = takeSample
    tree_reduce = treeReduce
    reduce_by_key_locally = reduceByKeyLocally
    count_approx_distinct = countApproxDistinct
    sample_variance = sampleVariance
    sample_stdev = sampleStdev
    set_name = setName
    with_partitions = withPartitions
    get_num_partitions = getNumPartitions
    reduce_by_key = reduceByKey
    combine_by_key = combineByKey
    mean_by_key = meanByKey
    partition_by = partitionBy
    sort_by_key = sortByKey
    left_outer_join = leftOuterJoin
    right_outer_join = rightOuterJoin
    full_outer_join = fullOuterJoin
    subtract_by_key = subtractByKey
    collect_each = collectEach
    collect_as_map = collectAsMap
    count_by_key = countByKey
    count_by_value = countByValue
    take_ordered = takeOrdered
    is_empty = isEmpty
    save_as_text_file = saveAsTextFile


def _function(name: str, kind: Any) -> tuple[Any, Any]:
    """The library's function of this name, which must be one of `kind`, and no arguments for it."""
    ffi, lib = engine()
    if name not in kind.__args__:
        raise ValueError(
            f"no built-in function {name!r} here, but {', '.join(kind.__args__)}; commands run by "
            "pipe"
        )
    return ffi.addressof(lib, "GLINT_" + name.upper()), ffi.NULL


def _only(rows: list[Any]) -> Any:
    if not rows:
        raise ValueError("the RDD is empty")
    return rows[0]
