"""Classes of PySpark that glint does not have. A program may import them; it fails when it uses
them."""

from __future__ import annotations

from typing import Any

from .errors import not_here

_PROFILES = "use cProfile in a function of mapPartitions"
_SQL = "glint has Spark's RDDs; use PySpark itself"
_BARRIER = "tasks do not wait for each other; use mapPartitions"


class _Absent:
    instead = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise not_here(type(self).__name__, self.instead)


def _absent(name: str, instead: str) -> type[_Absent]:
    return type(name, (_Absent,), {"instead": instead})


Profiler = _absent("Profiler", _PROFILES)
BasicProfiler = _absent("BasicProfiler", _PROFILES)
SQLContext = _absent("SQLContext", _SQL)
HiveContext = _absent("HiveContext", _SQL)
RDDBarrier = _absent("RDDBarrier", _BARRIER)
BarrierTaskInfo = _absent("BarrierTaskInfo", _BARRIER)
