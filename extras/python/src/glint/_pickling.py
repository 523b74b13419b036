"""Pickles of elements. What other processes have no name for goes by value, as cloudpickle does it:
classes and functions of the main program, or made in a function."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

MAIN = b"__main__"  # what has this module cannot be found in a worker, or in the driver


class _Later(ModuleType):
    """A module that is imported when a name of it is needed."""

    def __getattr__(self, name: str) -> Any:
        self.leave()
        return getattr(importlib.import_module(self.__name__), name)

    def leave(self) -> None:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


def load_cloudpickle() -> Any:
    """Without what the modules that it imports need in few functions, 40 % of its time."""
    loaded = sys.modules.get("cloudpickle")
    if loaded is not None:
        return loaded
    later = [one for one in map(_Later, ("inspect", "traceback"))
             if sys.modules.setdefault(one.__name__, one) is one]
    try:
        return importlib.import_module("cloudpickle")
    finally:
        for one in later:
            one.leave()


@contextmanager
def pickling(what: str = "object") -> Iterator[None]:
    """Whatever prevents a pickle is a PicklingError, as in PySpark."""
    try:
        yield
    except pickle.PicklingError:
        raise
    except Exception as error:
        raise pickle.PicklingError(
            f"Could not serialize {what}: {type(error).__name__}: {error}") from error


def dumps(items: Any, protocol: int = 5) -> bytes:
    try:
        data = pickle.dumps(items, protocol)
    except Exception:  # also what a class's own __reduce__ raises
        pass
    else:
        if MAIN not in data:
            return data
    with pickling():
        return load_cloudpickle().dumps(items, protocol)  # type: ignore[no-any-return]
