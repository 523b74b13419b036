#!/usr/bin/env bash
# Version: polars 2.1.0 and pyarrow 26.0.1 of PyPI. Source: run on 2026-11-29.
# Guess: a column of type null has no buffers in Arrow's C data interface, whose specification gives its layout none.
# Behaviour: Polars exports it with one buffer, a bitmap; pyarrow with none. A reader that checks the number of buffers by
# the type refuses what Polars gives.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install polars==2.1.0 pyarrow==26.0.1
env/bin/python - <<'END'
import ctypes as c

import polars
import pyarrow


class Array(c.Structure):
    pass


Array._fields_ = [*((name, c.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
                  ("buffers", c.c_void_p), ("children", c.POINTER(c.POINTER(Array)))]


class Stream(c.Structure):
    _fields_ = [("get_schema", c.c_void_p), ("get_next", c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p))]


def buffers(table):
    capsule = table.__arrow_c_stream__()
    pointer = c.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
    stream = pointer(capsule, b"arrow_array_stream")
    memory = (c.c_char * 256)()
    assert Stream.from_address(stream).get_next(stream, c.addressof(memory)) == 0
    return Array.from_buffer(memory).children[0].contents.n_buffers


counts = buffers(polars.DataFrame({"n": [None, None]})), buffers(pyarrow.table({"n": pyarrow.nulls(2)}))
print("buffers of a null column: Polars %d, pyarrow %d" % counts)
assert counts == (1, 0)
END
