"""SparkSession, as far as Spark's examples of RDDs use it: a way to a SparkContext, and rows of
lines. DataFrames are not part of glint."""

from __future__ import annotations

from typing import Any, ClassVar, Optional

from .conf import SparkConf
from .context import VERSION, SparkContext
from .errors import not_here
from .rdd import RDD


class Row(tuple[Any, ...]):
    """A row of one column, `value`."""

    def __new__(cls, value: Any) -> Row:
        return super().__new__(cls, (value,))

    def __getnewargs__(self) -> tuple[Any]:
        return (self[0],)

    @property
    def value(self) -> Any:
        return self[0]

    def asDict(self, recursive: bool = False) -> dict[str, Any]:
        return {"value": self[0]}

    def __repr__(self) -> str:
        return f"Row(value={self[0]!r})"


class Lines:
    """What read.text returns: its rdd."""

    def __init__(self, lines: RDD) -> None:
        self.rdd = lines.map(Row)

    def __getattr__(self, name: str) -> Any:
        raise not_here(f"DataFrame.{name}", "use its rdd, or PySpark itself")


class DataFrameReader:
    def __init__(self, context: SparkContext) -> None:
        self._context = context

    def text(self, paths: Any, wholetext: bool = False, **options: Any) -> Lines:
        if wholetext or options:
            raise not_here("read.text with options", "use SparkContext.wholeTextFiles or textFile")
        # One partition for a small file, as in Spark.
        text = paths if isinstance(paths, str) else ",".join(paths)
        return Lines(self._context.textFile(text, 1))

    def __getattr__(self, name: str) -> Any:
        raise not_here(f"DataFrameReader.{name}", "use SparkContext.textFile, or PySpark itself")


class SparkSession:
    _active: ClassVar[Optional[SparkSession]] = None

    class Builder:
        def __init__(self) -> None:
            self._options: dict[str, str] = {}

        def config(self, key: Optional[str] = None, value: Any = None,
                   conf: Optional[SparkConf] = None, *,
                   map: Optional[dict[str, Any]] = None) -> SparkSession.Builder:
            if conf is not None:
                self._options.update(conf.getAll())
            if map is not None:
                self._options.update({k: str(v) for k, v in map.items()})
            if key is not None:
                self._options[key] = str(value)
            return self

        def master(self, master: str) -> SparkSession.Builder:
            return self.config("spark.master", master)

        def appName(self, name: str) -> SparkSession.Builder:
            return self.config("spark.app.name", name)

        def enableHiveSupport(self) -> SparkSession.Builder:
            raise not_here("Hive", "use PySpark itself")

        def remote(self, url: str) -> SparkSession.Builder:
            raise not_here("Spark Connect", "use PySpark itself")

        def getOrCreate(self) -> SparkSession:
            session = SparkSession._active
            if session is None or SparkContext._active_spark_context is not session._sc:
                conf = SparkConf()
                conf.setAll(list(self._options.items()))
                session = SparkSession(SparkContext.getOrCreate(conf))
            return session

    class _BuilderOfClass:
        def __get__(self, _: Any, __: Any) -> SparkSession.Builder:
            return SparkSession.Builder()

    builder = _BuilderOfClass()

    def __init__(self, sparkContext: SparkContext) -> None:
        self._sc = sparkContext
        SparkSession._active = self

    @property
    def sparkContext(self) -> SparkContext:
        return self._sc

    @property
    def version(self) -> str:
        return VERSION

    @property
    def read(self) -> DataFrameReader:
        return DataFrameReader(self._sc)

    @classmethod
    def getActiveSession(cls) -> Optional[SparkSession]:
        return cls._active

    def stop(self) -> None:
        self._sc.stop()
        SparkSession._active = None

    def __enter__(self) -> SparkSession:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise not_here(f"SparkSession.{name}", "use its sparkContext, or PySpark itself")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise not_here(f"pyspark.sql.{name}", "glint has Spark's RDDs; use PySpark itself")
