"""`import pyspark` gives glint.pyspark: for programs that run unchanged (glint.submit), and in
their workers."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Optional

TARGETS = {"pyspark": "glint.pyspark", "py4j": "glint.pyspark.py4j"}


class Finder:
    """A finder and loader of modules, without importlib.abc, which imports a tenth of all that a
    program needs."""

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]] = None,
        target: Optional[ModuleType] = None,
    ) -> Optional[importlib.machinery.ModuleSpec]:
        name = fullname.partition(".")[0]
        if name not in TARGETS:
            return None
        real = _target(fullname)
        if importlib.util.find_spec(real) is None:
            raise NotImplementedError(
                f"{fullname} is not part of glint, which has Spark's RDDs: use pyspark for it"
            )
        return importlib.machinery.ModuleSpec(fullname, self)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(_target(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        """It is executed already, under its own name."""


def _target(name: str) -> str:
    """PySpark has its modules of RDDs in pyspark.core, too."""
    package, dot, rest = name.replace(".core", "", 1).partition(".")
    return TARGETS[package] + dot + rest


def install() -> None:
    if installed():
        return
    for name in [name for name in sys.modules if name.partition(".")[0] in TARGETS]:
        del sys.modules[name]
    sys.meta_path.insert(0, Finder())


def installed() -> bool:
    return any(isinstance(finder, Finder) for finder in sys.meta_path)
