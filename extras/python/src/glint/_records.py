"""Records: an RDD of the library, whose keys and values have a type each. RDDs (pyspark/rdd.py) are
made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

from ._engine import engine
from ._values import CHUNK, decode_all, decode_many

if TYPE_CHECKING:
    from ._context import Context


class Records:
    def __init__(self, context: Context, pointer: Any) -> None:
        self.context = context
        self.pointer = pointer

    def __del__(self) -> None:
        # In any thread, at any time: the context frees it at its next call. Those that descend from
        # this one keep what they need.
        self.context._unused.append(self.pointer)

    def call(self, name: str, *arguments: Any, partitions: Optional[int] = None) -> Records:
        """A transformation, whose shuffle makes so many partitions."""
        _, lib = engine()
        words = [self._other(one) if isinstance(one, Records) else one for one in arguments]
        made = self.context._records(getattr(lib, name), self.pointer, *words)
        return made if partitions is None else made.set("glint_with_partitions",
                                                        positive(partitions))

    def _other(self, other: Records) -> Any:
        if other.context is not self.context:
            raise ValueError("both RDDs must be of the same context")
        return other.pointer

    def set(self, name: str, *arguments: Any) -> Records:
        """Changes a property."""
        _, lib = engine()
        with self.context._turns:
            self.context._check(self.context._call(getattr(lib, name), self.pointer, *arguments))
        return self

    def schema(self) -> Any:
        _, lib = engine()
        self.context._open()
        return lib.glint_schema(self.pointer)

    def form(self) -> str:
        """What workers call them (_worker.read_typed)."""
        _, lib = engine()
        names = {lib.GLINT_NONE: "none", lib.GLINT_BYTES: "bytes", lib.GLINT_TEXT: "text",
                 lib.GLINT_I64: "i64", lib.GLINT_F64: "f64", lib.GLINT_MSGPACK: "msgpack"}
        schema = self.schema()
        return f"typed {names[schema.key]} {names[schema.value]}"

    def partitions(self) -> int:
        """How many there are, which cannot be changed after this call. None of empty files."""
        _, lib = engine()
        with self.context._turns:
            count = int(self.context._call(lib.glint_partitions, self.pointer))
            if count == 0 and lib.glint_error(self.context._g).code != 0:
                raise self.context._error()
        return count

    def rows(self, name: str, *arguments: Any) -> list[Any]:
        """What an action gives."""
        ffi, lib = engine()
        rows = ffi.new("struct glint_rows *")
        try:
            self.context._run(getattr(lib, name), self.pointer, *arguments, rows)
            return decode_all(rows)
        finally:
            lib.glint_rows_free(rows)

    def result(self, name: str, kind: str) -> Any:
        ffi, lib = engine()
        out = ffi.new(kind + " *")
        self.context._run(getattr(lib, name), self.pointer, out)
        return out[0]

    def iterate(self) -> Iterator[Any]:
        """One by one. Computes one partition at a time, when its first record is needed."""
        ffi, lib = engine()
        with self.context._turns:
            made = self.context._check(
                self.context._call(lib.glint_to_local_iterator, self.pointer))
        iterator = ffi.gc(made, self.context._close_iterator)
        schema, records = self.schema(), ffi.new("struct glint_record[]", CHUNK)
        while count := self.context._run(lib.glint_iterator_take, iterator, CHUNK, records):
            yield from decode_many(schema, records, count)


def positive(count: int) -> int:
    """A number of partitions."""
    import operator

    if operator.index(count) < 1:
        raise ValueError("Number of partitions must be positive.")
    return count
