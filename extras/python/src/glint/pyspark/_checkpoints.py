"""Checkpoints, as in PySpark: the job that computes an RDD, or what descends from it, is followed
by one that saves it. What is computed later reads the saved elements."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional

from . import _typed
from ._data import Source
from ._saving import open_parts
from ._typed import in_engine
from .errors import PySparkRuntimeError
from .storagelevel import StorageLevel

if TYPE_CHECKING:
    from .rdd import RDD


class Checkpoints(Source):
    ctx: Any  # of RDD
    is_cached: bool
    persist: Any
    saveAsPickleFile: Any
    _id: int
    _read: Any
    is_checkpointed: bool  # or is to be
    _checkpoint_file: Optional[str] = None
    _local_checkpoint = False

    @in_engine(_typed.checkpoint)
    def checkpoint(self, path: Optional[str] = None) -> Optional[RDD]:
        """By the next job that needs it. Of an RDD of glint.Context `path` is a new directory, in
        which the records are saved now; returns an RDD that reads them."""
        if self.ctx._checkpoint_dir is None:
            raise PySparkRuntimeError("Checkpoint directory has not been set in the SparkContext")
        self.is_checkpointed = True
        return None

    def isCheckpointed(self) -> bool:
        local = self._local_checkpoint and self._checkpoint_done
        return self._checkpoint_file is not None or local

    def localCheckpoint(self) -> None:
        self._local_checkpoint = True
        if not self.is_cached:
            self.persist(StorageLevel.MEMORY_AND_DISK)

    def isLocallyCheckpointed(self) -> bool:
        return self._local_checkpoint

    def getCheckpointFile(self) -> Optional[str]:
        return self._checkpoint_file

    def _forget(self) -> None:
        if not self.is_cached:
            super()._forget()

    def _checkpoint_lineage(self) -> None:
        """After a job of this RDD: saves the nearest that it descends from and that are to be
        saved, or itself. Looks at each once, as Spark: what is marked later is not saved by it."""
        waiting: list[Source] = [self]
        passed, saved = list[Source](), False
        while waiting:
            source = waiting.pop()
            if source._checkpoint_done:
                continue
            source._checkpoint_done = True
            if isinstance(source, Checkpoints) and source.is_checkpointed:
                source._write_checkpoint()
                saved = True
            else:
                passed.append(source)
                waiting += source._reads
        for source in passed if saved else []:
            source._forget()  # made again, of what is saved

    def _write_checkpoint(self) -> None:
        os.makedirs(self.ctx._checkpoint_dir, exist_ok=True)
        path = os.path.join(self.ctx._checkpoint_dir, f"rdd-{self._id}")
        self._read(self._save_checkpoint(path), None)
        self._made = None
        self._checkpoint_file = path

    def _save_checkpoint(self, path: str) -> RDD:
        self.saveAsPickleFile(path)
        return open_parts(self.ctx, path)
