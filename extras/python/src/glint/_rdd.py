"""RDDs: transformations describe a dataset, actions compute it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Optional, Union

from ._actions import Actions, ReduceFunction, function_named, random_seed
from ._context import Context, cstring, positive
from ._engine import engine
from ._values import encode

Command = Union[str, Sequence[str]]
MapFunction = Literal["pair_with_one", "key_value"]
FlatMapFunction = Literal["split_words"]
FlatMapValuesFunction = Literal["parse_i64", "parse_f64"]
CombineFunction = Literal["count"]


class RDD(Actions):
    """A dataset: single elements, or pairs (key, value). Names and semantics are Spark's; a method
    says where it differs. Elements are str, bytes, int or float; the value of a join is a tuple."""

    def __init__(self, context: Context, pointer: Any) -> None:
        self.context = context
        self._pointer = pointer

    def __del__(self) -> None:
        # In any thread, at any time: the context frees it at its next call. RDDs that descend from
        # this one keep what they need.
        self.context._unused.append(self._pointer)

    # ---- elements and partitions

    def map(self, f: MapFunction) -> RDD:
        """pair_with_one: "a" to ("a", 1). key_value: a line, split at its first tab; the value is
        empty without one."""
        return self._call("glint_map", *function_named(f, MapFunction))

    def flatMap(self, f: FlatMapFunction) -> RDD:
        """split_words: the words of a line, separated by white space of ASCII."""
        return self._call("glint_flat_map", *function_named(f, FlatMapFunction))

    def flatMapValues(self, f: FlatMapValuesFunction) -> RDD:
        """parse_i64, parse_f64: the number that the value, a str, is in decimal. Other values are
        bad rows: an error, unless the context's bad_rows is "skip"."""
        return self._call("glint_flat_map_values", *function_named(f, FlatMapValuesFunction))

    def pipe(
        self,
        command: Command,
        env: Optional[Mapping[str, str]] = None,
        checkCode: bool = True,
        *,
        ok: Iterable[int] = (0,),
    ) -> RDD:
        """The lines that a command prints, given the lines of a partition: the elements, or key TAB
        value, which must be str or bytes. One process per partition. There is no shell: a str is
        split as by shlex.split. `env` is added to the environment; a status that is not in `ok` is
        an error, unless checkCode is False, which is Spark's default."""
        ffi, _ = engine()
        words = shlex.split(command) if isinstance(command, str) else command
        statuses = list(ok if checkCode else range(256))
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

    def distinct(self, numPartitions: Optional[int] = None) -> RDD:
        return self._call("glint_distinct", partitions=numPartitions)

    def sample(
        self, withReplacement: bool, fraction: float, seed: Optional[int] = None
    ) -> RDD:
        """Each record with this probability; with replacement so many times on average. The same
        seed chooses the same ones; without a seed they are others in each call."""
        if not isinstance(withReplacement, bool):
            raise TypeError("sample(withReplacement, fraction, seed): the first is a bool")
        if not fraction >= 0:
            raise ValueError("Fraction must be nonnegative.")
        if withReplacement:
            return self._call("glint_sample_with_replacement", fraction, random_seed(seed))
        return self._call("glint_sample", min(fraction, 1), random_seed(seed))

    def randomSplit(self, weights: Sequence[float], seed: Optional[int] = None) -> list[RDD]:
        """Each record is in exactly one of the RDDs, chosen by weight."""
        ffi, lib = engine()
        self.context._open()
        out = ffi.new("struct glint_rdd *[]", len(weights))
        lib.glint_random_split(
            self._pointer, ffi.new("double[]", weights), len(weights), random_seed(seed), out
        )
        made = [RDD(self.context, pointer) for pointer in out if pointer]
        if len(made) < len(out):
            raise self.context._error()
        return made

    def union(self, other: RDD) -> RDD:
        return self._with(other, "glint_union")

    def intersection(self, other: RDD) -> RDD:
        return self._with(other, "glint_intersection")

    def subtract(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._with(other, "glint_subtract", numPartitions)

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

    def repartition(self, numPartitions: int) -> RDD:
        return self._call("glint_repartition", positive(numPartitions))

    def coalesce(self, numPartitions: int, shuffle: bool = False) -> RDD:
        name = "glint_repartition" if shuffle else "glint_coalesce"
        return self._call(name, positive(numPartitions))

    def persist(self, storageLevel: str = "memory") -> RDD:
        """Keeps the records for later actions: "memory", "disk", or "both", first in memory."""
        levels = {"memory": 1, "disk": 2, "both": 3}
        if storageLevel not in levels:
            raise ValueError('storageLevel must be "memory", "disk" or "both"')
        return self._set("glint_persist", levels[storageLevel])

    def cache(self) -> RDD:
        """Keeps the records in memory for later actions."""
        return self._set("glint_cache")

    def unpersist(self) -> RDD:
        """Removes the records that persist kept."""
        return self._set("glint_unpersist")

    def checkpoint(self, path: str) -> RDD:
        """Saves the records in a new directory now; returns an RDD that reads them from there."""
        return self.context._rdd(engine()[1].glint_checkpoint, self._pointer, cstring(path))

    def setName(self, name: str) -> RDD:
        """Names the RDD: plans, events and errors show it."""
        return self._set("glint_with_name", cstring(name))

    def withPartitions(self, numPartitions: int) -> RDD:
        """Sets the number of partitions of this shuffle, and of those that follow it."""
        return self._set("glint_with_partitions", positive(numPartitions))

    def getNumPartitions(self) -> int:
        """How many there are, which cannot be changed after this call."""
        _, lib = engine()
        self.context._open()
        count = int(self.context._call(lib.glint_partitions, self._pointer))
        if count == 0:
            raise self.context._error()
        return count

    # ---- pairs

    def keys(self) -> RDD:
        return self._call("glint_keys")

    def values(self) -> RDD:
        return self._call("glint_values")

    def reduceByKey(self, func: ReduceFunction, numPartitions: Optional[int] = None) -> RDD:
        """One pair per key. A function's name ends with the type of the values: i64 is int, f64
        float, text str. A sum_i64 that needs more than 64 bits is an error
        (E0504); concat_text, first and the last ones follow the order of values."""
        words = function_named(func, ReduceFunction)
        return self._call("glint_reduce_by_key", *words, partitions=numPartitions)

    def combineByKey(self, function: CombineFunction = "count") -> RDD:
        """count: (key, how many values). Spark's takes three functions instead."""
        return self._call("glint_combine_by_key", *function_named(function, CombineFunction))

    def meanByKey(self) -> RDD:
        """(key, the mean of its int or float values)."""
        return self._call("glint_mean_by_key")

    def sampleByKey(
        self, withReplacement: bool, fractions: Mapping[Any, float], seed: Optional[int] = None
    ) -> RDD:
        """As sample, with a fraction for each key; a key without one is an error."""
        ffi, _ = engine()
        if not all(fraction >= 0 for fraction in fractions.values()):
            raise ValueError("Fraction must be nonnegative.")
        schema, records, count, _kept = encode(fractions)
        if count > 0 and schema.value != self._schema().key:
            raise TypeError("the keys of the fractions have another type than those of the RDD")
        packed = ffi.new("struct glint_fraction[]", count)
        for i, fraction in enumerate(fractions.values()):
            packed[i].key, packed[i].fraction = records[i].value, fraction
        return self._call("glint_sample_by_key", withReplacement, packed, count, random_seed(seed))

    def partitionBy(self, numPartitions: int) -> RDD:
        return self._call("glint_partition_by", positive(numPartitions))

    def sortByKey(self, ascending: bool = True, numPartitions: Optional[int] = None) -> RDD:
        """Stable; text in the order of its bytes, NaN last."""
        return self._call("glint_sort_by_key", ascending, partitions=numPartitions)

    def join(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        """(key, (left, right)); None where an outer join has no value."""
        return self._with(other, "glint_join", numPartitions)

    def leftOuterJoin(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._with(other, "glint_left_outer_join", numPartitions)

    def rightOuterJoin(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._with(other, "glint_right_outer_join", numPartitions)

    def fullOuterJoin(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._with(other, "glint_full_outer_join", numPartitions)

    def subtractByKey(self, other: RDD, numPartitions: Optional[int] = None) -> RDD:
        return self._with(other, "glint_subtract_by_key", numPartitions)

    # ---- calls

    def _call(self, name: str, *arguments: Any, partitions: Optional[int] = None) -> RDD:
        """A transformation, whose shuffle makes so many partitions."""
        _, lib = engine()
        made = self.context._rdd(getattr(lib, name), self._pointer, *arguments)
        return made if partitions is None else made.withPartitions(partitions)

    def _set(self, name: str, *arguments: Any) -> RDD:
        """Changes a property of this RDD."""
        _, lib = engine()
        self.context._check(self.context._call(getattr(lib, name), self._pointer, *arguments))
        return self

    def _with(self, other: RDD, name: str, partitions: Optional[int] = None) -> RDD:
        if not isinstance(other, RDD):
            raise TypeError(f"an RDD is needed, not {type(other).__name__}")
        if other.context is not self.context:
            raise ValueError("both RDDs must be of the same context")
        return self._call(name, other._pointer, partitions=partitions)

    # ---- names with underscores

    flat_map = flatMap
    flat_map_values = flatMapValues
    random_split = randomSplit
    zip_with_index = zipWithIndex
    zip_with_unique_id = zipWithUniqueId
    sample_by_key = sampleByKey
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
