"""glint's built-in functions by name, where a function of Python is accepted. What each does in a
worker; the engine has its own of these names (pyspark/_typed.py)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any


def _first(a: Any, _: Any) -> Any:
    return a


def _last(_: Any, b: Any) -> Any:
    return b


def _pair_with_one(x: Any) -> tuple[Any, int]:
    return x, 1


def _key_value(line: str) -> tuple[str, str]:
    key, _, value = line.partition("\t")
    return key, value


def _split_words(line: str) -> list[str]:
    return re.findall("[^ \t\n\v\f\r]+", line)


_REDUCE: dict[str, Callable[..., Any]] = {
    "sum_i64": operator.add, "sum_f64": operator.add, "or_i64": operator.or_,
    "min_i64": min, "min_f64": min, "min_text": min, "max_i64": max, "max_f64": max,
    "max_text": max, "concat_text": operator.add, "first": _first, "last_i64": _last,
    "last_f64": _last, "last_text": _last}
NAMES: dict[str, dict[str, Callable[..., Any]]] = {
    "map": {"pair_with_one": _pair_with_one, "key_value": _key_value},
    "flatMap": {"split_words": _split_words},
    "flatMapValues": {"parse_i64": lambda text: [int(text)], "parse_f64": lambda t: [float(t)]},
    "combineByKey": {"count": len}, "reduceByKey": _REDUCE, "reduce": _REDUCE}


def function_of(f: Any, method: str) -> Callable[..., Any]:
    """`f`, or the function of this name."""
    if not isinstance(f, str):
        return f  # type: ignore[no-any-return]
    names = NAMES[method]
    if f not in names:
        raise ValueError(f"{method}: no built-in function {f!r} here, but {', '.join(names)}; or a "
                         "function of Python")
    return names[f]
