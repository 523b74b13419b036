"""Parts of an output directory, which workers write. A part gets its name by a rename when it is
complete, and the directory when all parts are."""

from __future__ import annotations

import glob
import os
import pickle
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Optional

from .._pickling import dumps
from .._worker import HEAD
from .errors import OutputExistsError, not_here

if TYPE_CHECKING:
    from .rdd import RDD

GZIP = "org.apache.hadoop.io.compress.GzipCodec"
_CODECS = {GZIP: ".gz",
           "org.apache.hadoop.io.compress.BZip2Codec": ".bz2",
           "org.apache.hadoop.io.compress.DefaultCodec": ".deflate"}
SavePart = Callable[[str, int, Iterable[Any]], None]


def _write_part(path: str, ending: str, chunks: Iterable[bytes]) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "xb") as file:
        for chunk in _compressed(ending, chunks):
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, path + ending)


def _compressed(ending: str, chunks: Iterable[bytes]) -> Iterable[bytes]:
    if ending == "":
        return chunks
    if ending == ".bz2":
        import bz2

        return _through(bz2.BZ2Compressor(), chunks)
    import zlib

    return _through(zlib.compressobj(wbits=31 if ending == ".gz" else 15), chunks)


def _through(compressor: Any, chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        yield compressor.compress(chunk)
    yield compressor.flush()


def _text(items: Iterable[Any]) -> Iterator[bytes]:
    rest = iter(items)
    while some := list(islice(rest, 1000)):
        yield b"".join(text_of(x) + b"\n" for x in some)


def text_of(x: Any) -> bytes:
    """The line of an element."""
    return x if isinstance(x, bytes) else str(x).encode("utf-8", "surrogateescape")


def save_text_part(codec: Optional[str]) -> SavePart:
    if codec is not None and codec not in _CODECS:
        raise not_here(f"the codec {codec}", "use one of " + ", ".join(_CODECS))
    ending = "" if codec is None else _CODECS[codec]
    return lambda directory, split, items: _write_part(
        os.path.join(directory, f"part-{split:05d}"), ending, _text(items))


def _pickled(items: Iterable[Any], size: int) -> Iterator[bytes]:
    rest = iter(items)
    while some := list(islice(rest, size)):
        value = dumps(some)
        yield HEAD.pack(0, len(value)) + value


def save_pickle_part(size: int) -> SavePart:
    return lambda directory, split, items: _write_part(
        os.path.join(directory, f"part-{split:05d}"), "", _pickled(items, size or 1000))


def read_pickle_part(path: str) -> Iterator[Any]:
    with open(path, "rb") as file:
        while head := file.read(HEAD.size):
            yield from pickle.loads(_exactly(file, head, path))


def _exactly(file: BinaryIO, head: bytes, path: str) -> bytes:
    size = HEAD.unpack(head)[1] if len(head) == HEAD.size else -1
    value = file.read(size) if size >= 0 else b""
    if len(value) != size:
        raise ValueError(f"{path} is no file of saveAsPickleFile of glint, or is damaged")
    return value


def local(path: Any) -> Any:
    """file: URIs as paths."""
    if not isinstance(path, str):
        return path
    return ",".join(re.sub(r"^file:(//)?(?=/)", "", one) for one in path.split(","))


def _parts_of(path: str) -> list[str]:
    if os.path.isfile(path):
        return [path]
    return [os.path.join(path, name) for name in sorted(os.listdir(path))
            if not name.startswith(("_", "."))]


def open_parts(ctx: Any, path: str) -> RDD:
    """What saveAsPickleFile has saved: parts, directories of them, and patterns."""
    paths = [os.path.abspath(part) for one in path.split(",")
             for found in sorted(glob.glob(one)) or [one] for part in _parts_of(found)]
    made: RDD = ctx.parallelize(paths, len(paths)) if paths else ctx.emptyRDD()
    return made.flatMap(read_pickle_part)


def save_parts(rdd: RDD, path: Any, part: SavePart) -> None:
    """A directory of parts, which appears when it is complete."""
    target = os.path.abspath(local(path))
    if os.path.lexists(target):
        raise OutputExistsError(target)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    attempt = os.path.join(os.path.dirname(target),
                           f".{os.path.basename(target)}.{uuid.uuid4().hex}.tmp")
    os.mkdir(attempt)

    def each(split: int, items: Iterator[Any]) -> list[Any]:
        part(attempt, split, items)
        return []

    try:
        rdd._values(each)
        with open(os.path.join(attempt, "_SUCCESS"), "wb"):
            pass
        os.rename(attempt, target)
    except BaseException:
        shutil.rmtree(attempt, ignore_errors=True)
        raise
