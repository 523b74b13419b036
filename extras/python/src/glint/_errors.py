"""The exception for all errors that glint reports, from the program or from the library."""

from __future__ import annotations

import errno as errors
import os
from typing import Optional

# Name, text and exit status of the codes that the library's results become: docs/errors.md.
_CODES = {
    "E0104": ("BAD_VALUE", "value out of range", 64),
    "E0201": ("INPUT_NOT_FOUND", "input not found", 66),
    "E0202": ("INPUT_PERMISSION", "input cannot be read", 77),
    "E0205": ("INPUT_IO", "reading the input failed", 74),
    "E0302": ("OUTPUT_CREATE", "output cannot be created", 73),
    "E0303": ("OUTPUT_IO", "writing the output failed", 74),
    "E0304": ("OUTPUT_FULL", "no space left for the output", 74),
    "E0501": ("NO_MEMORY", "out of memory", 71),
    "E0803": ("FILTER_INVALID", "a filter is not valid", 65),
    "E0804": ("FILTER_MISMATCH", "filters do not match the arguments", 65),
    "E0805": ("FILTER_LIMIT", "filter parameters out of bounds", 64),
}


class JobError(Exception):
    """A job has failed: what programs of PySpark catch as py4j.protocol.Py4JJavaError."""

    @property
    def java_exception(self) -> JavaException:
        return JavaException(str(self))


class JavaException(str):
    """Its text, as methods of Java give it."""

    def getMessage(self) -> str:
        return str(self)

    toString = getLocalizedMessage = getMessage


class Error(JobError):
    """An error of glint. docs/errors.md explains each code.

    code         "E0201"; None if the program ended without reporting one
    name, text   "INPUT_NOT_FOUND", "input not found"
    cause        what happened, to which file or value
    effect, hint None or a sentence
    exit_status  of the program, or the one it would have; below 0: killed by that signal
    """

    def __init__(
        self,
        code: Optional[str],
        cause: str,
        *,
        name: Optional[str] = None,
        text: Optional[str] = None,
        effect: Optional[str] = None,
        hint: Optional[str] = None,
        exit_status: Optional[int] = None,
    ) -> None:
        known = _CODES.get(code or "", (None, None, None))
        self.code = code
        self.name = name or known[0]
        self.text = text or known[1]
        self.cause = cause
        self.effect = effect
        self.hint = hint
        self.exit_status = known[2] if exit_status is None else exit_status
        super().__init__(code, cause)

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.text}" if self.code else "glint failed"]
        for part in ("cause", "effect", "hint"):
            value = getattr(self, part)
            if value:
                lines.append(f"  {part}: {value}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self.__dict__.copy(),))


def _rebuild(parts: dict[str, object]) -> Error:
    error = Error(None, "")
    error.__dict__.update(parts)
    error.args = (error.code, error.cause)
    return error


_LIMITS = ("N", "P", "M", "K", "SEEDS", "SCHEME", "LAYOUT", "PAIR", "BLOCKS", "K_LAYOUT",
           "P_LAYOUT", "BITS")
_CODE_OF = {**dict.fromkeys(_LIMITS, "E0805"), "MEMORY": "E0501", "MISMATCH": "E0804",
            "STATIC": "E0804", "REMOVE": "E0804", "COLUMN": "E0104", "ID_TYPE": "E0104",
            "ID_SIZE": "E0104"}


def check(result: int, what: str = "", hint: Optional[str] = None, writes: bool = False) -> None:
    """Raises the error of a function of the library, unless its result is 0."""
    if result == 0:
        return
    from ._library import ffi, lib  # not in workers, which import this module

    number = ffi.errno
    cause = ffi.string(lib.glint_bloom_strerror(result)).decode()
    code = next((code for name, code in _CODE_OF.items()
                 if getattr(lib, "GLINT_BLOOM_ERR_" + name) == result), "E0803")
    if result == lib.GLINT_BLOOM_ERR_IO:
        cause = os.strerror(number)
        code = _code_of_errno(number, writes)
    raise Error(code, f"{what}: {cause}" if what else cause, hint=hint)


def _code_of_errno(number: int, writes: bool) -> str:
    if writes:
        if number in (errors.ENOSPC, errors.EDQUOT):
            return "E0304"
        return "E0303" if number == errors.EIO else "E0302"
    if number in (errors.ENOENT, errors.ENOTDIR):
        return "E0201"
    return "E0202" if number in (errors.EACCES, errors.EPERM) else "E0205"
