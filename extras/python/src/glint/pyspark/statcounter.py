"""StatCounter: count, mean, variance and extremes of numbers or arrays, merged without loss of
precision. Source of the merge: Chan, Golub and LeVeque, Updating Formulae (1979)."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Iterable
from typing import Any, Optional


@functools.lru_cache(maxsize=None)
def _numpy() -> Any:
    """NumPy's maximum, minimum and sqrt, or Python's. Imported when a value is counted: it takes
    longer than all else of a program."""
    try:
        from numpy import maximum, minimum, sqrt
    except ImportError:
        return max, min, math.sqrt
    return maximum, minimum, sqrt


class StatCounter:
    def __init__(self, values: Optional[Iterable[Any]] = None) -> None:
        self.n = 0
        self.mu: Any = 0.0
        self.m2: Any = 0.0
        self.maxValue: Any = float("-inf")
        self.minValue: Any = float("inf")
        for value in values if values is not None else ():
            self.merge(value)

    def merge(self, value: Any) -> StatCounter:
        delta = value - self.mu
        self.n += 1
        self.mu += delta / self.n
        self.m2 += delta * (value - self.mu)
        self.maxValue = _numpy()[0](self.maxValue, value)
        self.minValue = _numpy()[1](self.minValue, value)
        return self

    def mergeStats(self, other: StatCounter) -> StatCounter:
        if not isinstance(other, StatCounter):
            raise TypeError(f"Can only merge StatCounter but got {type(other)}")
        if other is self:
            return self.mergeStats(other.copy())
        if self.n == 0:
            self.__dict__.update(other.copy().__dict__)
        elif other.n != 0:
            delta = other.mu - self.mu
            if other.n * 10 < self.n:
                self.mu = self.mu + (delta * other.n) / (self.n + other.n)
            elif self.n * 10 < other.n:
                self.mu = other.mu - (delta * self.n) / (self.n + other.n)
            else:
                self.mu = (self.mu * self.n + other.mu * other.n) / (self.n + other.n)
            self.maxValue = _numpy()[0](self.maxValue, other.maxValue)
            self.minValue = _numpy()[1](self.minValue, other.minValue)
            self.m2 += other.m2 + (delta * delta * self.n * other.n) / (self.n + other.n)
            self.n += other.n
        return self

    def copy(self) -> StatCounter:
        return copy.deepcopy(self)

    def count(self) -> int:
        return int(self.n)

    def mean(self) -> Any:
        return self.mu

    def sum(self) -> Any:
        return self.n * self.mu

    def min(self) -> Any:
        return self.minValue

    def max(self) -> Any:
        return self.maxValue

    def variance(self) -> Any:
        return float("nan") if self.n == 0 else self.m2 / self.n

    def sampleVariance(self) -> Any:
        return float("nan") if self.n <= 1 else self.m2 / (self.n - 1)

    def stdev(self) -> Any:
        return _numpy()[2](self.variance())

    def sampleStdev(self) -> Any:
        return _numpy()[2](self.sampleVariance())

    def asDict(self, sample: bool = False) -> dict[str, Any]:
        return {
            "count": self.count(), "mean": self.mean(), "sum": self.sum(), "min": self.min(),
            "max": self.max(),
            # As in PySpark: those of a sample are the default.
            "stdev": self.stdev() if sample else self.sampleStdev(),
            "variance": self.variance() if sample else self.sampleVariance(),
        }

    def __repr__(self) -> str:
        return "(count: %s, mean: %s, stdev: %s, max: %s, min: %s)" % (
            self.count(), self.mean(), self.stdev(), self.max(), self.min())
