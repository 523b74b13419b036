"""SparkConf: settings by name. docs: extras/python/README.md says which have an effect."""

from __future__ import annotations

from typing import Any, Optional

from .errors import PySparkRuntimeError


class SparkConf:
    def __init__(self, loadDefaults: bool = True, _jvm: Any = None, _jconf: Any = None) -> None:
        self._conf: dict[str, str] = {}
        if loadDefaults:
            from .context import defaults

            self._conf.update(defaults)

    def set(self, key: str, value: str) -> SparkConf:
        self._conf[key] = str(value)
        return self

    def setIfMissing(self, key: str, value: str) -> SparkConf:
        self._conf.setdefault(key, str(value))
        return self

    def setMaster(self, value: str) -> SparkConf:
        return self.set("spark.master", value)

    def setAppName(self, value: str) -> SparkConf:
        return self.set("spark.app.name", value)

    def setSparkHome(self, value: str) -> SparkConf:
        return self.set("spark.home", value)

    def setExecutorEnv(
        self, key: Optional[str] = None, value: Optional[str] = None,
        pairs: Optional[list[tuple[str, str]]] = None,
    ) -> SparkConf:
        if (key is not None and pairs is not None) or (key is None and pairs is None):
            raise PySparkRuntimeError("Either pass one key-value pair or a list of pairs")
        for name, text in pairs if pairs is not None else [(key, value)]:
            self.set(f"spark.executorEnv.{name}", str(text))
        return self

    def setAll(self, pairs: list[tuple[str, str]]) -> SparkConf:
        for key, value in pairs:
            self.set(key, value)
        return self

    def get(self, key: str, defaultValue: Optional[str] = None) -> Optional[str]:
        return self._conf.get(key, defaultValue)

    def getAll(self) -> list[tuple[str, str]]:
        return list(self._conf.items())

    def contains(self, key: str) -> bool:
        return key in self._conf

    def toDebugString(self) -> str:
        return "\n".join(f"{key}={value}" for key, value in sorted(self._conf.items()))
