"""Accumulators: tasks add, the driver reads. What a task has added counts once, when it succeeds.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from .. import _task
from .errors import PySparkRuntimeError

T = TypeVar("T")

_known: dict[int, Accumulator[Any]] = {}  # of the driver


class AccumulatorParam(Generic[T]):
    """How values of a type are added: a subclass has zero and addInPlace."""

    def zero(self, value: T) -> T:
        raise NotImplementedError

    def addInPlace(self, value1: T, value2: T) -> T:
        raise NotImplementedError


class AddingAccumulatorParam(AccumulatorParam[Any]):
    def __init__(self, zero_value: Any) -> None:
        self.zero_value = zero_value

    def zero(self, value: Any) -> Any:
        return self.zero_value

    def addInPlace(self, value1: Any, value2: Any) -> Any:
        value1 += value2
        return value1


INT_ACCUMULATOR_PARAM = AddingAccumulatorParam(0)
FLOAT_ACCUMULATOR_PARAM = AddingAccumulatorParam(0.0)
COMPLEX_ACCUMULATOR_PARAM = AddingAccumulatorParam(0.0j)


class Accumulator(Generic[T]):
    def __init__(self, aid: int, value: T, accum_param: AccumulatorParam[T]) -> None:
        self.aid = aid
        self.accum_param = accum_param
        self._value = value
        if _task.directory is None:
            _known[aid] = self

    def __reduce__(self) -> Any:
        return _in_worker, (self.aid, self.accum_param.zero(self._value), self.accum_param)

    @property
    def value(self) -> T:
        _check_is_driver()
        return self._value

    @value.setter
    def value(self, value: T) -> None:
        _check_is_driver()
        self._value = value

    def add(self, term: T) -> None:
        self._value = self.accum_param.addInPlace(self._value, term)

    def __iadd__(self, term: T) -> Accumulator[T]:
        self.add(term)
        return self

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return f"Accumulator<id={self.aid}, value={self._value}>"


def _check_is_driver() -> None:
    if _task.directory is not None:
        raise PySparkRuntimeError("[VALUE_NOT_ACCESSIBLE] Value `Accumulator.value` cannot be "
                                  "accessed inside tasks.")


def _in_worker(aid: int, zero: Any, param: AccumulatorParam[Any]) -> Accumulator[Any]:
    """One accumulator of a number per task, however often functions refer to it."""
    if _task.directory is None:
        return _known[aid]
    if aid not in _task.accumulators:
        _task.accumulators[aid] = Accumulator(aid, zero, param)
    return _task.accumulators[aid]  # type: ignore[no-any-return]


def add_from_task(values: dict[int, Any]) -> None:
    for aid, value in values.items():
        if aid in _known:
            _known[aid].add(value)
