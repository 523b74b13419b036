"""What executors of a cluster get from the driver: this package and cloudpickle, jobs, broadcasts
and files; libglint.so, if there are batches of columns. Each is a broadcast of the engine, which an
executor gets once and has as a file (engine/glint.h: glint_command.files)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any, Optional

from .._context import Context
from .._engine import engine
from .._errors import Error

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UNCHECKED = (1).to_bytes(4, "little") + bytes(8)  # a .pyc that no source is compared with
MAIN = """\
import sys

def refuse(why):
    import socket, struct
    control, number = socket.socket(fileno=0), struct.Struct("<I")
    while control.recv(1):
        size, = number.unpack(control.recv(4, socket.MSG_WAITALL))
        control.recv(size, socket.MSG_WAITALL)
        text = why.encode()[:1000]
        control.sendall(number.pack(0) + number.pack(len(text)) + text)

version = "%s %d.%d" % ((sys.implementation.name,) + sys.version_info[:2])
if version != sys.argv[1]:
    refuse("its Python, %s, is %s; that of the driver is %s"
           % (sys.executable, version, sys.argv[1]))
else:
    try:
        from glint import _parent
        _parent.load()
    except Exception as error:
        refuse("%s: %r" % (sys.executable, error))
    else:
        _parent.serve()
"""


def version() -> str:
    """What driver and executors must have in common: functions travel as byte code."""
    return f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"


def _modules(directory: str) -> Iterator[str]:
    for parent, directories, names in os.walk(directory, followlinks=True):
        directories[:] = sorted(n for n in directories if n not in ("__pycache__", "bin", "lib"))
        yield from (os.path.join(parent, name) for name in sorted(names) if name.endswith(".py"))


def pack_program() -> bytes:
    """A zip file that Python runs: the parent of workers (_parent.py)."""
    import importlib.util
    import io
    import marshal
    import zipfile

    import cloudpickle

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as program:
        program.writestr("__main__.py", MAIN)
        for package in PACKAGE, os.path.dirname(os.path.abspath(cloudpickle.__file__)):
            for path in _modules(package):
                name = os.path.relpath(path, os.path.dirname(package))
                code = _code(path)
                program.writestr(name + "c", importlib.util.MAGIC_NUMBER + UNCHECKED
                                 + marshal.dumps(code))
    return out.getvalue()


def _code(path: str) -> Any:
    """Of the module's cache, if it has one."""
    from importlib.machinery import SourceFileLoader

    return SourceFileLoader(os.path.basename(path)[:-3], path).get_code(
        os.path.basename(path)[:-3])


def pack_files(directory: str) -> bytes:
    import io
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in sorted(os.listdir(directory)):
            tar.add(os.path.join(directory, name), name)
    return out.getvalue()


class Shipping:
    """Broadcasts that live until they are replaced, by name. Those of a job live as long as it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sent: dict[str, Any] = {}
        self._numbers: dict[str, int] = {}
        self.places: list[str] = []  # of modules, below the directory of files
        self.root = ""  # of files; "": there are none
        self.columns = False  # functions may get batches: they need libglint.so

    def send(self, name: str, data: bytes) -> None:
        self.forget(name)
        self._sent[name] = self._make(data)
        self._numbers[name] = self._numbers.get(name, 0) + 1

    def forget(self, name: str) -> None:
        _, lib = engine()
        old = self._sent.pop(name, None)
        if old is not None:
            lib.glint_broadcast_destroy(self._context._g, old)

    def has(self, name: str) -> bool:
        return name in self._sent

    def _make(self, data: bytes) -> Any:
        ffi, lib = engine()
        made = lib.glint_broadcast_copy(self._context._g, ffi.from_buffer(data), len(data))
        if not made:
            raise self._context._error()
        return made

    def arguments(self, job: bytes, names: list[str]) -> Any:
        """The files of a command. In a scope, which ends the broadcast of the job with its RDD."""
        _, lib = engine()
        files = lib.glint_args(self._context._g)
        lib.glint_args_add_broadcast(files, b"job", self._make(job))
        for name in names:
            lib.glint_args_add_broadcast(files, name.encode(), self._sent[name])
        return files


EXCEPTION = "glint-exception: "
END_OF_ERRORS = "; the end of its standard error:\n"


def exception_of(error: Error) -> Optional[tuple[str, bytes]]:
    """The traceback and the pickled exception that a worker has printed (_worker.print_report)."""
    import base64

    text = (error.cause or "").partition(END_OF_ERRORS)[2]
    shown, mark, pickled = text.rpartition("\n" + EXCEPTION)
    return (shown, base64.b64decode(pickled)) if mark else None
