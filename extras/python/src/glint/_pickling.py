"""Pickles of elements. What other processes have no name for goes by value, as cloudpickle does it:
classes and functions of the main program, or made in a function."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MAIN = b"__main__"  # what has this module cannot be found in a worker, or in the driver


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
    import cloudpickle

    with pickling():
        return cloudpickle.dumps(items, protocol)  # type: ignore[no-any-return]
