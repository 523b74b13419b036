"""SparkContext: sources, shared values and settings. One at a time, as in PySpark."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Optional

from .._context import Context
from .._pickling import dumps
from .._records import Records
from .._turns import in_turn
from .accumulators import (
    COMPLEX_ACCUMULATOR_PARAM,
    FLOAT_ACCUMULATOR_PARAM,
    INT_ACCUMULATOR_PARAM,
    Accumulator,
    AccumulatorParam,
)
from .broadcast import Broadcast
from .conf import SparkConf
from .errors import PySparkRuntimeError, PySparkValueError, not_here, refuse_methods
from .files import SparkFiles
from .rdd import RDD, union_of
from .serializers import CPickleSerializer
from ._data import Dataset, Once, Workers
from ._jobs import GROUP, Jobs
from ._saving import local, open_parts

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from ._batches import BatchRDD
    from .status import StatusTracker

    T = TypeVar("T", default=Any)
    U = TypeVar("U", default=Any)

VERSION = "4.3.0"  # of PySpark, whose interface this is
defaults: dict[str, str] = {}  # settings of glint.submit
properties: dict[str, str] = {"SPARK_SUBMIT": "true"}
_BLOCK_ITEMS = 1 << 10  # the most in a batch of PySpark
CLUSTER = "glint://"  # of a master: the rest is the path of a cluster's file
_LOG_LEVELS = ("ALL", "DEBUG", "ERROR", "FATAL", "INFO", "OFF", "TRACE", "WARN")
PY_FILES = "spark.submit.pyFiles"
_SPLIT_BYTES = 32 << 20  # of a local file in Spark: a worker combines more than in small splits
_ACCUMULATOR_PARAMS: list[tuple[type, AccumulatorParam[Any]]] = [
    (int, INT_ACCUMULATOR_PARAM), (float, FLOAT_ACCUMULATOR_PARAM),
    (complex, COMPLEX_ACCUMULATOR_PARAM)]


class SparkContext:
    """Runs plans in this process, and Python functions in workers that it starts."""

    _active_spark_context: ClassVar[Optional[SparkContext]] = None
    _lock: ClassVar[threading.RLock] = threading.RLock()
    _is_spark = True
    PACKAGE_EXTENSIONS = (".zip", ".egg", ".jar")

    def __init__(
        self, master: Optional[str] = None, appName: Optional[str] = None,
        sparkHome: Optional[str] = None, pyFiles: Optional[list[str]] = None,
        environment: Optional[dict[str, Any]] = None, batchSize: int = 0,
        serializer: Any = None, conf: Optional[SparkConf] = None, gateway: Any = None,
        jsc: Any = None, profiler_cls: Any = None, udf_profiler_cls: Any = None,
        memory_profiler_cls: Any = None,
    ) -> None:
        from .. import _task

        if _task.directory is not None:
            raise PySparkRuntimeError("[CONTEXT_ONLY_VALID_ON_DRIVER] SparkContext can only be "
                                      "created and accessed on the driver")
        with SparkContext._lock:
            if SparkContext._active_spark_context is not None:
                raise ValueError("Cannot run multiple SparkContexts at once; existing "
                                 f"{SparkContext._active_spark_context!r}")
            self._start(master, appName, conf, environment)
            self.sparkHome = sparkHome
            self.serializer = serializer or CPickleSerializer()
            self.pythonExec, self.pythonVer = sys.executable, "%d.%d" % sys.version_info[:2]
            SparkContext._active_spark_context = self
        for path in pyFiles or []:
            self.addPyFile(path)

    def _start(self, master: Optional[str], name: Optional[str], conf: Optional[SparkConf],
               environment: Optional[dict[str, Any]]) -> None:
        self._conf = SparkConf() if conf is None else conf
        if master:
            self._conf.setMaster(master)
        if name:
            self._conf.setAppName(name)
        self.master = self._conf.setIfMissing("spark.master", "local[*]").get("spark.master") or ""
        self.appName = self._conf.setIfMissing("spark.app.name", "python").get("spark.app.name")
        self.environment = dict(environment or {})
        cluster = self.master[len(CLUSTER) :] if self.master.startswith(CLUSTER) else None
        slots = 0 if cluster is not None else _slots(self.master)
        settings = {"binary-files": "text"}  # textFile reads a file with a NUL, as in Spark
        settings.update({key[len("glint.") :].replace("_", "-"): value
                         for key, value in self._conf.getAll() if key.startswith("glint.")})
        if self._conf.get("spark.python.profile") == "true":
            raise not_here("spark.python.profile", "use cProfile in a function of mapPartitions")
        page = None
        if self._conf.get("spark.ui.enabled") == "true":
            page = f"127.0.0.1:{self._conf.get('spark.ui.port') or 0}"
        shown = self._conf.get("spark.ui.showConsoleProgress")
        jobs = Jobs()
        self._workers = Workers(
            Context(f"local[{slots}]", name=self.appName or "python", _cluster=cluster, _page=page,
                    _report=jobs.report, progress=None if shown is None else shown == "true",
                    **settings),
            cluster is not None, jobs)
        self._turns = self._workers.engine._turns
        if cluster is not None:
            slots = self._workers.engine._slots
        self._workers.environment.update({k: str(v) for k, v in self.environment.items()})
        for key, value in self._conf.getAll():
            if key.startswith("spark.executorEnv."):
                self._workers.environment[key[len("spark.executorEnv.") :]] = value
        parallelism = int(self._conf.get("spark.default.parallelism") or 0)
        self._shuffle_partitions = parallelism or None
        self._slots = slots
        self._parallelism = parallelism or slots
        self._start_time = int(time.time() * 1000)
        self._where = "local" if cluster is None else "glint"
        self._checkpoint_dir: Optional[str] = None
        self._rdd_numbers = iter(range(sys.maxsize))
        self._accumulators = iter(range(sys.maxsize))
        self._files: dict[str, str] = {}
        self._archives: list[str] = []
        SparkFiles._root = os.path.join(self._workers.directory, "files")
        os.mkdir(SparkFiles._root)
        if cluster is not None:
            for path in filter(None, (self._conf.get(PY_FILES) or "").split(",")):
                self.addPyFile(path)

    @classmethod
    def getOrCreate(cls, conf: Optional[SparkConf] = None) -> SparkContext:
        with SparkContext._lock:
            if SparkContext._active_spark_context is None:
                cls(conf=conf or SparkConf())
            assert SparkContext._active_spark_context is not None
            return SparkContext._active_spark_context

    def stop(self) -> None:
        """Jobs that run in other threads are cancelled."""
        workers: Any = self._workers
        self._workers = _Stopped()  # type: ignore[assignment]
        with SparkContext._lock:
            if SparkContext._active_spark_context is self:
                SparkContext._active_spark_context = None
        if isinstance(workers, Workers):
            workers.jobs.cancel(self._turns, "all")
            with self._turns:
                workers.close()

    def __enter__(self) -> SparkContext:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.stop()

    def __del__(self) -> None:
        """stop() is for the program; atexit ends the engine's context if it forgets."""

    def __repr__(self) -> str:
        return f"<SparkContext master={self.master} appName={self.appName}>"

    def _repr_html_(self) -> str:
        """In a notebook."""
        from html import escape

        rows = [("Version", f"v{self.version}"), ("Master", self.master), ("AppName", self.appName)]
        page = self.uiWebUrl
        link = "" if page is None else f'<p><a href="{escape(page)}">Page of the jobs</a></p>'
        return "<div><p><b>SparkContext</b></p>%s<dl>%s</dl></div>" % (link, "".join(
            f"<dt>{name}</dt><dd><code>{escape(str(value))}</code></dd>" for name, value in rows))

    def __getnewargs__(self) -> Any:
        raise PySparkRuntimeError(
            "[CONTEXT_ONLY_VALID_ON_DRIVER] It appears that you are attempting to reference "
            "SparkContext from a broadcast variable, action, or transformation. SparkContext can "
            "only be used on the driver, not in code that runs on workers. For more information, "
            "see SPARK-5063.")

    __reduce__ = __getnewargs__

    # ---- properties

    @property
    def version(self) -> str:
        return VERSION

    @property
    def uiWebUrl(self) -> Optional[str]:
        """The page of this context's jobs, until stop, with spark.ui.enabled=true."""
        return self._workers.engine._page

    @property
    def applicationId(self) -> str:
        return f"{self._where}-{self._start_time}"

    @property
    def startTime(self) -> int:
        return self._start_time

    @property
    def defaultParallelism(self) -> int:
        return self._parallelism

    @property
    def defaultMinPartitions(self) -> int:
        return min(self._parallelism, 2)

    @property
    def resources(self) -> dict[str, Any]:
        return {}

    def getConf(self) -> SparkConf:
        conf = SparkConf(False)
        conf.setAll(self._conf.getAll())
        return conf

    def sparkUser(self) -> str:
        import getpass

        return getpass.getuser()

    def setLogLevel(self, logLevel: str) -> None:
        """Has no effect but for an error: glint has no log of this process."""
        if logLevel.upper() not in _LOG_LEVELS:
            raise PySparkValueError(f"the level of a log is one of {', '.join(_LOG_LEVELS)}")

    @classmethod
    def setSystemProperty(cls, key: str, value: str) -> None:
        properties[key] = value
        if key.startswith("spark."):
            defaults[key] = value

    @classmethod
    def getSystemProperty(cls, key: str) -> Optional[str]:
        return properties.get(key)

    # ---- sources

    def emptyRDD(self) -> RDD:
        empty = RDD(self, Once(lambda: self._workers.parallelize([])))
        empty._kind = "EmptyRDD"
        return empty

    def range(self, start: int, end: Optional[int] = None, step: int = 1,
              numSlices: Optional[int] = None) -> RDD[int]:
        first, last = (0, start) if end is None else (start, end)
        return self.parallelize(range(first, last, step), numSlices)

    def parallelize(self, c: Iterable[T], numSlices: Optional[int] = None) -> RDD[T]:
        slices = self._parallelism if numSlices is None else int(numSlices)
        if slices < 1:
            raise ValueError("numSlices must be positive")
        items: Sequence[Any] = c if isinstance(c, range) else list(c)
        # As PySpark 4.3: a list is divided into batches, and these into slices. So of 30 elements
        # in 4 slices the last one has 9.
        batch = 1 if isinstance(c, range) else max(1, min(len(items) // slices, _BLOCK_ITEMS))
        count = -(-len(items) // batch)
        parts = [items[count * i // slices * batch : count * (i + 1) // slices * batch]
                 for i in range(slices)]
        if isinstance(c, range):
            blocks = [[dumps(part)] for part in parts]
        else:
            blocks = [[dumps(part[at : at + _BLOCK_ITEMS])
                       for at in range(0, len(part), _BLOCK_ITEMS)] for part in parts]
        parallelize, made = self._workers.parallelize, list[Dataset]()

        def make() -> Dataset:
            if not made:
                made.append(parallelize(blocks))
                blocks.clear()  # the engine has copied them
            return made[0]

        return self._rdd(make, "ParallelCollectionRDD")

    def _rdd(self, make: Callable[[], Dataset], kind: str = "MapPartitionsRDD") -> RDD:
        """Made when it is needed, so that an action says that a file is missing, as in Spark."""
        made = RDD(self, Once(make))
        made._kind = kind
        return made

    def textFile(self, name: Any, minPartitions: Optional[int] = None,
                 use_unicode: bool = True) -> RDD[str]:
        least = self.defaultMinPartitions if minPartitions is None else minPartitions
        def make() -> Dataset:
            lines = records_of(self._workers.engine.textFile(local(name), max(least, 1)))
            lines.set("glint_with_split_bytes", _SPLIT_BYTES)
            return Dataset(lines, "text" if use_unicode else "lines")

        return self._rdd(make)

    def wholeTextFiles(self, path: Any, minPartitions: Optional[int] = None,
                       use_unicode: bool = True) -> RDD[tuple[str, str]]:
        pairs = self._rdd(lambda: Dataset(
            records_of(self._workers.engine.wholeTextFiles(local(path))), "text pairs"))
        return pairs.map(_with_uri if use_unicode else _encoded_with_uri)

    def binaryFiles(self, path: Any,
                    minPartitions: Optional[int] = None) -> RDD[tuple[str, bytes]]:
        return self._rdd(lambda: Dataset(
            records_of(self._workers.engine.binaryFiles(local(path))),
            "binary pairs")).map(_with_uri)

    def binaryRecords(self, path: Any, recordLength: int) -> RDD[bytes]:
        return self._rdd(lambda: Dataset(
            records_of(self._workers.engine.binaryRecords(local(path), recordLength)), "bytes"))

    def pickleFile(self, name: str, minPartitions: Optional[int] = None) -> RDD:
        """What RDD.saveAsPickleFile has saved."""
        return open_parts(self, local(name))

    @in_turn
    def parquet(self, path: Any, columns: Optional[Sequence[str]] = None,
                batchRows: int = 0) -> BatchRDD:
        """The rows of Parquet or Arrow files, found by content, which glint's own library reads in
        the tasks: these columns, or all. Elements are the values of the only column, or tuples;
        mapBatches gets columns. A batch has about 1 MiB, or batchRows rows. PySpark's SparkContext
        does not have it."""
        from ._batches import BatchRDD

        if isinstance(columns, str):
            raise TypeError("columns is a list of names")
        if columns is not None and len(columns) == 0:
            raise ValueError("columns needs a name")
        data = self._workers.column_files(local(path), columns, batchRows, self._parallelism)
        return BatchRDD(self, Once(lambda: data))

    arrow = feather = parquet

    @in_turn
    def fromArrow(self, source: Any, numSlices: Optional[int] = None) -> BatchRDD:
        """Rows of what has Arrow's C stream interface: tables and readers of pyarrow, DataFrames of
        Polars and pandas, relations of DuckDB. A stream is read once, now; what exceeds half of
        glint.memory is kept in a file. PySpark's SparkContext does not have it."""
        from ._batches import StreamRDD

        slices = self._parallelism if numSlices is None else int(numSlices)
        if slices < 1:
            raise ValueError("numSlices must be positive")
        return StreamRDD(self, source, slices, _memory(self._conf.get("glint.memory")) // 2)

    def union(self, rdds: list[RDD[T]]) -> RDD[T]:
        return union_of(rdds)

    # ---- shared values

    def broadcast(self, value: T) -> Broadcast[T]:
        return Broadcast(self._workers.path("broadcast"), value, self)

    def accumulator(self, value: T,
                    accum_param: Optional[AccumulatorParam[T]] = None) -> Accumulator[T]:
        if accum_param is None:
            found = [param for kind, param in _ACCUMULATOR_PARAMS if isinstance(value, kind)]
            if not found:
                raise TypeError(f"No default accumulator param for type {type(value)}")
            accum_param = found[0]
        return Accumulator(next(self._accumulators), value, accum_param)

    def addFile(self, path: str, recursive: bool = False) -> None:
        source = local(path)
        target = os.path.join(SparkFiles._root, os.path.basename(source.rstrip("/")))
        if os.path.isdir(source):
            if not recursive:
                raise PySparkRuntimeError(f"Added directory {path} and recursive is not true")
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
        self._files["file:" + os.path.abspath(source)] = target
        self._ship_files()

    @in_turn
    def _ship_files(self, place: Optional[str] = None) -> None:
        """On a cluster the next job ships all files again; `place`: of modules."""
        shipping = self._workers.shipping
        if shipping is None:
            return
        shipping.root = SparkFiles._root
        shipping.forget("files")
        if place is not None:
            shipping.places.append(os.path.relpath(place, SparkFiles._root))

    @property
    def listFiles(self) -> list[str]:
        return [path for path in self._files if path not in self._archives]

    def addPyFile(self, path: str) -> None:
        self.addFile(path)
        target = os.path.join(SparkFiles._root, os.path.basename(path))
        place = target if path.lower().endswith(self.PACKAGE_EXTENSIONS) else SparkFiles._root
        if place not in sys.path:
            sys.path.insert(1, place)
        self._ship_files(place)
        import importlib

        importlib.invalidate_caches()

    def addArchive(self, path: str) -> None:
        source, _, name = path.partition("#")
        source = local(source)
        target = os.path.join(SparkFiles._root, name or os.path.basename(source))
        shutil.unpack_archive(source, target)
        self._archives.append("file:" + os.path.abspath(source))
        self._ship_files()

    @property
    def listArchives(self) -> list[str]:
        return list(self._archives)

    def setCheckpointDir(self, dirName: str) -> None:
        self._checkpoint_dir = os.path.join(local(dirName), str(uuid.uuid4()))

    def getCheckpointDir(self) -> Optional[str]:
        return self._checkpoint_dir

    # ---- jobs

    def runJob(self, rdd: RDD[T], partitionFunc: Callable[[Iterator[T]], Iterable[U]],
               partitions: Optional[Sequence[int]] = None, allowLocal: bool = False) -> list[U]:
        if partitions is None:
            return rdd.mapPartitions(partitionFunc).collect()
        wanted = frozenset(partitions)
        if not wanted <= set(range(count := rdd.getNumPartitions())):
            raise ValueError(f"an RDD of {count} partitions has not all of {list(partitions)}")

        def each(split: int, items: Iterator[Any]) -> list[Any]:
            return [(split, list(partitionFunc(items)))] if split in wanted else []

        found = dict(rdd._values(each))
        return [x for split in partitions for x in found[split]]

    def setLocalProperty(self, key: str, value: Optional[str]) -> None:
        self._workers.jobs.of_thread.properties[key] = value

    def getLocalProperty(self, key: str) -> Optional[str]:
        return self._workers.jobs.of_thread.properties.get(key)

    def setJobDescription(self, value: str) -> None:
        self.setLocalProperty("spark.job.description", value)

    def setJobGroup(self, groupId: str, description: str, interruptOnCancel: bool = False) -> None:
        self.setLocalProperty(GROUP, groupId)
        self.setJobDescription(description)

    def setInterruptOnCancel(self, interruptOnCancel: bool) -> None:
        self.setLocalProperty("spark.job.interruptOnCancel", str(interruptOnCancel).lower())

    def addJobTag(self, tag: str) -> None:
        _check_tag(tag)
        self._workers.jobs.of_thread.tags.add(tag)

    def removeJobTag(self, tag: str) -> None:
        _check_tag(tag)
        self._workers.jobs.of_thread.tags.discard(tag)

    def getJobTags(self) -> set[str]:
        return set(self._workers.jobs.of_thread.tags)

    def clearJobTags(self) -> None:
        self._workers.jobs.of_thread.tags.clear()

    def cancelAllJobs(self) -> None:
        """Ends the running job, and those that wait for their turn, of other threads."""
        self._workers.jobs.cancel(self._turns, "all")

    def cancelJobGroup(self, groupId: str) -> None:
        self._workers.jobs.cancel(self._turns, "group", groupId)

    def cancelJobsWithTag(self, tag: str) -> None:
        _check_tag(tag)
        self._workers.jobs.cancel(self._turns, "tag", tag)

    def statusTracker(self) -> StatusTracker:
        from .status import StatusTracker

        return StatusTracker(self._workers.jobs, self._slots)

    def show_profiles(self) -> None:
        raise PySparkRuntimeError("'spark.python.profile' configuration must be set to 'true' to "
                                  "enable Python profile.")

    def dump_profiles(self, path: str) -> None:
        self.show_profiles()


refuse_methods(SparkContext, "use textFile, parquet, binaryFiles or pickleFile; Hadoop's formats "
               "need the JVM", "sequenceFile", "newAPIHadoopFile", "newAPIHadoopRDD", "hadoopFile",
               "hadoopRDD")

def _refuse_jvm(name: str) -> None:
    def refused(_: Any) -> NoReturn:
        raise not_here(f"SparkContext.{name}", "there is no JVM; settings of glint are "
                       "spark.conf's glint.NAME, and stores take theirs from the environment")

    setattr(SparkContext, name, property(refused))


for _name in ("_jsc", "_jvm", "_gateway"):
    _refuse_jvm(_name)


def records_of(rdd: RDD) -> Records:
    assert rdd._records is not None
    return rdd._records


class _Stopped:
    """In place of the workers."""

    def __getattr__(self, name: str) -> Any:
        raise PySparkRuntimeError("the SparkContext is stopped")


def _slots(master: str) -> int:
    if master == "local":
        return 1
    found = re.fullmatch(r"local\[(\*|\d+)(?:\s*,\s*\d+)?\]", master)
    if found is None:
        raise not_here(f"the master {master!r}", "Python functions run on local[N], local[*], "
                       "or glint://cluster.toml")
    return len(os.sched_getaffinity(0)) if found[1] == "*" else int(found[1])


def _memory(text: Optional[str]) -> int:
    """Of a size as --memory takes it, by default 1 GiB."""
    found = re.fullmatch(r"(\d+)([KMGT]?)(?:i?B)?", (text or "").strip(), re.IGNORECASE)
    if found is None:
        return 1 << 30
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[found[2].upper()]


def _with_uri(pair: tuple[str, Any]) -> tuple[str, Any]:
    return "file:" + os.path.abspath(pair[0]) if "://" not in pair[0] else pair[0], pair[1]


def _encoded_with_uri(pair: tuple[str, str]) -> tuple[str, bytes]:
    path, text = _with_uri(pair)
    return path, text.encode("utf-8")


def _check_tag(tag: str) -> None:
    if not tag:
        raise ValueError("Spark job tag cannot be an empty string.")
    if "," in tag:
        raise ValueError("Spark job tag cannot contain ','.")
