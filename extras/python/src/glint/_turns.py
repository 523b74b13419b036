"""Threads that use the same context take turns, call by call."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Optional, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class Turns:
    """`with turns:` around what uses the context. A thread that has the turn may take it again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self.clock = 0  # how often jobs were cancelled
        self.since: Optional[int] = None  # its value when this thread began to wait for its turn

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            clock = self.clock
            self._lock.acquire()
            self.since = clock
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.since = None
        self._lock.release()


def in_turn(method: Method) -> Method:
    """Of an object with `_turns`."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        with self._turns:
            return method(self, *arguments, **named)

    return cast(Method, call)
