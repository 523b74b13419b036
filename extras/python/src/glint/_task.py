"""What a running task of a worker knows: its numbers, the broadcasts that it has read, and what it
has added to accumulators. In the driver nothing is set."""

from __future__ import annotations

import os
import pickle
from typing import Any, Optional

directory: Optional[str] = None  # of the context's files; None: this is no worker
job: dict[str, Any] = {}
accumulators: dict[int, Any] = {}
files: dict[str, str] = {}  # of the driver, on a cluster: where they are on this executor
_broadcasts: dict[str, Any] = {}


def begin(place: str, description: dict[str, Any], shipped: dict[str, str]) -> None:
    global directory, job, files
    directory, job, files = place, description, shipped


def partition() -> int:
    return int(os.environ.get("mapreduce_task_partition", "0"))


def attempt() -> str:
    return os.environ.get("mapreduce_task_attempt_id", "attempt_0_0")


def broadcast_value(path: str) -> Any:
    if path not in _broadcasts:
        with open(files.get(os.path.basename(path), path), "rb") as file:
            _broadcasts[path] = pickle.load(file)
    return _broadcasts[path]


def end() -> None:
    """Leaves what was added to accumulators for the driver; only a task that has succeeded. On a
    cluster it is part of the output."""
    if directory is None or not accumulators or files:
        return
    from ._pickling import load_cloudpickle

    values = {number: item._value for number, item in accumulators.items()}
    name = f"added-{job['number']:08d}-{partition():08d}-{attempt()}-{os.getpid()}"
    path = os.path.join(directory, name)
    with open(path + ".tmp", "wb") as file:
        file.write(load_cloudpickle().dumps(values))
    os.rename(path + ".tmp", path)
