"""Methods of RDDs for numbers, and those that estimate."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

from . import _typed
from ._typed import in_engine
from .statcounter import StatCounter


class NumberMethods:
    filter: Any  # of RDD
    mapPartitions: Any
    count: Callable[[], int]
    _values: Any
    _some_values: Any

    @in_engine(_typed.total)
    def sum(self) -> Any:
        return self.mapPartitions(lambda items: [sum(items)]).fold(0, operator.add)

    @in_engine(_typed.stats)
    def stats(self) -> StatCounter:
        return self.mapPartitions(lambda items: [StatCounter(items)]).reduce(  # type: ignore
            lambda a, b: a.mergeStats(b))

    def mean(self) -> Any:
        return self.stats().mean()

    def variance(self) -> Any:
        return self.stats().variance()

    def stdev(self) -> Any:
        return self.stats().stdev()

    def sampleStdev(self) -> Any:
        return self.stats().sampleStdev()

    def sampleVariance(self) -> Any:
        return self.stats().sampleVariance()

    @in_engine(_typed.histogram)
    def histogram(self, buckets: Union[int, Sequence[Any]]) -> tuple[Sequence[Any], list[int]]:
        from ._histogram import bounds_of, count_in

        bounds, even = bounds_of(self, buckets)
        if even is not None and len(bounds) == 2 and bounds[0] == bounds[1]:
            return bounds, [self.filter(is_comparable).count()]
        counts = self._some_values(lambda _, items: [count_in(items, bounds, even)])
        return bounds, [sum(column) for column in zip(*counts)]

    def countApprox(self, timeout: int, confidence: float = 0.95) -> int:
        return self.count()

    def sumApprox(self, timeout: int, confidence: float = 0.95) -> BoundedFloat:
        return BoundedFloat(float(self.sum()), 1.0)

    def meanApprox(self, timeout: int, confidence: float = 0.95) -> BoundedFloat:
        return BoundedFloat(float(self.mean()), 1.0)

    @in_engine(_typed.count_approx_distinct)
    def countApproxDistinct(self, relativeSD: float = 0.05) -> int:
        from ._histogram import estimate_distinct, registers_of

        if relativeSD < 0.000017:
            raise ValueError("relativeSD should be greater than 0.000017")
        bits = max(4, int(math.ceil(2 * math.log2(1.054 / relativeSD))))
        parts = self._values(lambda _, items: [registers_of(items, bits)])
        return estimate_distinct(bytes(map(max, *parts, *[bytes(1 << bits)] * 2)), bits)


class BoundedFloat(float):
    """A float and its bounds; here it is exact."""

    confidence: float
    low: float
    high: float

    def __new__(cls, mean: float, confidence: float, low: Optional[float] = None,
                high: Optional[float] = None) -> BoundedFloat:
        self = float.__new__(cls, mean)
        self.confidence = confidence
        self.low = mean if low is None else low
        self.high = mean if high is None else high
        return self


def is_comparable(x: Any) -> bool:
    return x is not None and not (type(x) is float and math.isnan(x))
