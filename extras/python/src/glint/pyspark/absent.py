"""Classes of PySpark that glint does not have. A program may import them; it fails when it uses
them."""

from __future__ import annotations

from typing import Any

from .errors import not_here

_THREADS = "only the thread that created a context may run jobs"
_STATUS = "use the page (spark.ui.enabled=true), or glint status on a cluster"
_PROFILES = "use cProfile in a function of mapPartitions"
_SQL = "glint has Spark's RDDs; use PySpark itself"
_BARRIER = "tasks do not wait for each other; use mapPartitions"


class _Absent:
    instead = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise not_here(type(self).__name__, self.instead)


class InheritableThread(_Absent):
    instead = _THREADS


def inheritable_thread_target(f: Any = None) -> Any:
    raise not_here("inheritable_thread_target", _THREADS)


class StatusTracker(_Absent):
    instead = _STATUS


class SparkJobInfo(_Absent):
    instead = _STATUS


class SparkStageInfo(_Absent):
    instead = _STATUS


class SparkExecutorInfo(_Absent):
    instead = _STATUS


class Profiler(_Absent):
    instead = _PROFILES


class BasicProfiler(Profiler):
    pass


class SQLContext(_Absent):
    instead = _SQL


class HiveContext(_Absent):
    instead = _SQL


class RDDBarrier(_Absent):
    instead = _BARRIER


class BarrierTaskInfo(_Absent):
    instead = _BARRIER
