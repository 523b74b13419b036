"""A zstd file as a stream of bytes, by the libzstd that the engine is linked with: Python has it
only from 3.14 on."""

from __future__ import annotations

import io
import os
from typing import Any

import cffi

from ._engine import LIBRARY

_ffi = cffi.FFI()
_ffi.cdef("""
typedef struct { void *dst; size_t size, pos; } ZSTD_outBuffer;
typedef struct { const void *src; size_t size, pos; } ZSTD_inBuffer;
void *ZSTD_createDCtx(void);
size_t ZSTD_freeDCtx(void *d);
size_t ZSTD_decompressStream(void *d, ZSTD_outBuffer *out, ZSTD_inBuffer *in);
unsigned ZSTD_isError(size_t code);
const char *ZSTD_getErrorName(size_t code);
""")
_CHUNK = 1 << 17  # bytes that are read from the file at a time


class _Frames(io.RawIOBase):
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "rb")
        self._lib = _ffi.dlopen(LIBRARY)
        self._state = _ffi.gc(self._lib.ZSTD_createDCtx(), self._lib.ZSTD_freeDCtx)
        if self._state == _ffi.NULL:
            raise MemoryError
        self._in = _ffi.new("ZSTD_inBuffer *")
        self._kept = b""  # what `_in` points to
        self._rest = 0  # of the frame; 0 at its end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        target = _ffi.from_buffer(buffer)
        out = _ffi.new("ZSTD_outBuffer *", {"dst": target, "size": len(target)})
        while out.pos == 0:
            if self._in.pos == self._in.size and not self._fill():
                if self._rest != 0:
                    raise EOFError(f"{self._file.name}: the zstd data is truncated")
                return 0
            self._rest = self._lib.ZSTD_decompressStream(self._state, out, self._in)
            if self._lib.ZSTD_isError(self._rest):
                cause = _ffi.string(self._lib.ZSTD_getErrorName(self._rest)).decode()
                raise OSError(f"{self._file.name}: damaged zstd data: {cause}")
        return int(out.pos)

    def _fill(self) -> bool:
        self._kept = self._file.read(_CHUNK)
        self._in.src, self._in.size, self._in.pos = _ffi.from_buffer(self._kept), len(self._kept), 0
        return len(self._kept) > 0

    def close(self) -> None:
        self._file.close()
        super().close()


def open_zstd(path: str | os.PathLike[str]) -> io.BufferedReader:
    return io.BufferedReader(_Frames(path), _CHUNK)
