"""StatusTracker: which jobs and stages run, and how far they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Optional

from ._jobs import Job, Jobs, Stage


class SparkJobInfo(NamedTuple):
    jobId: int
    stageIds: list[int]
    status: str


class SparkStageInfo(NamedTuple):
    stageId: int
    currentAttemptId: int
    name: str
    numTasks: int
    numActiveTasks: int
    numCompletedTasks: int
    numFailedTasks: int


class SparkExecutorInfo(NamedTuple):
    host: str
    port: int
    cacheSize: int
    numRunningTasks: int
    usedOnHeapStorageMemory: int
    usedOffHeapStorageMemory: int
    totalOnHeapStorageMemory: int
    totalOffHeapStorageMemory: int


class StatusTracker:
    """Of the last 1,000 jobs. Any thread may ask, while another one runs a job."""

    def __init__(self, jobs: Jobs, slots: int) -> None:
        self._jobs = jobs
        self._slots = slots

    def getJobIdsForGroup(self, jobGroup: Optional[str] = None) -> list[int]:
        return [job.number for job in reversed(self._jobs.kept()) if job.group == jobGroup]

    def getActiveStageIds(self) -> list[int]:
        return [stage.number for job in self._active() for stage in list(job.stages.values())
                if stage.active]

    def getActiveJobsIds(self) -> list[int]:
        return [job.number for job in self._active()]

    def getJobInfo(self, jobId: int) -> Optional[SparkJobInfo]:
        for job in self._jobs.kept():
            if job.number == jobId:
                stages = [stage.number for stage in list(job.stages.values())]
                return SparkJobInfo(jobId, stages, job.status)
        return None

    def getStageInfo(self, stageId: int) -> Optional[SparkStageInfo]:
        for stage in self._stages():
            if stage.number == stageId:
                active = min(stage.tasks - stage.done, self._slots) if stage.active else 0
                return SparkStageInfo(stageId, 0, stage.name, stage.tasks, active, stage.done, 0)
        return None

    def getExecutorInfos(self) -> list[SparkExecutorInfo]:
        """In one process: the driver."""
        running = sum(info.numActiveTasks for info in map(self.getStageInfo,
                                                          self.getActiveStageIds()) if info)
        return [SparkExecutorInfo("localhost", 0, 0, running, 0, 0, 0, 0)]

    def _active(self) -> list[Job]:
        return [job for job in self._jobs.kept() if job.status == "RUNNING"]

    def _stages(self) -> Iterator[Stage]:
        for job in self._jobs.kept():
            yield from list(job.stages.values())
