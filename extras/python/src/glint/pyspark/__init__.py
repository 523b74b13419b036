"""Spark's RDDs, with PySpark 4.3's names: `from glint.pyspark import SparkContext`. Under
`python -m glint.submit`, `from pyspark import SparkContext` gives the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._shuffle import portable_hash
    from .absent import BarrierTaskInfo, BasicProfiler, Profiler, RDDBarrier
    from .accumulators import Accumulator, AccumulatorParam
    from .broadcast import Broadcast
    from .conf import SparkConf
    from .context import SparkContext
    from .files import SparkFiles
    from .rdd import RDD
    from .serializers import CPickleSerializer, MarshalSerializer
    from .statcounter import StatCounter
    from .status import SparkExecutorInfo, SparkJobInfo, SparkStageInfo, StatusTracker
    from .storagelevel import StorageLevel
    from .taskcontext import BarrierTaskContext, TaskContext
    from .threads import InheritableThread, inheritable_thread_target

__all__ = ["RDD", "Accumulator", "AccumulatorParam", "BarrierTaskContext", "BarrierTaskInfo",
           "BasicProfiler", "Broadcast", "CPickleSerializer", "InheritableThread",
           "MarshalSerializer", "Profiler", "RDDBarrier", "SparkConf", "SparkContext",
           "SparkExecutorInfo", "SparkFiles", "SparkJobInfo", "SparkStageInfo", "StatCounter",
           "StatusTracker", "StorageLevel", "TaskContext", "inheritable_thread_target",
           "portable_hash"]
__version__ = "4.3.0"

_MODULES = {"RDD": "rdd", "Accumulator": "accumulators", "AccumulatorParam": "accumulators",
            "Broadcast": "broadcast", "SparkConf": "conf", "SparkContext": "context",
            "SparkFiles": "files", "portable_hash": "rdd", "StatCounter": "statcounter",
            "StorageLevel": "storagelevel", "TaskContext": "taskcontext",
            "BarrierTaskContext": "taskcontext", "CPickleSerializer": "serializers",
            "MarshalSerializer": "serializers", "Row": "sql", "SQLContext": "absent",
            "HiveContext": "absent", "InheritableThread": "threads",
            "inheritable_thread_target": "threads", "SparkExecutorInfo": "status",
            "SparkJobInfo": "status", "SparkStageInfo": "status", "StatusTracker": "status"}


def __getattr__(name: str) -> Any:
    """Imports what is used: a worker needs little of it."""
    import importlib

    if name not in _MODULES and name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES.get(name, "absent")
    value = getattr(importlib.import_module("." + module, __name__), name)
    globals()[name] = value
    return value
