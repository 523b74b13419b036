"""Broadcasts: a value that the driver pickles once, to a file that workers read when they need it.
"""

from __future__ import annotations

import os
from typing import Any, Generic, Optional, TypeVar

from .. import _task
from .._pickling import load_cloudpickle, pickling

T = TypeVar("T")


class Pickled:
    """`with Pickled() as pickled:` the broadcasts that are pickled meanwhile."""

    active: Optional[Pickled] = None

    def __init__(self) -> None:
        self.broadcasts: list[Broadcast[Any]] = []

    def __enter__(self) -> Pickled:
        Pickled.active = self
        return self

    def __exit__(self, *_: object) -> None:
        Pickled.active = None


class Broadcast(Generic[T]):
    def __init__(self, path: str, value: Optional[T] = None, context: Any = None) -> None:
        self._path = path
        self._context = context
        self._destroyed = False
        if context is not None:
            self._value: Optional[T] = value
            with open(path + ".tmp", "wb") as file, pickling("broadcast"):
                load_cloudpickle().dump(value, file, protocol=5)
            os.rename(path + ".tmp", path)

    @property
    def name(self) -> str:
        return os.path.basename(self._path)

    @property
    def path(self) -> str:
        return self._path

    @property
    def value(self) -> T:
        if self._destroyed:
            raise RuntimeError(f"Attempted to use {self!r} after it was destroyed")
        if self._context is not None:
            return self._value  # type: ignore[return-value]
        return _task.broadcast_value(self._path)  # type: ignore[no-any-return]

    def unpersist(self, blocking: bool = False) -> None:
        """Tasks read it again when they need it: each worker has its own copy."""

    def destroy(self, blocking: bool = False) -> None:
        if self._context is None:
            raise RuntimeError("Broadcast can only be destroyed in driver")
        self._destroyed, self._value = True, None
        with self._context._turns:
            self._context._workers.unship(self)
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass

    def __reduce__(self) -> Any:
        if self._destroyed:
            raise RuntimeError(f"Attempted to use {self!r} after it was destroyed")
        if Pickled.active is not None and self not in Pickled.active.broadcasts:
            Pickled.active.broadcasts.append(self)
        return Broadcast, (self._path,)

    def __repr__(self) -> str:
        return f"Broadcast({os.path.basename(self._path)})"
