"""Exceptions, with the names of pyspark.errors."""

from __future__ import annotations

from typing import NoReturn, Optional

from .._errors import JobError


class PySparkException(Exception):
    """The base of all."""


class PySparkRuntimeError(PySparkException, RuntimeError):
    pass


class PySparkValueError(PySparkException, ValueError):
    pass


class PySparkTypeError(PySparkException, TypeError):
    pass


class PySparkNotImplementedError(PySparkException, NotImplementedError):
    pass


class JobCancelledError(PySparkRuntimeError, JobError):
    def __init__(self, job: int, why: str) -> None:
        super().__init__(f"[SPARK_JOB_CANCELLED] Job {job} cancelled {why}")


class OutputExistsError(FileExistsError, JobError):
    def __init__(self, path: str) -> None:
        super().__init__(f"Output directory file:{path} already exists")


class PythonException(PySparkException, JobError):
    """A function failed in a worker. The text ends with its traceback; `__cause__` is what it
    raised, if that can be pickled."""

    def __init__(self, text: str, cause: Optional[BaseException] = None) -> None:
        super().__init__(text)
        self.__cause__ = cause


def refuse_methods(cls: type, instead: str, *names: str) -> None:
    """Methods that a class of PySpark has, and glint does not: they raise when they are called."""

    def add(name: str) -> None:
        def refused(*_: object, **__: object) -> NoReturn:
            raise not_here(f"{cls.__name__}.{name}", instead)

        refused.__name__ = name
        setattr(cls, name, refused)

    for name in names:
        add(name)


def not_here(name: str, instead: str) -> PySparkNotImplementedError:
    return PySparkNotImplementedError(f"{name} is not part of glint: {instead}")
