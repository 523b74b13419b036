"""Spark's RDDs, with PySpark 4.3's names: `from glint.pyspark import SparkContext`. Under
`python -m glint.submit`, `from pyspark import SparkContext` gives the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._shuffle import portable_hash
    from .accumulators import Accumulator, AccumulatorParam
    from .broadcast import Broadcast
    from .conf import SparkConf
    from .context import SparkContext
    from .files import SparkFiles
    from .rdd import RDD
    from .statcounter import StatCounter
    from .storagelevel import StorageLevel
    from .taskcontext import BarrierTaskContext, TaskContext

__all__ = ["RDD", "Accumulator", "AccumulatorParam", "BarrierTaskContext", "Broadcast", "SparkConf",
           "SparkContext", "SparkFiles", "StatCounter", "StorageLevel", "TaskContext",
           "portable_hash"]
__version__ = "4.3.0"

_MODULES = {"RDD": "rdd", "Accumulator": "accumulators", "AccumulatorParam": "accumulators",
            "Broadcast": "broadcast", "SparkConf": "conf", "SparkContext": "context",
            "SparkFiles": "files", "portable_hash": "rdd", "StatCounter": "statcounter",
            "StorageLevel": "storagelevel", "TaskContext": "taskcontext",
            "BarrierTaskContext": "taskcontext", "Row": "sql", "SQLContext": "sql"}


def __getattr__(name: str) -> Any:
    """Imports what is used: a worker needs little of it."""
    import importlib

    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module("." + _MODULES[name], __name__), name)
    globals()[name] = value
    return value
