"""Threads that inherit local properties, as job groups, and tags of jobs."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any, Optional

from .context import SparkContext
from .sql import SparkSession


def _inherited(f: Callable[..., Any]) -> Callable[..., Any]:
    """f with what the calling thread has now."""
    context = SparkContext._active_spark_context
    assert context is not None
    own = context._workers.jobs.of_thread
    properties, tags = dict(own.properties), set(own.tags)

    @functools.wraps(f)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        own.properties, own.tags = dict(properties), set(tags)
        return f(*arguments, **named)

    return wrapped


class InheritableThread(threading.Thread):
    def __init__(self, target: Callable[..., Any], *args: Any,
                 session: Optional[SparkSession] = None, **kwargs: Any) -> None:
        self._call = target

        def run(*arguments: Any, **named: Any) -> Any:
            return self._call(*arguments, **named)

        super().__init__(*args, target=run, **kwargs)  # type: ignore[misc]

    def start(self) -> None:
        self._call = _inherited(self._call)
        super().start()


def inheritable_thread_target(f: Any = None) -> Any:
    """f, or with a session a decorator of it."""
    if isinstance(f, SparkSession):
        return _inherited
    warnings.warn("Spark session is not provided. Tags will not be inherited.", UserWarning,
                  stacklevel=2)
    assert callable(f)
    return _inherited(f)
