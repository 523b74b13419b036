"""Runs a job as stages of another engine, by the commands of `glint stage`: what adapters share.

Part of glint's package for Python, as glint._stages, and installed beside the programs
glint-on-ENGINE.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Optional

# Gets a stage file, and runs its stages. Returns the lines of results, those of one task in order.
Engine = Callable[[str], Iterable[bytes]]
Lines = Callable[[Iterable[bytes]], Iterator[bytes]]
Done = subprocess.CompletedProcess[bytes]

_HAS_ANOTHER_ACTION = 70  # exit status of E0917, with which gather ends then


def run_job(program: str, words: list[str], engine: Engine) -> Done:
    """Runs JOB ARGUMENTS... Returns the command that failed, or that published the outputs."""
    with tempfile.TemporaryDirectory(prefix="glint-") as directory:

        def stage(*arguments: str, results: Any = subprocess.DEVNULL) -> Done:
            command = [program, "stage", *arguments]
            return subprocess.run(command, stdin=results, capture_output=True)

        # Names that no other job of the same engine has.
        name = os.path.join(directory, os.path.basename(directory))
        file, number = f"{name}-0.stage", 0
        done = stage("pack", *words, "-o", file)
        while done.returncode == 0:
            with tempfile.TemporaryFile(dir=directory) as results:
                results.writelines(engine(file))
                results.seek(0)
                done = stage("gather", file, results=results)
                if done.returncode != _HAS_ANOTHER_ACTION:
                    break
                number += 1
                following = f"{name}-{number}.stage"
                results.seek(0)
                done = stage("pack", "--next", file, "-o", following, results=results)
                file = following
        return done


def stages(program: str, file: str) -> list[dict[str, Any]]:
    """Those of `glint stage show`: a stage comes after its parents, the last writes the results."""
    command = [program, "stage", "show", file]
    shown = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return list(json.loads(shown.stdout)["stages"])


def splits(program: str, file: str, stage: int) -> list[bytes]:
    """The lines of a stage that reads input, one for each task."""
    command = [program, "stage", "splits", file]
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return [line for line in lines.splitlines(True) if line.startswith(b"%d." % stage)]


def grouped(splits: list[bytes], parallelism: int) -> list[list[bytes]]:
    """Splits for each task of the engine: starting one costs more than reading a split. There are
    some tasks for each processor, and enough where not all processors are known yet."""
    count = max(1, min(len(splits), max(3 * parallelism, -(-len(splits) // 8))))
    edges = [i * len(splits) // count for i in range(count + 1)]
    return [splits[start:end] for start, end in zip(edges, edges[1:])]


def task(words: Callable[[], list[str]]) -> Lines:
    """A function that runs a command of `glint stage` on lines, in a worker of the engine.

    The inner function is pickled by its value, so that workers need no module of glint. If the
    lines end with an error it kills the command, which would wait for more of them.
    """

    def run(lines: Iterable[bytes]) -> Iterator[bytes]:
        import subprocess
        import tempfile
        import threading

        failures: list[BaseException] = []
        with tempfile.TemporaryFile() as errors:
            command = words()
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
            assert process.stdin is not None and process.stdout is not None
            pipe = process.stdin

            def feed() -> None:
                try:
                    with pipe:
                        pipe.writelines(lines)
                except BrokenPipeError:
                    pass  # the command ended early, and its status says why
                except BaseException as failure:
                    failures.append(failure)
                    process.kill()

            feeder = threading.Thread(target=feed, daemon=True)
            feeder.start()
            try:
                yield from process.stdout
                feeder.join()
                process.wait()
            finally:
                process.kill()
                process.wait()
            if failures:
                raise failures[0]
            if process.returncode != 0:
                errors.seek(0)
                said = errors.read()[-8000:].decode("utf-8", "replace")
                how = f"glint stage {command[2]} ended with status {process.returncode}"
                raise RuntimeError(f"{how}\n{said}")

    return run


_FAILURE = re.compile(
    r"glint stage \w+ ended with status (-?\d+)\n(?:(?:.*\n)*?(error\[E\d+\].*(?:\n  \S.*)*))?"
)


def failure(reason: BaseException) -> Optional[tuple[int, str]]:
    """Exit status and message of the task that failed, from what the engine raised."""
    found = _FAILURE.search(str(reason))
    if found is None:
        return None
    return int(found[1]), found[2] or found[0].strip()


def main(engine: str, run: Callable[[str, str, list[str]], Done]) -> int:
    """The program glint-on-ENGINE PROGRAM PLACE JOB ARGUMENTS...; glint submit --on starts it."""
    if len(sys.argv) < 4 or sys.argv[3] in ("-h", "--help"):
        print(
            f"Usage: glint submit --on {engine}[:PLACE] JOB ARGUMENTS... [OPTION...]\n"
            "Options of the job: glint submit JOB --help"
        )
        return 0 if len(sys.argv) >= 4 else 64
    try:
        done = run(sys.argv[1], sys.argv[2], sys.argv[3:])
    except ImportError as missing:
        print(f"error: {missing}: install it for {sys.executable}", file=sys.stderr)
        return 69
    except KeyboardInterrupt:
        return 130
    except Exception as reason:
        told = failure(reason)
        if told is None:
            raise
        print(told[1], file=sys.stderr)
        return told[0] if told[0] > 0 else 1
    sys.stderr.buffer.write(done.stderr)
    sys.stdout.buffer.write(done.stdout)
    return done.returncode
