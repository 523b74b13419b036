"""Jobs as stages of another engine, for glint.spark and its like: arguments, results and errors
as those of glint.run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any, Optional

from . import _stages
from ._context import text_of
from ._engine import engine as library
from ._errors import Error
from ._run import Argument, Result, result_of, words_of
from ._run import program as own_program

# Gets the program and a stage file; returns the lines of results.
Engine = Callable[[str, str], Iterable[bytes]]


def run(
    engine: Engine,
    job: str,
    arguments: tuple[Argument, ...],
    options: dict[str, Any],
    program: Optional[str],
) -> Result:
    path = program or own_program()
    words = words_of(job, arguments, options)
    try:
        done = _stages.run_job(path, words, lambda file: engine(path, file))
    except Exception as reason:
        failed = _stages.failure(reason)
        if failed is None:
            raise
        raise _error(*failed) from reason
    output, errors = os.fsdecode(done.stdout), os.fsdecode(done.stderr)
    return result_of(done.returncode, output, errors)


def _error(status: int, message: str) -> Error:
    """What a task printed, as an exception."""
    code = re.match(r"error\[(E\d+)\]", message)
    if code is None:
        return Error(None, message, exit_status=status)
    _, lib = library()
    number = -int(code[1][1:])
    parts = dict(re.findall(r"^  (cause|effect|hint): (.*(?:\n {3}.*)*)", message, re.MULTILINE))
    return Error(
        code[1],
        parts.get("cause", ""),
        name=text_of(lib.glint_code_name(number)),
        text=text_of(lib.glint_code_text(number)),
        effect=parts.get("effect"),
        hint=parts.get("hint"),
        exit_status=status,
    )
