"""Checkpoints, as in PySpark: the job that computes an RDD, or what descends from it, is followed
by one that saves it. What is computed later reads the saved elements."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional

from . import _typed
from ._data import Once
from ._saving import open_parts
from ._typed import in_engine
from .errors import PySparkRuntimeError
from .storagelevel import StorageLevel

if TYPE_CHECKING:
    from ._data import Dataset
    from .rdd import RDD


class Checkpoints:
    ctx: Any  # of RDD
    is_cached: bool
    persist: Any
    saveAsPickleFile: Any
    _id: int
    _function: Any
    _keep: Any
    _made: Optional[Dataset]
    _parents: Sequence[RDD]
    _source: Callable[[], Dataset]
    is_checkpointed: bool
    _checkpoint_file: Optional[str] = None
    _local_checkpoint = False

    @in_engine(_typed.checkpoint)
    def checkpoint(self, path: Optional[str] = None) -> Optional[RDD]:
        """By the next job that needs it. Of an RDD of glint.Context `path` is a new directory, in
        which the records are saved now; returns an RDD that reads them."""
        if self.ctx._checkpoint_dir is None:
            raise PySparkRuntimeError("Checkpoint directory has not been set in the SparkContext")
        if not self.is_checkpointed:
            self.is_checkpointed = True
            self.ctx._to_checkpoint.add(self)
        return None

    def isCheckpointed(self) -> bool:
        return self._checkpoint_file is not None or self._local_checkpoint

    def localCheckpoint(self) -> None:
        self._local_checkpoint = True
        if not self.is_cached:
            self.persist(StorageLevel.MEMORY_AND_DISK)

    def isLocallyCheckpointed(self) -> bool:
        return self._local_checkpoint

    def getCheckpointFile(self) -> Optional[str]:
        return self._checkpoint_file

    def _checkpoint_lineage(self) -> None:
        """After a job of this RDD: saves the nearest that it descends from and that are to be
        saved, or itself."""
        marked = self.ctx._to_checkpoint
        waiting: list[Any] = [self]
        passed, saved = dict[int, Checkpoints](), False
        while marked and waiting:
            rdd = waiting.pop()
            if rdd in marked:
                marked.discard(rdd)
                rdd._write_checkpoint()
                saved = True
            elif id(rdd) not in passed:
                passed[id(rdd)] = rdd
                waiting += rdd._parents
        for rdd in passed.values() if saved else []:
            if not rdd.is_cached:
                rdd._made = None  # made again, of what is saved
                if isinstance(rdd._source, Once):
                    rdd._source.forget()

    def _write_checkpoint(self) -> None:
        os.makedirs(self.ctx._checkpoint_dir, exist_ok=True)
        path = os.path.join(self.ctx._checkpoint_dir, f"rdd-{self._id}")
        self._parents = ()  # it reads the saved elements; the job that saves them has no lineage
        made = self._save_checkpoint(path)
        self._source, self._function = (lambda: made), None
        self._keep(made)
        self._checkpoint_file = path

    def _save_checkpoint(self, path: str) -> Dataset:
        self.saveAsPickleFile(path)
        return open_parts(self.ctx, path)._dataset()
