"""RDD.pipe in a worker."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

from .errors import PySparkRuntimeError


def lines_of(command: Union[str, Sequence[str]], env: Mapping[str, str],
             ok: Optional[frozenset[int]]) -> Callable[[Iterator[Any]], Iterator[str]]:
    """What the command prints; a status that is not in `ok` is an error."""
    words = shlex.split(command) if isinstance(command, str) else list(command)

    def through(items: Iterator[Any]) -> Iterator[str]:
        import subprocess
        import threading

        process = subprocess.Popen(words, env=dict(env) or None, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None
        feed, failed = process.stdin, list[BaseException]()

        def write() -> None:
            try:
                with feed:
                    for x in items:
                        feed.write((str(x).rstrip("\n") + "\n").encode())
            except BrokenPipeError:  # it reads no more
                pass
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        for line in process.stdout:
            yield line.rstrip(b"\n").decode("utf-8")
        thread.join()
        if failed:
            raise failed[0]
        if process.wait() not in (range(-256, 256) if ok is None else ok):
            raise PySparkRuntimeError(
                f"[PIPE_FUNCTION_EXITED] Pipe function `{command}` exited with error code "
                f"{process.returncode}")

    return through
