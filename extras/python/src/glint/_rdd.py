"""RDDs: transformations describe a dataset, actions compute it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Optional, Union

from ._context import Context, Path, cstring
from ._engine import engine
from ._values import decode, decode_all

Command = Union[str, Sequence[str]]
MapFunction = Literal["pair_with_one", "key_value"]
FlatMapFunction = Literal["split_words"]
FlatMapValuesFunction = Literal["parse_i64", "parse_f64"]
ReduceFunction = Literal[
    "sum_i64", "sum_f64", "or_i64", "min_i64", "min_f64", "min_text", "max_i64", "max_f64",
    "max_text", "concat_text", "first", "last_i64", "last_f64", "last_text"
]
CombineFunction = Literal["count"]


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

    def sample(self, fraction: float, seed: int = 0) -> RDD:
        """Each record with this probability, without replacement. The same seed chooses the same
        ones."""
        return self._call("glint_sample", fraction, seed)

    def union(self, other: RDD) -> RDD:
        return self._with(other, "glint_union")

    def intersection(self, other: RDD) -> RDD:
        return self._with(other, "glint_intersection")

    def subtract(self, other: RDD) -> RDD:
        return self._with(other, "glint_subtract")

    def zipWithIndex(self) -> RDD:
        return self._call("glint_zip_with_index")

    def repartition(self, partitions: int) -> RDD:
        return self._call("glint_repartition", partitions)

    def coalesce(self, partitions: int) -> RDD:
        return self._call("glint_coalesce", partitions)

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
        """Calls function(row) in this process, in order, without all rows in memory: in place of
        Spark's toLocalIterator. An exception ends the action."""
        ffi, lib = engine()
        context, raised = self.context, list[BaseException]()
        context._open()
        schema = lib.glint_schema(self._pointer)

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

    def sum(self) -> Union[int, float]:
        """The sum of numbers, which are the elements or the values; of int it wraps around."""
        _, lib = engine()
        self.context._open()
        kind = lib.glint_schema(self._pointer).value
        if kind not in (lib.GLINT_I64, lib.GLINT_F64):
            raise TypeError("sum needs values that are int or float")
        total = self._result("glint_sum", "union glint_value")
        return int(total.i64) if kind == lib.GLINT_I64 else float(total.f64)

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
    zip_with_index = zipWithIndex
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
