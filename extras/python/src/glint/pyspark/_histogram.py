"""Histograms with PySpark's bounds, and the number of different elements by HyperLogLog."""

from __future__ import annotations

import bisect
import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

from .._shuffle import portable_hash


def bounds_of(rdd: Any, buckets: Union[int, Sequence[Any]]) -> tuple[Sequence[Any], Optional[Any]]:
    """The bounds, and the width if all buckets have the same one."""
    if isinstance(buckets, int):
        if buckets < 1:
            raise ValueError("number of buckets must be >= 1")
        return _even_bounds(rdd, buckets)
    if not isinstance(buckets, (list, tuple)):
        raise TypeError("buckets should be a list or tuple or number(int or long)")
    if len(buckets) < 2:
        raise ValueError("buckets should have more than one value")
    if any(i is None or (isinstance(i, float) and math.isnan(i)) for i in buckets):
        raise ValueError("can not have None or NaN in buckets")
    if sorted(buckets) != list(buckets):
        raise ValueError("buckets should be sorted")
    if len(set(buckets)) != len(buckets):
        raise ValueError("buckets should not contain duplicated values")
    try:
        steps = [b - a for a, b in zip(buckets, buckets[1:])]
    except TypeError:  # of text
        return buckets, None
    even = max(steps) - min(steps) < 1e-10
    return buckets, (buckets[-1] - buckets[0]) / len(steps) if even else None


def _even_bounds(rdd: Any, buckets: int) -> tuple[Sequence[Any], Optional[Any]]:
    from ._numbers import is_comparable

    low, high = rdd.filter(is_comparable).map(lambda x: (x, x)).reduce(
        lambda a, b: (min(a[0], b[0]), max(a[1], b[1])))
    if low == high:
        return [low, high], 0
    if buckets == 1:
        return [low, high], None
    try:
        width = (high - low) / buckets
    except TypeError:
        raise TypeError("Can not generate buckets with non-number in RDD") from None
    if math.isinf(width):
        raise ValueError("Can not generate buckets with infinite value")
    width = int(width)
    if width * buckets != high - low:
        width = (high - low) * 1.0 / buckets
    return [i * width + low for i in range(buckets)] + [high], width


def count_in(items: Iterable[Any], bounds: Sequence[Any], width: Optional[Any]) -> list[int]:
    low, high = bounds[0], bounds[-1]
    counts = [0] * len(bounds)
    for x in items:
        if x is None or (isinstance(x, float) and math.isnan(x)) or x > high or x < low:
            continue
        counts[int((x - low) / width) if width else bisect.bisect_right(bounds, x) - 1] += 1
    last = counts.pop()  # the last bucket has its upper bound
    counts[-1] += last
    return counts


def registers_of(items: Iterable[Any], bits: int) -> bytearray:
    registers = bytearray(1 << bits)
    for x in items:
        text = (portable_hash(x) & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")
        h = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
        rest = h >> bits
        rank = 64 - bits - rest.bit_length() + 1
        at = h & ((1 << bits) - 1)
        registers[at] = max(registers[at], rank)
    return registers


def estimate_distinct(registers: bytes, bits: int) -> int:
    """Source: Flajolet and others, HyperLogLog (2007)."""
    m = 1 << bits
    alpha = {16: 0.673, 32: 0.697, 64: 0.709}.get(m, 0.7213 / (1 + 1.079 / m))
    estimate = alpha * m * m / sum(2.0**-r for r in registers)
    zeros = registers.count(0)
    if estimate <= 2.5 * m and zeros:
        estimate = m * math.log(m / zeros)
    return round(estimate)
