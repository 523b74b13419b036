"""Contexts: they own RDDs, run their actions in this process, and publish what is saved."""

from __future__ import annotations

import atexit
import collections
import itertools
import os
import re
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Union

from ._engine import engine
from ._errors import Error
from ._interrupts import Interrupts
from ._progress import Bars, is_shown
from ._records import Records, positive
from ._turns import Turns, in_turn
from ._values import encode

if TYPE_CHECKING:
    from .pyspark._data import Workers
    from .pyspark.rdd import RDD

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Paths = Union[Path, Iterable[Path]]
Setting = Union[str, int, float, None, "os.PathLike[str]", list[str], tuple[str, ...]]


class Context:
    """Runs plans in this process, on the threads of `master`; functions of Python in processes.

        with glint.Context("local[2]", memory="2G", overwrite=True) as sc:
            words = sc.textFile("books/").flatMap("split_words")
            words.map("pair_with_one").reduceByKey("sum_i64").saveAsTextFile("counts")

    Settings are options of `glint submit`, with underscores: bad_rows="skip". Progress is shown by
    tqdm, if it is installed, on a terminal and in a notebook, unless progress=False. Outputs are
    published together, at the end of the with block or by stop(); an exception publishes none.
    Threads that use the same context take turns. An Error ends the call that raised it, and removes
    what this call has written; the context can be used again.
    """

    _g: Any = None  # the library's context
    _is_spark = False  # conventions of its RDDs
    _checkpoint_dir = _shuffle_partitions = None
    _started: Optional[Workers] = None  # of functions of Python

    def __init__(
        self, master: str = "local[*]", *, name: str = "python",
        progress: Optional[bool] = None, _cluster: Optional[str] = None,
        _page: Optional[str] = None, _report: Optional[Callable[[Any], None]] = None,
        **settings: Setting
    ) -> None:
        ffi, lib = engine()
        self._owner = os.getpid()
        self._turns = Turns()
        self._busy = self._saved = False
        self._rdd_numbers = itertools.count()
        self._unused: collections.deque[Any] = collections.deque()  # the library's RDDs, to free
        self._closing: collections.deque[Any] = collections.deque()  # and its iterators
        self.notes: list[str] = []  # glint's remarks, such as warnings
        notes = self.notes

        def note(_: Any, line: Any) -> None:
            notes.append(text_of(line))

        self._note = ffi.callback("void(void *, const char *)", note)
        where = {"master": master} if _cluster is None else {}
        options = [_option(*item) for item in {**where, **settings}.items()]
        title = cstring(name)
        self._config = ffi.gc(lib.glint_config_create(), lib.glint_config_destroy)
        error = ffi.new("struct glint_error *")
        lib.glint_config_set_name(self._config, title)
        self._slots = 0  # of the cluster
        if _cluster is not None:
            from ._run import program

            self._slots = lib.glint_config_set_cluster(
                self._config, cstring(_cluster), cstring(program()), build().encode())
        self._page: Optional[str] = None  # its address
        if _page is not None:
            address = lib.glint_config_serve_page(self._config, cstring(_page))
            self._page = text_of(address) if address else None
        for option, value in options:
            if value is not False:
                lib.glint_config_set(self._config, option, ffi.NULL if value is True else value)
        lib.glint_config_set_note(self._config, self._note, ffi.NULL)
        receivers = [] if _report is None else [_report]
        if is_shown() if progress is None else progress:
            receivers.append(Bars().report)
        if receivers:
            self._report_to(receivers)
        g = lib.glint_create(self._config, error)
        if not g:
            raise error_of(error)
        self._g = g
        # Its thread must not keep a forgotten context.
        self._interrupts = Interrupts(lambda: lib.glint_interrupt(g, lib.GLINT_E_INTERRUPTED))
        _contexts.add(self)

    def _report_to(self, receivers: list[Callable[[Any], None]]) -> None:
        ffi, lib = engine()

        def report(_: Any, progress: Any) -> None:
            for receiver in receivers:
                receiver(progress)

        self._report = ffi.callback("void(void *, const struct glint_progress *)", report)
        lib.glint_config_set_progress(self._config, self._report, ffi.NULL)

    # ---- sources

    def textFile(
        self, name: Paths, minPartitions: Optional[int] = None, *, header: bool = False
    ) -> RDD:
        """The lines of files, directories and globs. A str is one path, or several with commas
        between them, as in Spark; in a list, or of pathlib, a comma belongs to the name.
        minPartitions asks for more partitions than the size of the input gives; header skips the
        first line of each file."""
        _, lib = engine()
        lines = self._records(lib.glint_text_file, self._open(), path_list(name))
        if minPartitions is not None:
            lines.set("glint_with_partitions", positive(minPartitions))
        return self._typed(lines.set("glint_with_header") if header else lines, "escaped")

    def keyValueTextFile(self, name: Paths, separator: str = "\t") -> RDD:
        """Lines split at the first separator, one ASCII character, into (key, value) of str."""
        _, lib = engine()
        mark = separator.encode("ascii")
        return self._rdd(lib.glint_key_value_text_file, self._open(), path_list(name), mark)

    def wholeTextFiles(self, path: Paths) -> RDD:
        """(path, content) of each file, as str."""
        _, lib = engine()
        return self._rdd(lib.glint_whole_text_files, self._open(), path_list(path))

    def binaryFiles(self, path: Paths) -> RDD:
        """(path, content) of each file, the content as bytes."""
        _, lib = engine()
        return self._rdd(lib.glint_binary_files, self._open(), path_list(path))

    def binaryRecords(self, path: Paths, recordLength: int) -> RDD:
        """bytes, of this length each."""
        _, lib = engine()
        return self._rdd(lib.glint_binary_records, self._open(), path_list(path), recordLength)

    def range(
        self, start: int, end: Optional[int] = None, step: int = 1, numSlices: int = 1
    ) -> RDD:
        """The int from start, or 0, up to and not including end, as Python's range."""
        _, lib = engine()
        first, last = (0, start) if end is None else (start, end)
        return self._rdd(lib.glint_range, self._open(), first, last, step, positive(numSlices))

    def parallelize(self, c: Iterable[Any], numSlices: int = 1) -> RDD:
        """str, bytes, int or float; or pairs (key, value) of them. A column has one type. Without
        rows it is an RDD of str."""
        _, lib = engine()
        g, slices = self._open(), positive(numSlices)
        schema, records, count, _kept = encode(c)
        return self._rdd(lib.glint_parallelize, g, schema, records, count, slices)

    def parquet(self, path: Paths, columns: Sequence[str]) -> RDD:
        """A column of Parquet or Arrow files, found by content, as elements; or two, as pairs (key,
        value). Integers of up to 64 bits are int, floating-point numbers float, others str, as jobs
        print them. Rows with a null are left out, and counted as "null rows". Of more columns, and
        with functions of Python: glint.pyspark."""
        ffi, lib = engine()
        if isinstance(columns, str) or not 1 <= len(columns) <= 2:
            raise TypeError("columns is a list of one or two names")
        paths = path_list(path)
        lines = self._records(lib.glint_text_file, self._open(), paths)
        if lib.glint_accept_columns(lines.pointer) == lib.GLINT_NO_COLUMNS:
            raise ValueError(f"{path!r} is no file of columns; textFile reads text")
        count = ffi.new("uint32_t *")
        types = self._call(lib.glint_column_types, lines.pointer, count)
        if count[0] == 0:
            raise self._error()
        names = [text_of(types[i].name) for i in range(count[0])]
        for name in columns:
            if name not in names:
                raise ValueError(f"no column is named {name!r}; there are {', '.join(names)}")
        counter = ffi.new("char[]", b"null rows")
        numbers = [names.index(name) for name in columns]
        pair = ffi.new("struct glint_column_pair *", {
            "key": numbers[0] if len(numbers) == 2 else 0xFFFFFFFF, "value": numbers[-1],
            "key_type": lib.GLINT_ANY, "value_type": lib.GLINT_ANY, "null_rows": counter})
        return self._rdd(lib.glint_column_pairs, self._open(), paths, pair)

    def union(self, rdds: Iterable[RDD]) -> RDD:
        """The records of all, which have the same types."""
        from .pyspark.rdd import union_of

        return union_of(rdds)

    # ---- what it did, and its end

    @in_turn
    def counter(self, name: str) -> int:
        """The sum of a counter, as "rows read", over all actions so far; 0 if none counted it."""
        _, lib = engine()
        return int(lib.glint_counter_value(self._open(), cstring(name)))

    @in_turn
    def stop(self) -> None:
        """Publishes the outputs and ends the context. Raises the error of a context that has saved
        something which cannot be published. A second call does nothing."""
        if self._g is None:
            return
        _, lib = engine()
        g = self._open()
        failed = lib.glint_finish(g) != 0
        error = error_of(lib.glint_error(g)) if failed and self._saved else None
        self._destroy()
        if error is not None:
            raise error

    def __enter__(self) -> Context:
        self._open()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if kind is None:
            self.stop()
            return
        with self._turns:
            if self._g is not None:
                self._abort(kind, f"the program raised {kind.__name__}: {value}")

    def __del__(self) -> None:
        if self._g is None or self._owner != os.getpid():
            return
        warnings.warn("a glint.Context was not stopped", ResourceWarning, source=self)
        self._interrupt()  # at the program's end a thread may still use it
        with self._turns:
            self._abort(None, "the context was not stopped")

    def __repr__(self) -> str:
        return f"<glint.Context {'stopped' if self._g is None else 'active'}>"

    def _abort(self, kind: Optional[type[BaseException]], cause: str) -> None:
        """Ends the context and removes what it has saved."""
        ffi, lib = engine()
        g = self._open()
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        code = lib.GLINT_E_INTERRUPTED if interrupted else lib.GLINT_E_FUNCTION_FAILED
        text = ffi.new("char[]", cause.encode("utf-8", "replace"))
        lib.glint_abort(g, code, ffi.NULL, b"%s", text)
        lib.glint_finish(g)
        self._destroy()

    def _destroy(self) -> None:
        _, lib = engine()
        self._interrupts.close()  # before the context that its thread interrupts
        g, self._g = self._g, None
        lib.glint_destroy(g)
        self._close_iterators()
        if self._started is not None:
            self._started.remove_files()

    # ---- calls

    @in_turn
    def _open(self) -> Any:
        """The library's context, if it may be used here and now."""
        if self._g is None:
            raise ValueError("the context is stopped")
        if self._owner != os.getpid():
            raise RuntimeError("a context cannot be used in a forked process: create one there")
        if self._busy:
            raise RuntimeError("an action of the context is running: it cannot be used inside one")
        while self._unused:
            engine()[1].glint_release(self._unused.popleft())
        self._close_iterators()
        return self._g

    def _close_iterators(self) -> None:
        while self._closing:
            engine()[1].glint_iterator_close(self._closing.popleft())

    def _close_iterator(self, pointer: Any) -> None:
        """Python drops it, in any thread: it is closed now, or by the next call."""
        self._closing.append(pointer)
        if self._g is None:
            self._close_iterators()

    def _interrupt(self) -> None:
        """Ends the action that runs in another thread."""
        _, lib = engine()
        if self._busy:
            lib.glint_interrupt(self._g, lib.GLINT_E_INTERRUPTED)

    def _forget_interrupt(self) -> None:
        """One that may have come when its action had ended."""
        _, lib = engine()
        if self._g is not None:
            lib.glint_clear_error(self._g)

    @in_turn
    def _call(self, function: Any, *arguments: Any) -> Any:
        """Calls the library; Ctrl-C interrupts it."""
        _, lib = engine()
        g = self._open()
        self._busy = True
        try:
            with self._interrupts:
                return function(*arguments)
        except BaseException:
            lib.glint_clear_error(g)
            raise
        finally:
            self._busy = False

    @in_turn
    def _records(self, create: Any, *arguments: Any) -> Records:
        """What a function of the library creates. The scope frees what is made on the way."""
        _, lib = engine()
        g, pointer = self._open(), None
        lib.glint_begin_scope(g)
        try:
            pointer = self._check(self._call(create, *arguments))
        finally:
            lib.glint_end_scope(g, pointer or engine()[0].NULL)
        return Records(self, pointer)

    def _rdd(self, create: Any, *arguments: Any) -> RDD:
        return self._typed(self._records(create, *arguments))

    def _typed(self, records: Records, form: Optional[str] = None) -> RDD:
        from .pyspark.rdd import typed_rdd

        return typed_rdd(self, records, form)

    @property
    @in_turn
    def _workers(self) -> Workers:
        """Where functions of Python run, since one is needed."""
        if self._started is None:
            from .pyspark._data import Workers

            self._open()
            self._started = Workers(self)
        return self._started

    def _check(self, pointer: Any) -> Any:
        """What the library returned, unless it is NULL."""
        if not pointer:
            raise self._error()
        return pointer

    @in_turn
    def _run(self, action: Any, *arguments: Any) -> int:
        """Runs an action of the library, and returns its result, which is not negative."""
        result = int(self._call(action, *arguments))
        if result < 0:
            raise self._error()
        return result

    def _error(self) -> Error:
        """The library's error, which ends here: the next call can succeed."""
        _, lib = engine()
        error = error_of(lib.glint_error(self._g))
        lib.glint_clear_error(self._g)
        return error


def add_underscored(cls: type) -> None:
    """A method's other name: reduce_by_key of reduceByKey."""
    for name in [name for name in dir(cls) if not name.startswith("_")]:
        other = re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name)
        setattr(cls, other, getattr(cls, name))


add_underscored(Context)


def build() -> str:
    """The build of the program that is installed with this package: executors compare it."""
    import subprocess

    from ._run import program

    printed = subprocess.run([program(), "version"], capture_output=True, text=True, check=True)
    return str(re.findall(r"^build (\S+)", printed.stdout, re.MULTILINE)[0])


_contexts: weakref.WeakSet[Context] = weakref.WeakSet()


@atexit.register
def _end_forgotten() -> None:
    """While threads still run, which destructors at the program's end cannot rely on."""
    for context in list(_contexts):
        context.__del__()


def text_of(text: Any) -> str:
    ffi, _ = engine()
    return bytes(ffi.string(text)).decode("utf-8", "surrogateescape")


def error_of(error: Any) -> Error:
    """A struct glint_error as an exception."""
    _, lib = engine()
    return Error(
        f"E{-error.code:04d}",
        text_of(error.cause),
        name=text_of(lib.glint_code_name(error.code)),
        text=text_of(lib.glint_code_text(error.code)),
        effect=text_of(error.effect) or None,
        hint=text_of(error.hint) or None,
        exit_status=lib.glint_code_exit_status(error.code),
    )


def cstring(value: Path) -> bytes:
    text = os.fsencode(value)
    if b"\0" in text:
        raise ValueError("embedded null character")
    return text


def path_list(paths: Paths) -> bytes:
    """The list of paths that the library splits at commas."""
    if isinstance(paths, (str, bytes)):
        return cstring(paths)
    some = [paths] if isinstance(paths, os.PathLike) else list(paths)
    if not some:
        raise ValueError("no path is given")
    # A comma of a name has a backslash before it; backslashes before a comma are doubled.
    names = [re.sub(rb"(\\*),", rb"\1\1\\,", cstring(path)) for path in some]
    return b",".join([*(re.sub(rb"(\\+)\Z", rb"\1\1", name) for name in names[:-1]), names[-1]])


def _option(name: str, value: Setting) -> tuple[bytes, Union[bytes, bool]]:
    """An option's name, and its value; True is a switch, False is not given."""
    option = cstring(name.replace("_", "-"))
    if value is None or isinstance(value, bool):
        return option, bool(value)
    if isinstance(value, (int, float)):
        return option, repr(value).encode()
    return option, cstring(value) if isinstance(value, (str, bytes, os.PathLike)) else b",".join(
        map(cstring, value)
    )
