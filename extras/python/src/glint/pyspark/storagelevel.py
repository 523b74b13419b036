"""StorageLevel, as in PySpark. glint keeps blocks pickled, once."""

from __future__ import annotations

from typing import Any, ClassVar


class StorageLevel:
    DISK_ONLY: ClassVar[StorageLevel]
    DISK_ONLY_2: ClassVar[StorageLevel]
    DISK_ONLY_3: ClassVar[StorageLevel]
    MEMORY_ONLY: ClassVar[StorageLevel]
    MEMORY_ONLY_2: ClassVar[StorageLevel]
    MEMORY_AND_DISK: ClassVar[StorageLevel]
    MEMORY_AND_DISK_2: ClassVar[StorageLevel]
    MEMORY_AND_DISK_DESER: ClassVar[StorageLevel]
    OFF_HEAP: ClassVar[StorageLevel]
    NONE: ClassVar[StorageLevel]

    def __init__(self, useDisk: bool, useMemory: bool, useOffHeap: bool, deserialized: bool,
                 replication: int = 1) -> None:
        self.useDisk = useDisk
        self.useMemory = useMemory
        self.useOffHeap = useOffHeap
        self.deserialized = deserialized
        self.replication = replication

    def __repr__(self) -> str:
        return "StorageLevel(%s, %s, %s, %s, %s)" % (
            self.useDisk, self.useMemory, self.useOffHeap, self.deserialized, self.replication)

    def __str__(self) -> str:
        text = "".join(
            name + " " for name, used in (("Disk", self.useDisk), ("Memory", self.useMemory),
                                          ("OffHeap", self.useOffHeap)) if used)
        text += "Deserialized " if self.deserialized else "Serialized "
        return text + f"{self.replication}x Replicated"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, StorageLevel) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))


StorageLevel.NONE = StorageLevel(False, False, False, False)
StorageLevel.DISK_ONLY = StorageLevel(True, False, False, False)
StorageLevel.DISK_ONLY_2 = StorageLevel(True, False, False, False, 2)
StorageLevel.DISK_ONLY_3 = StorageLevel(True, False, False, False, 3)
StorageLevel.MEMORY_ONLY = StorageLevel(False, True, False, False)
StorageLevel.MEMORY_ONLY_2 = StorageLevel(False, True, False, False, 2)
StorageLevel.MEMORY_AND_DISK = StorageLevel(True, True, False, False)
StorageLevel.MEMORY_AND_DISK_2 = StorageLevel(True, True, False, False, 2)
StorageLevel.MEMORY_AND_DISK_DESER = StorageLevel(True, True, False, True)
StorageLevel.OFF_HEAP = StorageLevel(True, True, True, False, 1)
