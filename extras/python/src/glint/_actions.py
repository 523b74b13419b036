"""What computes an RDD, and gives the result to this process."""

from __future__ import annotations

import dataclasses
import operator
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Optional, Union

from ._context import Context, Path, cstring
from ._engine import engine
from ._errors import Error
from ._values import CHUNK, decode, decode_all, decode_many

ReduceFunction = Literal[
    "sum_i64", "sum_f64", "or_i64", "min_i64", "min_f64", "min_text", "max_i64", "max_f64",
    "max_text", "concat_text", "first", "last_i64", "last_f64", "last_text"
]

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


class Actions:
    """The actions of an RDD."""

    context: Context
    _pointer: Any

    def collect(self) -> list[Any]:
        return self._rows("glint_collect")

    def collectEach(self, f: Callable[[Any], object]) -> None:
        """Calls f(row) in this process, in order, without all rows in memory; computes
        partitions in parallel. An exception ends the action."""
        ffi, lib = engine()
        context, raised = self.context, list[BaseException]()
        context._open()
        schema = self._schema()

        def row(_: Any, record: Any) -> int:
            try:
                f(decode(schema, record))
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
        made = self.context._check(self.context._call(lib.glint_to_local_iterator, self._pointer))
        iterator = ffi.gc(made, lib.glint_iterator_close)
        schema, records = self._schema(), ffi.new("struct glint_record[]", CHUNK)
        while count := self.context._run(lib.glint_iterator_take, iterator, CHUNK, records):
            yield from decode_many(schema, records, count)

    def collectAsMap(self) -> dict[Any, Any]:
        return dict(self._rows("glint_collect_as_map"))

    def toArrow(self) -> Any:
        """A pyarrow.Table: the column "value", or the columns _1 and _2 of pairs."""
        import pyarrow

        ffi, lib = engine()
        schema = self._schema()
        kinds = {lib.GLINT_I64: pyarrow.int64(), lib.GLINT_F64: pyarrow.float64(),
                 lib.GLINT_TEXT: pyarrow.string(), lib.GLINT_BYTES: pyarrow.binary()}
        pairs = schema.key != lib.GLINT_NONE
        types = [kinds.get(kind) for kind in ((schema.key, schema.value) if pairs else
                                              (schema.value,))]
        names = ["_1", "_2"] if pairs else ["value"]
        if None in types:
            raise TypeError("values of joins are tuples of any types: they are no column")
        rows = self._rows("glint_collect")
        lists: list[Any] = (list(zip(*rows)) or [(), ()]) if pairs else [rows]
        arrays = [pyarrow.array(values, kind) for values, kind in zip(lists, types)]
        return pyarrow.table(arrays, names)

    def count(self) -> int:
        return int(self._result("glint_count", "int64_t"))

    def countByKey(self) -> dict[Any, int]:
        return dict(self._rows("glint_count_by_key"))

    def countByValue(self) -> dict[Any, int]:
        """Of single elements only."""
        return dict(self._rows("glint_count_by_value"))

    def take(self, num: int) -> list[Any]:
        """The first; a negative number is 0, as in Spark."""
        return self._rows("glint_take", _at_most(num))

    def takeSample(
        self, withReplacement: bool, num: int, seed: Optional[int] = None
    ) -> list[Any]:
        """So many records, chosen at random, in random order; without replacement at most all."""
        if num < 0:
            raise ValueError("Sample size cannot be negative.")
        if num > _SAMPLE_MAX:
            raise ValueError(f"Sample size cannot be greater than {_SAMPLE_MAX}.")
        return self._rows("glint_take_sample", withReplacement, num, random_seed(seed))

    def takeOrdered(self, num: int) -> list[Any]:
        """The smallest, by (key, value)."""
        if num < 0:
            raise ValueError("top N cannot be negative.")
        return self._rows("glint_take_ordered", _at_most(num))

    def top(self, num: int) -> list[Any]:
        """The largest, by (key, value); a negative number is 0, as in Spark."""
        return self._rows("glint_top", _at_most(num))

    def first(self) -> Any:
        return _only(self.take(1))

    def min(self) -> Any:
        return _only(self.takeOrdered(1))

    def max(self) -> Any:
        return _only(self.top(1))

    def reduce(self, f: ReduceFunction) -> Any:
        """All values merged into one, in order."""
        return self._reduce("glint_reduce", f)

    def treeReduce(self, f: ReduceFunction, depth: int = 2) -> Any:
        """reduce of many partitions, of which tasks merge groups."""
        if depth < 1:
            raise ValueError(f"Depth cannot be smaller than 1 but got {depth}.")
        return self._reduce("glint_tree_reduce", f, depth)

    def reduceByKeyLocally(self, func: ReduceFunction) -> dict[Any, Any]:
        words = function_named(func, ReduceFunction)
        return dict(self._rows("glint_reduce_by_key_locally", *words))

    def countApproxDistinct(self) -> int:
        """About how many different records there are; the standard error is 0.8 %."""
        return int(self._result("glint_count_approx_distinct", "int64_t"))

    def sum(self) -> Union[int, float]:
        """The sum of numbers, which are the elements or the values. That of int is exact."""
        _, lib = engine()
        if self._schema().value not in (lib.GLINT_I64, lib.GLINT_F64) and self.isEmpty():
            return 0
        if self._number_type("sum") == lib.GLINT_F64:
            return float(self._result("glint_sum", "union glint_value").f64)
        total = self._result("glint_wide_sum", "struct glint_wide_sum")
        return (int(total.high) << 64) + int(total.low)

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
        bounds. A bucket contains its lower bound, the last one also its upper bound. NaN is in
        none."""
        ffi, lib = engine()
        self._number_type("histogram")
        if isinstance(buckets, int):
            return self._even_histogram(buckets)
        size = len(buckets) - 1
        if size < 1 or not all(a < b for a, b in zip(buckets, buckets[1:])):
            raise ValueError("the bounds of a histogram are at least two, and ascend")
        for bound in buckets:
            if isinstance(bound, int) and float(bound) != bound:
                raise ValueError(f"no float has exactly the bound {bound}")
        bounds, counts = ffi.new("double[]", list(buckets)), ffi.new("int64_t[]", size)
        self.context._run(lib.glint_histogram, self._pointer, bounds, size, counts)
        return list(bounds), list(counts)

    def _even_histogram(self, buckets: int) -> tuple[list[float], list[int]]:
        ffi, lib = engine()
        if buckets < 1:
            raise ValueError("a histogram has at least one bucket")
        size, counts = ffi.new("uint32_t *", buckets), ffi.new("int64_t[]", buckets)
        bounds = ffi.new("struct glint_cell[]", buckets + 1)
        try:
            self.context._run(lib.glint_histogram_even, self._pointer, size, bounds, counts)
        except Error as error:
            if error.name != "EMPTY_COLLECTION":
                raise
            raise ValueError("the RDD is empty, or has only NaN") from None
        return [
            bound.value.i64 if bound.type == lib.GLINT_I64 else bound.value.f64
            for bound in bounds[0 : size[0] + 1]
        ], list(counts)[: size[0]]

    def isEmpty(self) -> bool:
        return bool(self._result("glint_is_empty", "bool"))

    def saveAsTextFile(
        self, path: Path, compressionCodecClass: Optional[str] = None, *, compress: bool = False
    ) -> None:
        """A directory of parts with one line per element, or key TAB value; compress writes gzip,
        as Hadoop's GzipCodec, the only one here. It appears when the context ends without an error;
        textFile of this context may read it before."""
        _, lib = engine()
        if not isinstance(compress, bool):
            raise TypeError("compress is a bool; the setting compress of a Context chooses a form")
        if compressionCodecClass not in (None, _GZIP):
            raise NotImplementedError(
                f"no codec {compressionCodecClass!r} here, but {_GZIP}; for zstd create the "
                'context with compress="zstd"'
            )
        gzip = compress or compressionCodecClass is not None
        name = "glint_save_as_gzip_text_file" if gzip else "glint_save_as_text_file"
        self.context._run(getattr(lib, name), self._pointer, cstring(path))
        self.context._saved = True

    def __repr__(self) -> str:
        if self.context._g is None:
            return f"<glint.RDD of {self.context!r}>"
        schema = self._schema()
        names = ("any", "same", "none", "bytes", "text", "i64", "f64", "msgpack")
        key, value = names[schema.key], names[schema.value]
        types = value if key == "none" else f"({key}, {value})"
        return f"<glint.RDD of {types}, of {self.context!r}>"

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
        return _only(self._rows(name, *function_named(function, ReduceFunction), *arguments))

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

    to_local_iterator = toLocalIterator
    to_arrow = toArrow
    take_sample = takeSample
    tree_reduce = treeReduce
    reduce_by_key_locally = reduceByKeyLocally
    count_approx_distinct = countApproxDistinct
    sample_variance = sampleVariance
    sample_stdev = sampleStdev
    collect_each = collectEach
    collect_as_map = collectAsMap
    count_by_key = countByKey
    count_by_value = countByValue
    take_ordered = takeOrdered
    is_empty = isEmpty
    save_as_text_file = saveAsTextFile


_PIPE = (
    "a command that gets the lines: rdd.pipe(['python3', '-c', "
    "'import sys\\nfor line in sys.stdin: print(line.strip().upper())'])"
)
_GZIP = "org.apache.hadoop.io.compress.GzipCodec"
_SAMPLE_MAX = sys.maxsize - int(10 * sys.maxsize**0.5)  # as in Spark


def _at_most(num: int) -> int:
    """A number of records that the library takes."""
    return min(max(operator.index(num), 0), sys.maxsize)


def random_seed(seed: Optional[int]) -> int:
    """A seed of 64 bits, which is another one in each call if None is given."""
    return random.getrandbits(64) if seed is None else operator.index(seed) & ((1 << 64) - 1)


def function_named(name: str, kind: Any) -> tuple[Any, Any]:
    """The library's function of this name, which must be one of `kind`, and no arguments for it."""
    ffi, lib = engine()
    names = ", ".join(kind.__args__)
    if callable(name):
        raise TypeError(f"Python functions do not run here, but {names}, by name; or {_PIPE}")
    if name not in kind.__args__:
        raise ValueError(f"no built-in function {name!r} here, but {names}; or {_PIPE}")
    return ffi.addressof(lib, "GLINT_" + name.upper()), ffi.NULL


def _only(rows: list[Any]) -> Any:
    if not rows:
        raise ValueError("the RDD is empty")
    return rows[0]
