"""Samples that depend on a seed, the partition and the order of its elements only. A seed chooses
the same elements as in PySpark, whose generators these are."""

from __future__ import annotations

import math
import operator
import random
import sys
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any, Optional


def _generator(seed: int, split: int) -> random.Random:
    rand = random.Random(seed ^ split)
    for _ in range(10):  # seeds of neighbouring partitions are similar
        rand.randint(0, 1)
    return rand


def _poisson(rand: random.Random, mean: float) -> int:
    """Source: Knuth, The Art of Computer Programming 2, 3.4.1, algorithm Q."""
    count = 0
    if mean < 20.0:
        limit, product = math.exp(-mean), rand.random()
        while product > limit:
            count += 1
            product *= rand.random()
        return count
    total = rand.expovariate(mean)
    while total < 1.0:
        count += 1
        total += rand.expovariate(mean)
    return count


class Sampler:
    def __init__(self, replace: bool, fraction: float, seed: Optional[int]) -> None:
        self.replace = replace
        self.fraction = fraction
        self.seed = random.randint(0, sys.maxsize) if seed is None else seed

    def fraction_of(self, item: Any) -> float:
        return self.fraction

    def __call__(self, split: int, items: Iterator[Any]) -> Iterator[Any]:
        rand = _generator(self.seed, split)
        for item in items:
            fraction = self.fraction_of(item)
            if self.replace:
                for _ in range(_poisson(rand, fraction)):
                    yield item
            elif rand.random() < fraction:
                yield item


class StratifiedSampler(Sampler):
    def __init__(self, replace: bool, fractions: dict[Any, float], seed: Optional[int]) -> None:
        super().__init__(replace, 0.0, seed)
        self.fractions = fractions

    def fraction_of(self, item: Any) -> float:
        return self.fractions[item[0]]


class RangeSampler:
    def __init__(self, lower: float, upper: float, seed: int) -> None:
        self.lower, self.upper, self.seed = lower, upper, seed

    def __call__(self, split: int, items: Iterator[Any]) -> Iterator[Any]:
        rand = _generator(self.seed, split)
        return (item for item in items if self.lower <= rand.random() < self.upper)


def sample_fraction(least: int, total: int, replace: bool) -> float:
    """With which a sample has at least `least` of `total` elements in 99.99 % of all cases. Source:
    Spark's SamplingUtils."""
    fraction = least / total
    if replace:
        return fraction + (5 if least >= 12 else 9) * math.sqrt(fraction / total)
    gamma = -math.log(0.00005) / total
    return min(1, fraction + gamma + math.sqrt(gamma * gamma + 2 * gamma * fraction))


def _reservoir(items: Iterator[Any], most: int, rand: random.Random) -> tuple[list[Any], int]:
    """So many of the items at most, and how many there are. Source: Li, Reservoir-sampling
    algorithms of time complexity O(n(1 + log(N/n))), algorithm L: it knows how many to pass."""
    chosen = list(islice(items, most))
    if len(chosen) < most:
        return chosen, len(chosen)
    numbers = count(most)
    rest = zip(items, numbers)
    share = 1.0
    while True:
        share *= math.exp(math.log(1.0 - rand.random()) / most)
        passed = math.log(1.0 - rand.random()) / math.log1p(-max(share, sys.float_info.epsilon))
        found = next(islice(rest, min(int(passed), sys.maxsize), None), None)
        if found is None:
            return chosen, next(numbers)
        chosen[rand.randrange(most)] = found[0]


class KeySampler:
    """Of a partition one element: at most so many keys, how many of all keys there are for each,
    and whether all elements were looked at. `functions`, each of single elements, are called for a
    sample of what they read."""

    def __init__(self, most: int, key: Callable[[Any], Any], *functions: Any) -> None:
        self.most = most
        self.key = key
        self.functions = functions

    def __call__(self, split: int, items: Iterator[Any]) -> list[Any]:
        rand = random.Random(split)
        some, total = _reservoir(items, self.most, rand)
        made: Iterator[Any] = iter(some)
        for function in self.functions:
            made = iter(function(split, made))
        chosen, count = _reservoir(made, self.most, rand)
        weight = total / max(len(some), 1) * count / max(len(chosen), 1)
        return [([self.key(item) for item in chosen], weight, total == len(some))]


def bounds_of_ranges(keys: list[tuple[Any, float]], ranges: int) -> list[Any]:
    """Of ranges with about the same weight of keys. If these are all keys, the bounds of partitions
    are PySpark's."""
    keys.sort(key=operator.itemgetter(0))
    total, passed = sum(weight for _, weight in keys), 0.0
    bounds: list[Any] = []
    for key, weight in keys:
        passed += weight
        while len(bounds) < ranges - 1 and passed * ranges > total * (len(bounds) + 1):
            bounds.append(key)
    return bounds
