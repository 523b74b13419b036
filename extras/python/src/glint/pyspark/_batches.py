"""RDDs of batches of columns: of files of columns, of Arrow's streams, and of mapBatches. As
elements they have the values of their only column, or tuples of all."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Optional

from .. import _column_values
from .._blocks import Batch, batches_of, stream_of
from .._functions import Function, identity
from .._turns import in_turn
from ._data import Dataset, Once, Source, compose
from ._saving import open_parts
from .rdd import RDD

if TYPE_CHECKING:
    from .context import SparkContext

BLOCK_BYTES = 1 << 20


def _elements(_: int, batches: Iterator[Any]) -> Iterator[Any]:
    return _column_values.rows_of(batches)


def _made_of_rows(_: int, items: Iterator[Any]) -> Iterator[Batch]:
    return _column_values.batches_from_rows(items)


class BatchRDD(RDD):
    """Its functions take and give batches; what takes elements comes after `_elements`."""

    _form = "batches"

    def __init__(self, ctx: SparkContext, source: Source,
                 function: Optional[Function] = None) -> None:
        super().__init__(ctx, source, function)
        if ctx._workers.shipping is not None:
            ctx._workers.shipping.columns = True

    def _then(self, function: Function, preserves: bool = False) -> RDD:
        return RDD._then(self, compose(_elements, function))

    def _elements(self) -> RDD:
        return self._then(identity)

    def _like(self, source: Source, function: Optional[Function] = None) -> BatchRDD:
        return BatchRDD(self.ctx, source, function)

    def _batches(self) -> BatchRDD:
        return self

    def _save_checkpoint(self, path: str) -> RDD:
        RDD._then(self, lambda _, batches: (bytes(batch.encode()) for batch in batches)) \
            .saveAsPickleFile(path, 1)
        return BatchRDD(self.ctx, open_parts(self.ctx, path), read_places)

    def collect(self) -> list[Any]:
        return list(_column_values.rows_of(self._collect_batches()))

    def count(self) -> int:
        counts = RDD._then(self, lambda _, items: [sum(batch.num_rows for batch in items)])
        return sum(counts.collect())

    @in_turn
    def _collect_batches(self) -> list[Batch]:
        """Without empty ones, unless all are."""
        found = self.ctx._workers.batches(self._dataset())
        self._checkpoint_lineage()
        return [batch for batch in found if batch.num_rows > 0] or found[:1]


def batch_rdd_of(rdd: RDD) -> BatchRDD:
    """Of elements: workers make batches of them."""
    return BatchRDD(rdd.ctx, *rdd._chain(_made_of_rows))


def map_batches(rdd: RDD, f: Callable[[Any], Any], format: str) -> BatchRDD:
    if format not in _column_values.FORMATS:
        raise ValueError(f"format is one of {', '.join(_column_values.FORMATS)}, not {format!r}")
    batches = rdd._batches()
    return batches._like(*batches._chain(
        lambda _, some: _column_values.map_batches(f, format, some)))


def to_arrow(rdd: RDD) -> Any:
    import pyarrow

    batches = rdd._batches()._collect_batches()
    if not isinstance(rdd, BatchRDD):
        _column_values.check_one_kind(batches)
    tables = [pyarrow.table(batch) for batch in batches]
    if not tables:
        return pyarrow.table({})
    return pyarrow.concat_tables(tables, promote_options="permissive")


def compute(rdd: RDD) -> list[Batch]:
    """All batches, of one type. DuckDB asks for the schema before the stream, and for that perhaps
    in another thread, in which no action can run: what was computed for the schema is kept until
    the stream is taken."""
    if rdd._computed is None:
        batches = rdd._batches()._collect_batches()
        if not isinstance(rdd, BatchRDD):  # types of elements may differ, as int and float
            batches = list(batches_of(to_arrow(rdd)))
        rdd._computed = batches or list(batches_of(to_arrow(rdd)))
    return rdd._computed


def arrow_schema(rdd: RDD) -> Any:
    return compute(rdd)[0].__arrow_c_schema__()


def arrow_stream(rdd: RDD) -> Any:
    batches, rdd._computed = compute(rdd), None
    return stream_of(batches)


# ---- Arrow's streams as sources


class _Kept:
    """The batches of a stream, which was read once: in memory up to a limit, then in a file of
    blocks, from which workers read them."""

    def __init__(self, ctx: SparkContext, source: Any, slices: int, limit: int) -> None:
        self.ctx = ctx
        self.slices = slices
        self.batches: list[Batch] = []
        self.path = ctx._workers.path("stream")
        self.places: Optional[list[tuple[str, int, int]]] = None  # once it is in the file
        size = 0
        for batch in batches_of(source):
            self.batches.append(batch)
            size += batch.nbytes
            if size > limit:
                self._spool()
                size = 0

    def _spool(self) -> None:
        """Moves the batches to the end of the file."""
        self.places = [] if self.places is None else self.places
        with open(self.path, "ab") as file:
            for batch in self.batches:
                for block in batch.encode_parts(BLOCK_BYTES):
                    self.places.append((self.path, file.tell(), len(block)))
                    file.write(block)
        self.batches.clear()

    def dataset(self) -> Dataset:
        """The places of the blocks, in slices; on a cluster, which does not have the file, the
        blocks themselves."""
        workers, n = self.ctx._workers, self.slices
        if self.places is None or self.batches:
            self._spool()
        places: list[Any] = self.places or []
        if workers.shipping is not None:
            places = [bytes(batch.encode()) for batch in read_places(0, places)]
        parts = [places[len(places) * i // n : len(places) * (i + 1) // n] for i in range(n)]
        return workers.parallelize([[pickle.dumps([one], 5) for one in part] for part in parts])

    def all(self) -> list[Batch]:
        """Those in memory as they are, without a copy."""
        return [*read_places(0, self.places or []), *self.batches]


def read_places(_: int, places: Iterable[Any]) -> Iterator[Batch]:
    """Of (path, offset, size) of blocks, or of blocks."""
    for place in places:
        if isinstance(place, bytes):
            yield Batch.decode(place)
            continue
        path, offset, size = place
        with open(path, "rb", buffering=0) as file:

            def fill(memory: memoryview, at: int = offset, file: Any = file) -> None:
                while memory:
                    count = os.preadv(file.fileno(), [memory], at)
                    if count == 0:
                        raise EOFError(f"{path} was cut off while it was read")
                    memory, at = memory[count:], at + count

            yield Batch.read(size, fill)


class StreamRDD(BatchRDD):
    """Of a source with Arrow's C stream interface."""

    def __init__(self, ctx: SparkContext, source: Any, slices: int, limit: int) -> None:
        self._kept = _Kept(ctx, source, slices, limit)
        super().__init__(ctx, Once(self._kept.dataset), read_places)

    def _collect_batches(self) -> list[Batch]:
        return self._kept.all()

    def getNumPartitions(self) -> int:
        return self._kept.slices
