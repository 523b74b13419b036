"""Jobs: local properties of the threads that run them, what StatusTracker says of them, and their
cancellation. A job is an action; a stage has a number for each job that it is part of."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional

from .._engine import engine
from .._turns import Turns
from .errors import JobCancelledError

KEPT = 1000  # finished jobs: spark.ui.retainedJobs
GROUP = "spark.jobGroup.id"


class Stage:
    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.tasks = self.done = 0
        self.active = True


class Job:
    def __init__(self, number: int, group: Optional[str], tags: frozenset[str]) -> None:
        self.number = number
        self.group = group
        self.tags = tags
        self.stages: dict[int, Stage] = {}  # by their numbers in the engine
        self.status = "RUNNING"
        self.why: Optional[str] = None  # it was cancelled


class Thread(threading.local):
    """What each thread has of its own."""

    def __init__(self) -> None:
        self.properties: dict[str, Optional[str]] = {}
        self.tags: set[str] = set()


class Jobs:
    def __init__(self) -> None:
        self.of_thread = Thread()
        self._kept: dict[int, Job] = {}
        self._numbers, self._stage_numbers = itertools.count(), itertools.count()
        self._lock = threading.Lock()  # of what follows
        self._running: Optional[Job] = None
        self._interrupt: Callable[[], None] = lambda: None
        self._cancelled: dict[tuple[str, Optional[str]], int] = {}  # when: Turns.clock

    @contextmanager
    def run(self, turns: Turns, interrupt: Callable[[], None]) -> Iterator[Job]:
        """Around a job, whose thread has the turn."""
        own = self.of_thread
        job = Job(next(self._numbers), own.properties.get(GROUP), frozenset(own.tags))
        with self._lock:
            self._kept[job.number] = job
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
            kinds = [("all", None), ("group", job.group), *(("tag", tag) for tag in job.tags)]
            for kind in kinds:
                if turns.since is not None and self._cancelled.get(kind, -1) > turns.since:
                    job.status, job.why = "FAILED", _reason(*kind)
                    raise JobCancelledError(job.number, job.why)
            self._running, self._interrupt = job, interrupt
        try:
            yield job
            job.status = "SUCCEEDED"
        finally:
            with self._lock:
                self._running = None
            if job.status == "RUNNING":
                job.status = "FAILED"
            for stage in list(job.stages.values()):
                stage.active = False

    def report(self, progress: Any) -> None:
        """With a struct glint_progress, between the tasks of the running job."""
        job = self._running
        if job is None or progress.action_ended:
            return
        stage = job.stages.get(progress.stage)
        if stage is None:
            name = engine()[0].string(progress.name).decode("utf-8", "replace")
            stage = job.stages[progress.stage] = Stage(next(self._stage_numbers), name)
        stage.tasks, stage.done = progress.tasks, progress.tasks_done
        stage.active = not progress.stage_ended

    def cancel(self, turns: Turns, kind: str, name: Optional[str] = None) -> None:
        """Jobs that run, or wait for their turn."""
        with self._lock:
            turns.clock += 1
            self._cancelled[kind, name] = turns.clock
            job = self._running
            if job is None or job.why is not None:
                return
            if kind == "all" or (kind == "group" and job.group == name) or name in job.tags:
                job.why = _reason(kind, name)
                self._interrupt()

    def kept(self) -> list[Job]:
        with self._lock:
            return list(self._kept.values())


def _reason(kind: str, name: Optional[str]) -> str:
    if kind == "all":
        return "as part of cancellation of all jobs"
    return f"part of cancelled job {kind} {name}"
