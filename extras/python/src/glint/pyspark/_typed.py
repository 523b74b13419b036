"""What the engine computes of an RDD whose records have types that it knows: those of
glint.Context, until a function of Python is applied."""

from __future__ import annotations

import functools
import operator
import random
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Optional, TypeVar, Union, cast

from .._context import Path, cstring
from .._engine import engine
from .._errors import Error
from .._names import NAMES
from .._records import Records, positive
from .._shuffle import portable_hash, same
from .._values import decode, encode
from .statcounter import StatCounter

Method = TypeVar("Method", bound=Callable[..., Any])
_SAMPLE_MAX = sys.maxsize - int(10 * sys.maxsize**0.5)  # as in Spark
_GZIP = "org.apache.hadoop.io.compress.GzipCodec"


def in_engine(run: Callable[..., Any]) -> Callable[[Method], Method]:
    """`run` does what the method does for Records, or returns NotImplemented."""

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            result = NotImplemented
            if self._records is not None:
                result = run(self._records, *arguments, **named)
            if result is NotImplemented:
                return method(self, *arguments, **named)
            return self._of_records(result) if isinstance(result, Records) else result

        return cast(Method, call)

    return decorate


def transform(name: str) -> Callable[..., Any]:
    """A function of the library of one RDD, and perhaps a number of partitions."""
    return lambda records, numPartitions=None: records.call(name, partitions=numPartitions)


def combine(name: str) -> Callable[..., Any]:
    """One of two RDDs."""

    def run(records: Records, other: Any, numPartitions: Optional[int] = None) -> Any:
        if not hasattr(other, "_records"):
            raise TypeError(f"an RDD is needed, not {type(other).__name__}")
        if other._records is None:
            return NotImplemented
        return records.call(name, other._records, partitions=numPartitions)

    return run


def apply(name: str, method: str) -> Callable[..., Any]:
    """One that takes a built-in function by name."""

    def run(records: Records, f: Any, numPartitions: Optional[int] = None, *more: Any,
            **named: Any) -> Any:
        words = _function(f, method)
        if words is None or more or named:
            return NotImplemented
        return records.call(name, *words, partitions=numPartitions)

    return run


def _function(f: Any, method: str) -> Optional[tuple[Any, Any]]:
    """The library's function of this name, and no arguments for it."""
    ffi, lib = engine()
    if not isinstance(f, str) or f not in NAMES[method]:
        return None
    return ffi.addressof(lib, "GLINT_" + f.upper()), ffi.NULL


# ---- transformations


def pipe(records: Records, command: Union[str, Sequence[str]],
         env: Optional[Mapping[str, str]] = None, checkCode: Optional[bool] = None, *,
         ok: Iterable[int] = (0,)) -> Records:
    ffi, _ = engine()
    words = shlex.split(command) if isinstance(command, str) else command
    statuses = list(range(256) if checkCode is False else ok)
    if not all(0 <= status <= 255 for status in statuses):
        raise ValueError("exit statuses are from 0 to 255")
    if any("=" in name for name in env or {}):  # as subprocess, which pipes other elements
        raise ValueError("illegal environment variable name")
    argv = [ffi.new("char[]", cstring(word)) for word in words]
    pairs = [ffi.new("char[]", cstring(f"{name}={text}")) for name, text in (env or {}).items()]
    described = {
        "argv": ffi.new("char *[]", [*argv, ffi.NULL]),
        "env": ffi.new("char *[]", [*pairs, ffi.NULL]),
        "ok": ffi.new("int[]", [*statuses, -1]),
    }
    return records.call("glint_pipe_command", ffi.new("struct glint_command *", described))


def sample(records: Records, withReplacement: bool, fraction: float,
           seed: Optional[int] = None) -> Records:
    if not isinstance(withReplacement, bool):
        raise TypeError("sample(withReplacement, fraction, seed): the first is a bool")
    if not fraction >= 0:
        raise ValueError("Fraction must be nonnegative.")
    if withReplacement:
        return records.call("glint_sample_with_replacement", fraction, random_seed(seed))
    return records.call("glint_sample", min(fraction, 1), random_seed(seed))


def sample_by_key(records: Records, withReplacement: bool, fractions: Mapping[Any, float],
                  seed: Optional[int] = None) -> Records:
    ffi, _ = engine()
    if not all(fraction >= 0 for fraction in fractions.values()):
        raise ValueError("Fraction must be nonnegative.")
    schema, rows, count, _kept = encode(fractions)
    if count > 0 and schema.value != records.schema().key:
        raise TypeError("the keys of the fractions have another type than those of the RDD")
    packed = ffi.new("struct glint_fraction[]", count)
    for i, fraction in enumerate(fractions.values()):
        packed[i].key, packed[i].fraction = rows[i].value, fraction
    return records.call("glint_sample_by_key", withReplacement, packed, count, random_seed(seed))


def random_split(records: Records, weights: Sequence[float],
                 seed: Optional[int] = None) -> list[Records]:
    ffi, lib = engine()
    context = records.context
    with context._turns:
        context._open()
        out = ffi.new("struct glint_rdd *[]", len(weights))
        lib.glint_random_split(
            records.pointer, ffi.new("double[]", weights), len(weights), random_seed(seed), out)
        made = [Records(context, pointer) for pointer in out if pointer]
        if len(made) < len(out):
            raise context._error()
    return made


def coalesce(records: Records, numPartitions: int, shuffle: bool = False) -> Records:
    name = "glint_repartition" if shuffle else "glint_coalesce"
    return records.call(name, positive(numPartitions))


def partition_by(records: Records, numPartitions: int,
                 partitionFunc: Callable[[Any], int] = portable_hash) -> Any:
    if partitionFunc is not portable_hash:
        return NotImplemented
    return records.call("glint_partition_by", positive(numPartitions))


def sort_by_key(records: Records, ascending: bool = True, numPartitions: Optional[int] = None,
                keyfunc: Callable[[Any], Any] = same) -> Any:
    if keyfunc is not same:
        return NotImplemented
    return records.call("glint_sort_by_key", bool(ascending), partitions=numPartitions)


def combine_by_key(records: Records, createCombiner: Any = "count", *more: Any,
                   **named: Any) -> Any:
    return apply("glint_combine_by_key", "combineByKey")(records, createCombiner, None, *more,
                                                         **named)


def checkpoint(records: Records, path: Optional[Path] = None) -> Any:
    if path is None:
        return NotImplemented
    _, lib = engine()
    return records.context._records(lib.glint_checkpoint, records.pointer, cstring(path))


# ---- actions

iterate = Records.iterate


def rows(name: str) -> Callable[[Records], list[Any]]:
    return lambda records: records.rows(name)


def count_by_value(records: Records) -> Any:
    """Of single elements."""
    if records.schema().key != engine()[1].GLINT_NONE:
        return NotImplemented
    return dict(records.rows("glint_count_by_value"))


def collect_each(records: Records, f: Callable[[Any], object]) -> None:
    ffi, lib = engine()
    context, raised = records.context, list[BaseException]()
    context._open()
    schema = records.schema()

    def row(_: Any, record: Any) -> int:
        try:
            f(decode(schema, record))
        except BaseException as error:
            raised.append(error)
        return len(raised)

    called = ffi.callback("int(void *, const struct glint_record *)", row)
    try:
        context._run(lib.glint_collect_each, records.pointer, called, ffi.NULL)
    except BaseException as error:
        if not raised or isinstance(error, KeyboardInterrupt):
            raise
    if raised:
        raise raised[0]


def to_arrow(records: Records) -> Any:
    import pyarrow

    _, lib = engine()
    schema = records.schema()
    kinds = {lib.GLINT_I64: pyarrow.int64(), lib.GLINT_F64: pyarrow.float64(),
             lib.GLINT_TEXT: pyarrow.string(), lib.GLINT_BYTES: pyarrow.binary()}
    pairs = schema.key != lib.GLINT_NONE
    types = [kinds.get(kind) for kind in ((schema.key, schema.value) if pairs else
                                          (schema.value,))]
    names = ["_1", "_2"] if pairs else ["value"]
    if None in types:
        raise TypeError("values of joins are tuples of any types: they are no column")
    found = records.rows("glint_collect")
    lists: list[Any] = (list(zip(*found)) or [(), ()]) if pairs else [found]
    return pyarrow.table([pyarrow.array(values, kind) for values, kind in zip(lists, types)], names)


def count(records: Records) -> int:
    return int(records.result("glint_count", "int64_t"))


def take(records: Records, num: int) -> list[Any]:
    return records.rows("glint_take", _at_most(num))


def take_sample(records: Records, withReplacement: bool, num: int,
                seed: Optional[int] = None) -> list[Any]:
    if num < 0:
        raise ValueError("Sample size cannot be negative.")
    if num > _SAMPLE_MAX:
        raise ValueError(f"Sample size cannot be greater than {_SAMPLE_MAX}.")
    return records.rows("glint_take_sample", withReplacement, num, random_seed(seed))


def take_ordered(records: Records, num: int, key: Any = None) -> Any:
    if num < 0:
        raise ValueError("top N cannot be negative.")
    return NotImplemented if key else records.rows("glint_take_ordered", _at_most(num))


def top(records: Records, num: int, key: Any = None) -> Any:
    return NotImplemented if key else records.rows("glint_top", _at_most(num))


def first(records: Records) -> Any:
    return _only(take(records, 1))


def least(records: Records, key: Any = None) -> Any:
    return NotImplemented if key else _only(take_ordered(records, 1))


def greatest(records: Records, key: Any = None) -> Any:
    return NotImplemented if key else _only(top(records, 1))


def _reduce(name: str, records: Records, f: Any, *arguments: Any) -> Any:
    words = _function(f, "reduce")
    if words is None:
        return NotImplemented
    return _only(records.rows(name, *words, *arguments) if take(records, 1) else [])


def reduce(records: Records, f: Any) -> Any:
    return _reduce("glint_reduce", records, f)


def tree_reduce(records: Records, f: Any, depth: int = 2) -> Any:
    return _reduce("glint_tree_reduce", records, f, depth) if depth >= 1 else NotImplemented


def reduce_by_key_locally(records: Records, func: Any) -> Any:
    words = _function(func, "reduceByKey")
    if words is None:
        return NotImplemented
    return dict(records.rows("glint_reduce_by_key_locally", *words))


def count_approx_distinct(records: Records, relativeSD: Optional[float] = None) -> Any:
    if relativeSD is not None:
        return NotImplemented
    return int(records.result("glint_count_approx_distinct", "int64_t"))


def total(records: Records) -> Union[int, float]:
    _, lib = engine()
    if records.schema().value not in (lib.GLINT_I64, lib.GLINT_F64) and not take(records, 1):
        return 0
    if _number_type(records, "sum") == lib.GLINT_F64:
        return float(records.result("glint_sum", "union glint_value").f64)
    sums = records.result("glint_wide_sum", "struct glint_wide_sum")
    return (int(sums.high) << 64) + int(sums.low)


def stats(records: Records) -> StatCounter:
    _number_type(records, "stats")
    found, counter = records.result("glint_stats", "struct glint_stats"), StatCounter()
    if found.count > 0:
        counter.n, counter.mu, counter.m2 = found.count, found.mean, found.variance * found.count
        counter.minValue, counter.maxValue = found.min, found.max
    return counter


def histogram(records: Records,
              buckets: Union[int, Sequence[float]]) -> tuple[list[float], list[int]]:
    ffi, lib = engine()
    _number_type(records, "histogram")
    if isinstance(buckets, int):
        return _even_histogram(records, buckets)
    size = len(buckets) - 1
    if size < 1 or not all(a < b for a, b in zip(buckets, buckets[1:])):
        raise ValueError("the bounds of a histogram are at least two, and ascend")
    for bound in buckets:
        if isinstance(bound, int) and float(bound) != bound:
            raise ValueError(f"no float has exactly the bound {bound}")
    bounds, counts = ffi.new("double[]", list(buckets)), ffi.new("int64_t[]", size)
    records.context._run(lib.glint_histogram, records.pointer, bounds, size, counts)
    return list(bounds), list(counts)


def _even_histogram(records: Records, buckets: int) -> tuple[list[float], list[int]]:
    ffi, lib = engine()
    if buckets < 1:
        raise ValueError("a histogram has at least one bucket")
    size, counts = ffi.new("uint32_t *", buckets), ffi.new("int64_t[]", buckets)
    bounds = ffi.new("struct glint_cell[]", buckets + 1)
    try:
        records.context._run(lib.glint_histogram_even, records.pointer, size, bounds, counts)
    except Error as error:
        if error.name != "EMPTY_COLLECTION":
            raise
        raise ValueError("the RDD is empty, or has only NaN") from None
    return [
        bound.value.i64 if bound.type == lib.GLINT_I64 else bound.value.f64
        for bound in bounds[0 : size[0] + 1]
    ], list(counts)[: size[0]]


def save_as_text_file(records: Records, path: Path, compressionCodecClass: Optional[str] = None,
                      *, compress: bool = False) -> None:
    if not isinstance(compress, bool):
        raise TypeError("compress is a bool; the setting compress of a Context chooses a form")
    if compressionCodecClass not in (None, _GZIP):
        raise NotImplementedError(
            f"no codec {compressionCodecClass!r} here, but {_GZIP}; for zstd create the "
            'context with compress="zstd"')
    gzip = compress or compressionCodecClass is not None
    name = "glint_save_as_gzip_text_file" if gzip else "glint_save_as_text_file"
    records.context._run(getattr(engine()[1], name), records.pointer, cstring(path))
    records.context._saved = True


def describe(records: Records) -> str:
    """What the elements are, for repr."""
    if records.context._g is None:
        return f"of {records.context!r}"
    names = ("any", "same", "none", "bytes", "text", "i64", "f64", "msgpack")
    schema = records.schema()
    key, value = names[schema.key], names[schema.value]
    types = value if key == "none" else f"({key}, {value})"
    return f"of {types}, of {records.context!r}"


def _number_type(records: Records, name: str) -> int:
    _, lib = engine()
    kind = int(records.schema().value)
    if kind not in (lib.GLINT_I64, lib.GLINT_F64):
        raise TypeError(f"{name} needs values that are int or float")
    return kind


def _at_most(num: int) -> int:
    """A number of records that the library takes."""
    return min(max(operator.index(num), 0), sys.maxsize)


def random_seed(seed: Optional[int]) -> int:
    """A seed of 64 bits, which is another one in each call if None is given."""
    return random.getrandbits(64) if seed is None else operator.index(seed) & ((1 << 64) - 1)


def _only(found: list[Any]) -> Any:
    if not found:
        raise ValueError("the RDD is empty")
    return found[0]
