"""TaskContext: what a running task may ask about itself. None in the driver."""

from __future__ import annotations

from typing import Any, Optional

from .. import _task
from .errors import not_here


class TaskContext:
    @classmethod
    def get(cls) -> Optional[TaskContext]:
        return None if _task.directory is None else cls()

    def partitionId(self) -> int:
        return _task.partition()

    def stageId(self) -> int:
        """The number of the job's file: chains of functions, in the order of their creation."""
        return int(_task.job["number"])

    def attemptNumber(self) -> int:
        return int(_task.attempt().rsplit("_", 1)[1])

    def taskAttemptId(self) -> int:
        return (self.stageId() << 32) + (self.partitionId() << 4) + self.attemptNumber()

    def getLocalProperty(self, key: str) -> Optional[str]:
        value = _task.job["properties"].get(key)
        return None if value is None else str(value)

    def cpus(self) -> int:
        return 1

    def cpuAmount(self) -> Any:
        from decimal import Decimal

        return Decimal(1)

    def resources(self) -> dict[str, object]:
        return {}


class BarrierTaskContext(TaskContext):
    @classmethod
    def get(cls) -> Optional[TaskContext]:
        raise not_here("BarrierTaskContext", "tasks do not wait for each other")
