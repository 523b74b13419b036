"""Datasets of the engine whose records hold what Python's functions read and write, and the actions
that compute them. One of the engine's RDDs, with the form of its records."""

from __future__ import annotations

import fcntl
import io
import itertools
import os
import pickle
import select
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Optional

from .. import _alias, _functions
from .._context import Context, cstring, path_list
from .._engine import LIBRARY, engine
from .._errors import Error
from .._functions import Composed, Function, identity
from .._pickling import load_cloudpickle, pickling
from .._records import Records
from ._jobs import Jobs
from ._shipping import PACKAGE, Shipping, exception_of, pack_files, pack_program, version
from .accumulators import add_from_task
from .broadcast import Broadcast, Pickled
from .errors import JobCancelledError, PythonException

if TYPE_CHECKING:
    from .._blocks import Batch

PREFIX = "glint-python-"  # of directories
NATIVE: Optional[str] = getattr(_functions.native, "__file__", None)
NOTES = b"command notes"  # GLINT_COMMAND_NOTES of the engine
SPLIT_BYTES_MIN, SPLIT_BYTES_MAX = 32 << 20, 512 << 20  # of files of columns
LINES = ("text", "lines", "escaped")  # forms that workers read as lines


class Dataset:
    """`form` is what _worker.READERS calls it. It keeps those that it descends from, because their
    files are needed when it is computed."""

    def __init__(self, rdd: Records, form: str, *parents: Dataset, origin: str = "") -> None:
        self.rdd = rdd
        self.form = form
        self.parents = parents
        self.origin = origin or f"records of {form}"

    def lineage(self) -> Iterator[Dataset]:
        waiting = [self]
        while waiting:
            data = waiting.pop()
            yield data
            waiting.extend(reversed(data.parents))


def functions_of(function: Optional[Function]) -> tuple[Function, ...]:
    if isinstance(function, Composed):
        return function.functions
    return () if function is None else (function,)


def compose(first: Optional[Function], then: Function) -> Function:
    return then if first is None else Composed((*functions_of(first), then))


class Source:
    """Its dataset is made when it is needed, at most once: RDDs that read it have the same one, so
    that its shuffles are computed once."""

    _made: Optional[Dataset] = None
    _reads: Sequence[Source] = ()  # whose datasets _make needs
    _checkpoint_done = False  # a job has found which of those it descends from are to be saved

    def _make(self) -> Dataset:
        raise NotImplementedError

    def _dataset(self) -> Dataset:
        waiting: list[Source] = [self]  # recursion would be as deep as the lineage
        while waiting:
            source = waiting[-1]
            missing = [] if source._made is not None else [
                one for one in source._reads if one._made is None]
            waiting += missing
            if not missing:
                waiting.pop()
                source._made = source._made or source._make()
        assert self._made is not None
        return self._made

    def _forget(self) -> None:
        self._made = None


class Once(Source):
    """What is no RDD, but read by several."""

    def __init__(self, create: Callable[[], Dataset], *reads: Source) -> None:
        self._create = create
        self._reads = reads

    def _make(self) -> Dataset:
        return self._create()


class Relay:
    """Copies what workers print, from a named pipe, to a file descriptor of this process."""

    def __init__(self, path: str, target: int) -> None:
        os.mkfifo(path, 0o600)
        # Open for writing, too: it never ends, and no worker waits in open.
        self._file = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._target = target
        self._lock = threading.Lock()
        self._stop = os.pipe()
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def drain(self) -> None:
        """All that was printed before this call is copied when it returns."""
        with self._lock:
            while True:
                try:
                    text = os.read(self._file, 1 << 16)
                except BlockingIOError:
                    return
                _write_all(self._target, text)

    def close(self) -> None:
        os.close(self._stop[1])
        self._thread.join()
        self.drain()
        os.close(self._file)
        os.close(self._stop[0])

    def _copy(self) -> None:
        while True:
            ready, _, _ = select.select([self._file, self._stop[0]], [], [])
            if self._stop[0] in ready:
                return
            self.drain()


def make_directory() -> tuple[str, int]:
    """A new directory, and its lock, an open file; removes those of this user whose
    driver was killed."""
    made = tempfile.mkdtemp(prefix=PREFIX)
    lock = _lock(made, os.O_CREAT)
    parent = os.path.dirname(made)
    for entry in os.scandir(parent):
        if not entry.name.startswith(PREFIX) or entry.path == made:
            continue
        try:
            if entry.stat(follow_symlinks=False).st_uid == os.getuid():
                os.close(_lock(entry.path, 0))
                shutil.rmtree(entry.path, ignore_errors=True)
        except OSError:  # it has no lock yet, or is in use
            pass
    return made, lock


def _lock(directory: str, flags: int) -> int:
    """A file that is locked while it is open. OSError: it does not exist, or another has it."""
    file = os.open(os.path.join(directory, "lock"), os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise
    return file


class Workers:
    """The context of the engine, and a directory for what workers and driver exchange."""

    def __init__(self, engine: Context, cluster: bool = False,
                 jobs: Optional[Jobs] = None) -> None:
        self.engine = engine
        self.jobs = jobs or Jobs()
        self.shipping = Shipping(engine) if cluster else None
        self.directory, self._lock = make_directory()
        self._numbers = itertools.count()
        self._owner = os.getpid()
        self.environment: dict[str, str] = {}
        self._relays = [Relay(os.path.join(self.directory, "stdout"), 1),
                        Relay(os.path.join(self.directory, "stderr"), 2)]

    def close(self) -> None:
        if self._owner != os.getpid():
            return
        try:
            self.engine.stop()
        finally:
            self.remove_files()

    def remove_files(self) -> None:
        for relay in self._relays:
            relay.close()
        self._relays = []
        shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self._lock)

    def path(self, kind: str) -> str:
        """A new name in the directory."""
        return os.path.join(self.directory, f"{kind}-{next(self._numbers)}")

    # ---- plans

    def apply(self, data: Dataset, function: Function, output: str = "blocks",
              block: int = 0) -> Dataset:
        """Workers run the function on each partition. `block`: elements per block, 0 for some."""
        number = next(self._numbers)
        if self.shipping is not None:
            return self._apply_on_cluster(data, function, output, block, number)
        job = {"path": [os.path.abspath(p) for p in sys.path], "alias": _alias.installed(),
               "input": data.form, "output": output, "block": block, "number": number,
               "properties": dict(self.jobs.of_thread.properties)}
        path = os.path.join(self.directory, f"job-{number}")
        with open(path, "wb") as file:
            file.write(_pickle_job(job, function))
        made = self._pipe(data.rdd, self._parent(), [path], data.form, output)
        result = Dataset(made, "buckets" if output == "pairs" else output, data)
        weakref.finalize(result, _remove, path)
        return result

    def blocks(self, data: Dataset, size: int = 0) -> Dataset:
        if data.form == "blocks" and size == 0:
            return data
        return self.apply(data, identity, block=size)

    def shuffle(self, data: Dataset, partitions: int) -> Dataset:
        """Of records that _shuffle.write_places has made."""
        ffi, lib = engine()
        made = data.rdd.call("glint_partition_by", partitions)
        made.set("glint_with_partitioner", ffi.addressof(lib, "GLINT_PARTITION_IN_KEY"), ffi.NULL)
        return Dataset(made, "buckets", data)

    def parallelize(self, slices: list[list[bytes]]) -> Dataset:
        """A partition for each list of blocks."""
        ffi, lib = engine()
        most = max(map(len, slices), default=0) or 1
        empty = pickle.dumps(())
        blocks = [block for part in slices for block in part + [empty] * (most - len(part))]
        g = self.engine._open()
        memory = ffi.new("uint8_t[]", b"".join(blocks) + b"\0")
        records = ffi.new("struct glint_record[]", len(blocks))
        at = 0
        for record, block in zip(records, blocks):
            record.value.bytes.data, record.value.bytes.size = memory + at, len(block)
            at += len(block)
        schema = ffi.new("struct glint_schema *", {"key": lib.GLINT_NONE, "value": lib.GLINT_BYTES})
        made = self.engine._records(lib.glint_parallelize, g, schema[0], records, len(blocks),
                                    len(slices))
        return Dataset(made, "blocks", origin="ParallelCollectionRDD")

    def _parent(self) -> list[str]:
        """The command of the parent of workers. -S: without site, which takes time; the path of
        this process is part of each job."""
        found = os.path.abspath(load_cloudpickle().__file__)
        places = {os.path.dirname(PACKAGE): None, os.path.dirname(os.path.dirname(found)): None}
        return [sys.executable, "-S", os.path.join(PACKAGE, "_parent.py"), *places]

    def _apply_on_cluster(self, data: Dataset, function: Function, output: str, block: int,
                          number: int) -> Dataset:
        """The same, with what the job needs as files of the executors."""
        shipping = self.shipping
        assert shipping is not None
        job = {"path": None, "alias": _alias.installed(), "input": data.form, "output": output,
               "block": block, "number": number, "properties": dict(self.jobs.of_thread.properties),
               "places": list(shipping.places)}
        with Pickled() as pickled:
            text = _pickle_job(job, function)
        if not shipping.has("glint"):
            shipping.send("glint", pack_program())
        if shipping.root and not shipping.has("files"):
            shipping.send("files", pack_files(shipping.root))
        for broadcast in pickled.broadcasts:
            if not shipping.has(broadcast.name):
                with open(broadcast.path, "rb") as file:
                    shipping.send(broadcast.name, file.read())
        if shipping.columns and not shipping.has("library"):
            with open(LIBRARY, "rb") as file:
                shipping.send("library", file.read())
        if NATIVE is not None and not shipping.has("native"):
            with open(NATIVE, "rb") as file:
                shipping.send("native", file.read())
        names = ["glint", *(n for n in ("files", "library", "native") if shipping.has(n)),
                 *(broadcast.name for broadcast in pickled.broadcasts)]
        words = ["{job}", *(word for name in names[1:] for word in (name, f"{{{name}}}")),
                 "cluster", "1"]
        made = self._pipe(data.rdd, ["{python}", "{glint}", version()], words, data.form, output,
                          lambda: shipping.arguments(text, names))
        return Dataset(made, "buckets" if output == "pairs" else output, data)

    def unship(self, broadcast: Broadcast[Any]) -> None:
        if self.shipping is not None:
            self.shipping.forget(broadcast.name)

    def _pipe(self, rdd: Records, parent: list[str], words: list[str], form: str, output: str,
              files: Optional[Callable[[], Any]] = None) -> Records:
        ffi, lib = engine()
        records, pairs = form not in LINES, output == "pairs"
        variables = {"PYTHONHASHSEED": "0", **self.environment}
        argv = [ffi.new("char[]", cstring(word)) for word in parent]
        worker = [ffi.new("char[]", cstring(word)) for word in words]
        env = [ffi.new("char[]", cstring(f"{name}={text}")) for name, text in variables.items()]
        schema = {"key": lib.GLINT_BYTES if pairs else lib.GLINT_NONE,
                  "value": lib.GLINT_TEXT if output == "lines" else lib.GLINT_BYTES}
        command = ffi.new("struct glint_command *", {
            "argv": (argv_list := ffi.new("char *[]", [*argv, ffi.NULL])),
            "worker": (worker_list := ffi.new("char *[]", [*worker, ffi.NULL])),
            "env": (env_list := ffi.new("char *[]", [*env, ffi.NULL])),
            "ok": (ok := ffi.new("int[]", [0, -1])),
            "record_input": records, "record_output": True, "output": schema})
        def create(pointer: Any) -> Any:
            if files is not None:
                command.files = files()
            return lib.glint_pipe_command(pointer, command)

        made = self.engine._records(create, rdd.pointer)
        del argv_list, worker_list, env_list, ok  # until the call has copied them
        return made

    def column_files(self, paths: Any, columns: Optional[Sequence[str]], rows: int,
                     slots: int) -> Dataset:
        """Blocks of columns (glint/_blocks.py), which the engine reads. Splits are large, since a
        worker is started for each."""
        ffi, lib = engine()
        names = None if columns is None else [ffi.new("char[]", cstring(n)) for n in columns]
        made = self.engine._records(
            lib.glint_column_batches, self.engine._open(), path_list(paths),
            ffi.NULL if names is None else ffi.new("char *[]", [*names, ffi.NULL]),
            0 if columns is None else len(columns), rows)
        share = int(lib.glint_input_bytes(made.pointer)) // slots
        made.set("glint_with_split_bytes", min(max(share, SPLIT_BYTES_MIN), SPLIT_BYTES_MAX))
        return Dataset(made, "batches", origin="ColumnFileRDD")

    # ---- actions

    def batches(self, data: Dataset) -> list[Batch]:
        """Those of an RDD of blocks, as an action."""
        ffi, lib = engine()
        from .._blocks import Batch

        rows, record = ffi.new("struct glint_rows *"), ffi.new("struct glint_record *")

        def each() -> list[Batch]:
            self.engine._run(lib.glint_collect, data.rdd.pointer, rows)
            found = []
            for i in range(rows.count):
                lib.glint_rows_records(rows, i, 1, record)
                cell = record.value.bytes
                found.append(Batch.decode(ffi.buffer(cell.data, cell.size)))
            return found

        try:
            return list(self.act(each))
        finally:
            lib.glint_rows_free(rows)

    def collect(self, data: Dataset, most: int = -1) -> Iterator[Any]:
        """The elements; `most`: of at most so many records."""
        rows = self.act(lambda: data.rdd.rows("glint_collect") if most < 0 else
                            data.rdd.rows("glint_take", most))
        return itertools.chain.from_iterable(map(pickle.loads, rows))

    def iterate(self, data: Dataset) -> Iterator[Any]:
        """The elements, one partition after the other."""
        rows = data.rdd.iterate()
        while True:
            row = self.act(lambda: next(rows, None))
            if row is None:
                return
            yield from pickle.loads(row)

    def act(self, run: Callable[[], Any]) -> Any:
        """Runs an action: shows what its functions print, and raises what they raise."""
        sys.stdout.flush()
        sys.stderr.flush()
        turns = self.engine._turns
        with turns, self.jobs.run(turns, self.engine._interrupt) as job:
            try:
                return run()
            except Error as error:
                failure = self._failure(error)
                if job.why is not None:
                    failure = JobCancelledError(job.number, job.why)
                raise failure from failure.__cause__
            finally:
                self._after()
                if job.why is not None:
                    self.engine._forget_interrupt()

    def _files(self, prefix: str) -> list[str]:
        names = sorted(n for n in os.listdir(self.directory) if n.startswith(prefix)
                       and not n.endswith(".tmp"))
        return [os.path.join(self.directory, name) for name in names]

    def _take_notes(self) -> None:
        """What tasks on a cluster have added to accumulators, and printed."""
        ffi, lib = engine()
        cell = ffi.new("struct glint_cell *")
        if not lib.glint_accumulator_value(self.engine._g, NOTES, cell):
            return
        notes = cell.value.bytes
        file = io.BytesIO(ffi.buffer(notes.data, notes.size)[:])
        lib.glint_accumulator_clear(self.engine._g, NOTES)
        while file.tell() < notes.size:
            kind, value = pickle.load(file)
            if kind == "added":
                add_from_task(value)
            else:
                _write_all(1 if kind == "stdout" else 2, value)

    def _after(self) -> None:
        if self.shipping is not None:
            self._take_notes()
        for relay in self._relays:
            relay.drain()
        for path in self._files("added-"):
            with open(path, "rb") as file:
                values = pickle.load(file)
            os.unlink(path)
            add_from_task(values)

    def _failure(self, error: Error) -> Exception:
        """What a function raised, if it is that."""
        paths = self._files("error-")
        found = exception_of(error)
        if paths:
            with open(paths[0], "rb") as file:
                found = pickle.load(file)
        if found is None:
            return error
        for path in paths:
            _remove(path)
        text, pickled = found
        cause = None
        try:
            cause = pickle.loads(pickled) if pickled else None
        except Exception:  # of a class that this process does not have
            pass
        return PythonException("\n" + text.rstrip("\n"), cause)


def _pickle_job(job: dict[str, Any], function: Function) -> bytes:
    with pickling():
        return pickle.dumps(job, 5) + bytes(load_cloudpickle().dumps(function, 5))


def _write_all(file: int, text: bytes) -> None:
    try:
        while text:
            text = text[os.write(file, text) :]
    except OSError:  # the user has closed it
        pass


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
