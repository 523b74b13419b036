"""Methods of RDDs for batches of columns (_batches.py), which PySpark's RDD does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _typed
from ._typed import in_engine

if TYPE_CHECKING:
    from ._batches import BatchRDD
    from .rdd import RDD


class ColumnMethods:
    def _rdd(self) -> RDD:
        from .rdd import RDD

        assert isinstance(self, RDD)
        return self

    def _batches(self) -> BatchRDD:
        from ._batches import batch_rdd_of

        return batch_rdd_of(self._rdd())

    def mapBatches(self, f: Callable[[Any], Any], format: str = "arrow") -> BatchRDD:
        """f gets batches of columns: a pyarrow.RecordBatch, a polars or pandas DataFrame, or for
        "numpy" a dict of arrays; without a copy where the types allow it. It returns one, a table,
        several of them, a dict of arrays, an array or a number (column "value"), or None. It is
        not called for empty batches. Elements become columns as toArrow says."""
        from ._batches import map_batches

        return map_batches(self._rdd(), f, format)

    @in_engine(_typed.to_arrow)
    def toArrow(self) -> Any:
        """A pyarrow.Table. Of elements, dicts have their columns, tuples the columns _1, _2, ...,
        others one column, "value"."""
        from ._batches import to_arrow

        return to_arrow(self._rdd())

    def toPandas(self) -> Any:
        """A DataFrame of pandas, by pyarrow."""
        return self.toArrow().to_pandas()

    def toPolars(self) -> Any:
        import polars

        return polars.DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow's C stream interface, by which DuckDB, Polars and pyarrow read an RDD: an action
        whose result is in memory."""
        from ._batches import arrow_stream

        return arrow_stream(self._rdd())

    def __arrow_c_schema__(self) -> Any:
        from ._batches import arrow_schema

        return arrow_schema(self._rdd())
