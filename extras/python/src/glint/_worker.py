"""A worker: the process in which a task's Python functions run. The engine starts a parent once
(_parent.py), which forks a worker for a partition (engine/glint.h: glint_pipe_command); it writes
the partition to the worker's standard input, and reads what the functions give from its standard
output. Its words are

    JOB [NAME PATH]...

JOB is a file of two pickles: a dict (_data.Workers.apply), and the function, by cloudpickle. On a
cluster each NAME is a file of the driver, which this executor has at PATH. A block is the pickle of
something iterable; records of the engine hold a block each, so that they are few.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pickle import load, loads
from struct import Struct
from typing import Any, Optional

from . import _functions
from ._functions import Function
from ._pickling import dumps, load_cloudpickle
from ._shuffle import load_block

READ_BYTES = 1 << 18
BLOCK_BYTES = 1 << 16  # about the size of a block
VALUE_BYTES_MAX = (1 << 32) - 1  # of the engine
HEAD = Struct("<II")
SIZE_OF_END = (1 << 32) - 1  # of the key and the value, after the last record
KEY_OF_NOTES = (1 << 32) - 2
PRINTED_BYTES = 1 << 14  # of what a task on a cluster has printed: the driver shows so much
REPORT_BYTES = 2400  # of a traceback; the engine keeps 4 KiB of what a command prints
EXCEPTION_BYTES = 1200  # of a pickled exception, in base64


class EngineEnded(BaseException):
    """The engine has ended, or needs no more output."""


class Output:
    """What the engine reads. A pipe that a function has broken is an error of the function."""

    def __init__(self, file: int) -> None:
        self._file = open(file, "wb", READ_BYTES)
        self.last: Optional[bytes] = None  # a record that is written at the end

    def write(self, data: Any) -> None:
        try:
            self._file.write(data)
        except BrokenPipeError:
            raise EngineEnded from None

    def end(self) -> None:
        """Without this the task has failed, whatever the exit status of the process is."""
        if self.last is not None:
            write_record(self, b"", self.last)
        self.write(HEAD.pack(SIZE_OF_END, SIZE_OF_END))
        try:
            self._file.flush()
        except BrokenPipeError:
            raise EngineEnded from None


# ---- Input: standard input, as lists of elements


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def read_text_blocks() -> Iterator[list[str]]:
    """Bytes that are not UTF-8 become U+FFFD, as in Spark."""
    return (block.decode("utf-8", "replace").split("\n") for block in _spark_line_blocks())


def read_escaped_text() -> Iterator[list[str]]:
    """Lines of glint.Context."""
    return (block.decode("utf-8", "surrogateescape").split("\n") for block in _line_blocks())


def read_raw_lines() -> Iterator[list[bytes]]:
    return (block.split(b"\n") for block in _spark_line_blocks())


def _spark_line_blocks() -> Iterator[bytes]:
    """In Spark a lone carriage return ends a line, too. The engine has taken those before a line
    feed, but not one at the end of a file."""
    previous = None
    for block in _line_blocks():
        if previous is not None:
            yield previous.replace(b"\r", b"\n")
        previous = block
    if previous is not None:
        yield previous[: len(previous) - previous.endswith(b"\r")].replace(b"\r", b"\n")


def _line_blocks() -> Iterator[bytes]:
    """Whole lines, without the last line's end."""
    parts: list[bytes] = []
    while block := os.read(0, READ_BYTES):
        cut = block.rfind(b"\n")
        if cut < 0:
            parts.append(block)
            continue
        parts.append(block[:cut])
        yield b"".join(parts)
        parts = [block[cut + 1 :]] if cut + 1 < len(block) else []
    if parts:
        yield b"".join(parts)


def read_records() -> Iterator[tuple[bytes, bytes]]:
    read = open(0, "rb", READ_BYTES, closefd=False).read
    while len(head := read(HEAD.size)) == HEAD.size:
        key, value = HEAD.unpack(head)
        if key == SIZE_OF_END:
            return
        yield read(key), read(value)
    raise EngineEnded


def read_blocks() -> Iterator[Iterable[Any]]:
    return (loads(value) for _, value in read_records())


def read_text_pairs() -> Iterator[Iterable[Any]]:
    return ([(_decode(key), _decode(value))] for key, value in read_records())


def read_binary_pairs() -> Iterator[Iterable[Any]]:
    return ([(_decode(key), value)] for key, value in read_records())


def read_typed(key: str, value: str) -> Iterator[Iterable[Any]]:
    """Records of types that the engine knows (_records.py)."""
    of_key, of_value = _decoder(key), _decoder(value)
    if key == "none":
        return ([of_value(cell)] for _, cell in read_records())
    return ([(of_key(k), of_value(v))] for k, v in read_records())


def _decoder(kind: str) -> Callable[[bytes], Any]:
    if kind == "msgpack":
        from ._values import unpack

        return unpack
    if kind == "text":
        return lambda data: data.decode("utf-8", "surrogateescape")
    if kind in ("i64", "f64"):
        unpacked = Struct("<q" if kind == "i64" else "<d").unpack
        return lambda data: unpacked(data)[0]
    return bytes


def read_bytes() -> Iterator[Iterable[Any]]:
    return ([value] for _, value in read_records())


def read_batches() -> Iterator[Iterable[Any]]:
    """Blocks of columns, as they are, into memory that they keep."""
    from glint._blocks import Batch

    file: Any = open(0, "rb", READ_BYTES, closefd=False)

    def fill(memory: memoryview) -> None:
        while memory:
            count = file.readinto(memory)
            if not count:
                raise EngineEnded
            memory = memory[count:]

    while len(head := file.read(HEAD.size)) == HEAD.size:
        key, value = HEAD.unpack(head)
        if key == SIZE_OF_END:
            return
        yield [Batch.read(value, fill)]
    raise EngineEnded


def read_zip() -> Iterator[Iterable[Any]]:
    """Two blocks, of the left and the right side, which have as many elements."""
    for key, value in read_records():
        left, right = loads(key), loads(value)
        if len(left) != len(right):
            raise ValueError("Can only zip RDDs with same number of elements in each partition")
        yield zip(left, right)


def read_cartesian() -> Iterator[Iterable[Any]]:
    for key, value in read_records():
        right = loads(value)
        yield ((a, b) for a in loads(key) for b in right)


def read_buckets() -> Iterator[Iterator[Iterable[Any]]]:
    """The blocks of each bucket of a shuffle (_shuffle.py). Records come in the order of their
    keys, so a bucket ends where another one begins."""
    records = read_records()
    first = next(records, None)
    while first is not None:
        at, following = first[0], None

        def blocks(value: bytes = first[1], at: bytes = at) -> Iterator[Iterable[Any]]:
            nonlocal following
            yield load_block(value)
            for key, more in records:
                if key != at:
                    following = key, more
                    return
                yield load_block(more)

        bucket = blocks()
        yield bucket
        for _ in bucket:
            pass
        first = following


# ---- Output


def write_record(out: Output, key: bytes, value: bytes) -> None:
    if len(value) > VALUE_BYTES_MAX:
        raise OverflowError(f"an element has {len(value)} bytes when pickled; the limit is 4 GiB")
    out.write(HEAD.pack(len(key), len(value)))
    out.write(key)
    out.write(value)


def write_blocks(out: Output, items: Iterable[Any], size: int = 0) -> None:
    """Blocks of `size` elements, or of about BLOCK_BYTES if it is 0. The last one is written when
    the task's notes are: with it an action may have enough, and it reads no more."""
    count, rest = size or 1, iter(items)
    while block := list(islice(rest, count)):
        value = dumps(block, 5)
        if out.last is not None:
            write_record(out, b"", out.last)
        out.last = value
        if size == 0 and len(value) < BLOCK_BYTES:
            count *= 2
        elif size == 0 and len(value) > 10 * BLOCK_BYTES and count > 1:
            count //= 2


def write_pairs(out: Output, items: Iterable[tuple[bytes, bytes]], _: int) -> None:
    """For a shuffle: keys and values are bytes already."""
    for key, value in items:
        write_record(out, key, value)


def write_lines(out: Output, items: Iterable[bytes], _: int) -> None:
    for line in items:
        write_record(out, b"", line)


def write_batches(out: Output, items: Iterable[Any], _: int) -> None:
    for batch in items:
        for block in batch.encode_parts():
            out.write(HEAD.pack(0, len(block)))
            out.write(block)


READERS: dict[str, Callable[[], Iterator[Any]]] = {
    "text": read_text_blocks,
    "escaped": read_escaped_text,
    "lines": read_raw_lines,
    "blocks": read_blocks,
    "batches": read_batches,
    "text pairs": read_text_pairs,
    "binary pairs": read_binary_pairs,
    "bytes": read_bytes,
    "zip": read_zip,
    "cartesian": read_cartesian,
}
WRITERS: dict[str, Callable[[Output, Iterable[Any], int], None]] = {
    "blocks": write_blocks,
    "batches": write_batches,
    "lines": write_lines,
    "pairs": write_pairs,
}


def run(job: dict[str, Any], function: Function, out: Output) -> None:
    split = int(os.environ.get("mapreduce_task_partition", "0"))
    if job["input"] == "buckets":
        items: Iterator[Any] = read_buckets()
    elif job["input"].startswith("typed "):
        items = chain.from_iterable(read_typed(*job["input"].split()[1:]))
    else:
        items = chain.from_iterable(READERS[job["input"]]())
    WRITERS[job["output"]](out, function(split, items), job["block"])


# ---- The process


def redirect(directory: str, name: str, file: int) -> None:
    """What the functions print goes to the user, by the driver's named pipe."""
    try:
        target = os.open(os.path.join(directory, name), os.O_WRONLY)
    except OSError:  # the driver has ended, or runs on another machine
        target = os.dup(2)
    os.dup2(target, file)
    os.close(target)


def describe(error: BaseException) -> tuple[str, bytes]:
    """The user's traceback, and the exception, pickled if that is possible."""
    import traceback

    trace = error.__traceback__
    own = describe.__code__.co_filename
    while trace is not None and trace.tb_frame.f_code.co_filename == own:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    if isinstance(error, SystemExit):
        text += f"a function ended its worker: sys.exit({error.code!r})\n"
    try:
        pickled = load_cloudpickle().dumps(error)
        loads(pickled)
    except BaseException:
        pickled = b""
    return text, pickled


def report(directory: str, error: BaseException) -> None:
    """Writes the exception for the driver, which raises it."""
    text, pickled = describe(error)
    path = os.path.join(directory, f"error-{os.environ.get('mapreduce_task_attempt_id')}")
    with open(path + ".tmp", "wb") as file:
        file.write(dumps((text, pickled)))
    os.rename(path + ".tmp", path)


def print_report(errors: int, error: BaseException) -> None:
    """The same on a cluster: it becomes part of the engine's error (pyspark/_shipping.py)."""
    import base64

    text, pickled = describe(error)
    shown = text.rstrip("\n").encode("utf-8", "backslashreplace")
    if len(shown) > REPORT_BYTES:
        shown = shown[:REPORT_BYTES // 4] + b"\n...\n" + shown[-REPORT_BYTES * 3 // 4 :]
    encoded = base64.b64encode(pickled)
    if len(encoded) > EXCEPTION_BYTES:
        encoded = b""
    os.write(errors, shown + b"\nglint-exception: " + encoded + b"\n")


def write_notes(out: Output, printed: dict[str, Any]) -> None:
    """What was added to accumulators, and the end of what was printed, for the driver."""
    from . import _task

    notes = []
    if _task.accumulators:
        added = {number: item._value for number, item in _task.accumulators.items()}
        notes.append(load_cloudpickle().dumps(("added", added)))
    for kind, file in printed.items():
        size = file.seek(0, 2)
        file.seek(max(0, size - PRINTED_BYTES))
        text = file.read()
        if size > PRINTED_BYTES:
            text = b"... (of %d bytes)\n" % size + text
        if text:
            notes.append(dumps((kind, text)))
    data = b"".join(notes)
    if data:
        out.write(HEAD.pack(KEY_OF_NOTES, len(data)) + data)


def unpack_files(path: str) -> str:
    """The directory of the driver's files, which the first worker unpacks."""
    import tarfile
    import tempfile

    place = path + ".d"
    if not os.path.isdir(place):
        attempt = tempfile.mkdtemp(dir=os.path.dirname(path))
        with tarfile.open(path) as tar:
            tar.extractall(attempt)
        try:
            os.rename(attempt, place)
        except OSError:  # another worker was faster
            import shutil

            shutil.rmtree(attempt)
    return place


def prepare_on_cluster(job: dict[str, Any], files: dict[str, str]) -> None:
    _functions.load(files.get("native"))
    if "files" in files:
        files["root"] = unpack_files(files["files"])
        sys.path[1:1] = [os.path.join(files["root"], place) for place in job["places"]]


def load_function(file: Any, files: dict[str, str]) -> Function:
    try:
        return load(file)  # type: ignore[no-any-return]
    except ModuleNotFoundError as error:
        if not files:
            raise
        import socket

        raise ModuleNotFoundError(
            f"{error}, for {sys.executable} on {socket.gethostname()}: install it on each "
            "executor, or ship it by --py-files or SparkContext.addPyFile", name=error.name
        ) from None


def leave_in_child(own: int) -> None:
    """A process that a function forks must not write to this worker's output."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, own)
    os.close(nothing)


def flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass


def run_job(path: str, files: dict[str, str], out: Output, printed: dict[str, Any]) -> None:
    from . import _task

    with open(path, "rb") as file:
        job = load(file)
        if files:
            prepare_on_cluster(job, files)
        else:
            sys.path[:] = job["path"]
        if job["alias"]:
            from ._alias import install

            install()
        _task.begin(os.path.dirname(path), job, files)
        function = load_function(file, files)
    run(job, function, out)
    _task.end()
    flush_streams()
    if files:
        write_notes(out, printed)
    out.end()


def capture(directory: str, file: int) -> Any:
    """On a cluster the driver shows what a task has printed when it has succeeded."""
    import tempfile

    target = tempfile.TemporaryFile(dir=directory)
    os.dup2(target.fileno(), file)
    return target


def main(words: list[str]) -> None:
    """Does not return."""
    path, *pairs = words
    directory = os.path.dirname(path)
    files = dict(zip(pairs[::2], pairs[1::2]))
    own = os.dup(1)
    errors = os.dup(2)
    printed: dict[str, Any] = {}
    for name, number in (("stdout", 1), ("stderr", 2)):
        if files:
            printed[name] = capture(directory, number)
        else:
            redirect(directory, name, number)
    import faulthandler

    faulthandler.enable(file=errors, all_threads=False)
    os.register_at_fork(after_in_child=lambda: leave_in_child(own))
    status = 0
    try:
        run_job(path, files, Output(own), printed)
    except EngineEnded:
        pass
    except BaseException as error:
        status = 1
        flush_streams()
        if files:
            print_report(errors, error)
        else:
            report(directory, error)
    # Without the destructors of a large heap: what matters is written.
    os._exit(status)
