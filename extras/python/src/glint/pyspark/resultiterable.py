"""ResultIterable: the values of a key, as groupByKey and cogroup give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class ResultIterable(Generic[T]):
    def __init__(self, data: Iterable[T]) -> None:
        self.data = data
        self.index = 0
        self.maxindex = len(data)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)  # type: ignore[arg-type]
