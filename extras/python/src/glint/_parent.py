"""The parent of workers: a process of an executor that imports what each worker needs, so that a
worker costs a fork. It never runs a function of a program.

    python -S _parent.py DIRECTORY...

DIRECTORY is searched for glint and cloudpickle. The protocol is that of the engine
(engine/base/worker_parent.h).
"""

from __future__ import annotations

import _socket as socket  # socket alone takes as long to import as all else
import gc
import os
import struct
import sys
from typing import NoReturn

NUMBER = struct.Struct("<I")
DESCRIPTORS = struct.Struct("3i")
FILES = 3
PR_SET_PDEATHSIG, SIGKILL = 1, 9
FEW = 4  # workers: with more it is worth while to import all that functions may refer to


def receive(control: socket.socket, size: int) -> bytes:
    """All of it; the engine has ended if that is not possible."""
    data = b""
    while len(data) < size:
        try:
            some = control.recv(size - len(data))
        except ConnectionResetError:
            some = b""
        if not some:
            os._exit(0)
        data += some
    return data


def receive_kind(control: socket.socket) -> tuple[bytes, list[int]]:
    """The first byte of a request, and the files that come with it."""
    try:
        kind, extra, _, _ = control.recvmsg(1, socket.CMSG_SPACE(DESCRIPTORS.size))
    except ConnectionResetError:  # the engine has ended, with an answer that it did not read
        return b"", []
    for level, what, data in extra:
        if level == socket.SOL_SOCKET and what == socket.SCM_RIGHTS:
            return kind, list(DESCRIPTORS.unpack(data))
    return kind, []


def texts(data: bytes) -> tuple[list[str], list[str]]:
    """Two lists, of which each text and each list ends with a NUL."""
    lists: list[list[str]] = [[], []]
    at = 0
    for text in data.split(b"\0")[:-1]:
        if text:
            lists[at].append(os.fsdecode(text))
        else:
            at += 1
    return lists[0], lists[1]


def end_with_parent() -> None:
    """By what ctypes is made of, which takes a tenth of its time to import."""
    try:
        import _ctypes

        function = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        _ctypes.call_function(function, (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
    except (ImportError, AttributeError):  # another implementation than CPython
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)


def become_worker(parent: int, files: list[int], words: list[str],
                  variables: list[str]) -> NoReturn:
    """In the child: its own group, which ends with the parent."""
    os.setpgid(0, 0)
    end_with_parent()
    if os.getppid() != parent:
        os._exit(1)
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in files:
        if file >= FILES:
            os.close(file)
    for variable in variables:
        name, _, value = variable.partition("=")
        os.environ[name] = value
    from glint import _worker

    _worker.main(words)
    os._exit(1)


def fork_worker(control: socket.socket, files: list[int]) -> None:
    words, variables = texts(receive(control, NUMBER.unpack(receive(control, NUMBER.size))[0]))
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        pid, why = -1, f"fork: {error}".encode()
    if pid == 0:
        control.detach()  # its descriptor becomes the standard input
        become_worker(parent, files, words, variables)
    for file in files:
        os.close(file)
    if pid < 0:
        control.sendall(NUMBER.pack(0) + NUMBER.pack(len(why)) + why)
        return
    try:
        os.setpgid(pid, pid)  # before the engine may kill the group
    except OSError:  # the worker was faster, or has ended
        pass
    control.sendall(NUMBER.pack(pid))


def load() -> None:
    """What each worker needs, before the first one."""
    import _ctypes  # noqa: F401
    import faulthandler  # noqa: F401

    gc.disable()
    import glint._task  # noqa: F401
    import glint._worker  # noqa: F401
    from glint._pickling import load_cloudpickle

    load_cloudpickle()
    gc.freeze()
    gc.enable()


def load_more() -> None:
    """What functions may refer to."""
    import base64  # noqa: F401
    import tempfile  # noqa: F401
    import traceback  # noqa: F401

    import glint.pyspark.context  # noqa: F401

    gc.collect()
    gc.freeze()


def serve() -> None:
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, 0)
    forked = 0
    while True:
        kind, files = receive_kind(control)
        if kind == b"F":
            fork_worker(control, files)
            forked += 1
            if forked == FEW:
                load_more()
        elif kind == b"R":
            _, status = os.waitpid(NUMBER.unpack(receive(control, NUMBER.size))[0], 0)
            control.sendall(NUMBER.pack(status))
        else:
            os._exit(0)


if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]
    load()
    serve()
