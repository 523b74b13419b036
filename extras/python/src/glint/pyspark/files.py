"""SparkFiles: files that SparkContext.addFile has copied, for functions."""

from __future__ import annotations

import os

from .. import _task


class SparkFiles:
    _root = ""  # of the driver's context

    def __init__(self) -> None:
        raise NotImplementedError("Do not construct SparkFiles objects")

    @classmethod
    def get(cls, filename: str) -> str:
        return os.path.abspath(os.path.join(cls.getRootDirectory(), filename))

    @classmethod
    def getRootDirectory(cls) -> str:
        if _task.directory is not None:
            return _task.files.get("root", os.path.join(_task.directory, "files"))
        return cls._root
