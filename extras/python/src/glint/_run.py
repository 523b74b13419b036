"""Runs the program of the wheel as a child process, and reads its JSON object."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Optional, Union, cast

from ._bloom import Bloom, Key, load_filters, parts_of, save_filters
from ._errors import Error

Argument = Union[str, bytes, int, float, "os.PathLike[str]", "os.PathLike[bytes]"]

_SET_HERE = ("json", "help", "graph", "color", "quiet", "verbose")


def program() -> str:
    """The path of the program glint."""
    return str(pathlib.Path(__file__).parent / "lib" / "glint")


def export_filters(directory: Union[str, os.PathLike[str]], filters: Mapping[Key, Bloom],
                   format: str) -> None:
    """Writes each filter to DIRECTORY/KEY.FORMAT, as the class of another system reads it: the
    formats of `glint filter export`, of which each needs its scheme. DIRECTORY must not exist, and
    is created whole."""
    with tempfile.TemporaryDirectory() as where:
        path = pathlib.Path(where, "none")
        save_filters(path, filters)
        done = subprocess.run(
            [program(), "filter", "export", "--format", format, "--output", directory, path],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, errors="replace", check=False)
    if done.returncode != 0:
        code = re.search(r"^error\[(E\d+)\]", done.stderr, re.MULTILINE)
        parts = dict(re.findall(r"^ +(cause|effect|hint): (.*)$", done.stderr, re.MULTILINE))
        raise Error(code and code[1], parts.get("cause", done.stderr.strip()),
                    hint=parts.get("hint"), exit_status=done.returncode)


@dataclass(frozen=True)
class Stage:
    stage: int
    name: str
    tasks: int
    elapsed: float  # seconds


class Output:
    """An output of a job: a directory of parts. Iterating yields its lines, without the line
    break, as str, also of compressed parts; bytes that are not UTF-8 become surrogates, as in
    os.fsdecode."""

    def __init__(self, path: str) -> None:
        self.path = pathlib.Path(path).absolute()

    @property
    def parts(self) -> list[pathlib.Path]:
        """The files, in their order."""
        return parts_of(self.path)

    def __iter__(self) -> Iterator[str]:
        for line in self.bytes():
            yield line.decode("utf-8", "surrogateescape")

    def bytes(self) -> Iterator[bytes]:
        """The same lines as bytes."""
        for part in self.parts:
            with _open(part) as file:
                for line in file:
                    yield line[:-1] if line.endswith(b"\n") else line

    def filters(self, *, mmap: bool = False) -> dict[Key, Bloom]:
        """The filters by key, if the output is of bloom-build."""
        return load_filters(self.path, mmap=mmap)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<glint.Output {self.path}>"


def _open(part: pathlib.Path) -> IO[bytes]:
    """A part's bytes; what the option compress did is undone."""
    if part.suffix == ".gz":
        return cast(IO[bytes], gzip.open(part))
    if part.suffix == ".zst":
        from ._zstd import open_zstd

        return open_zstd(part)
    return open(part, "rb")


@dataclass(frozen=True)
class Result:
    """What a job did. `printed` is the text that the job printed, `notes` glint's remarks."""

    job: str
    id: str
    elapsed: float  # seconds
    tasks: int
    retries: int
    counters: dict[str, int]
    stages: list[Stage]
    outputs: list[Output]
    notes: list[str]
    printed: str = field(repr=False, default="")


def run(job: str, /, *arguments: Argument,
        program: Union[str, os.PathLike[str], None] = None, **options: Any) -> Result:
    """Runs a job as `glint submit JOB ARGUMENTS...` and waits for its end.

    Options are those of `glint submit JOB --help`, with underscores: bad_rows="skip" is
    --bad-rows=skip, overwrite=True is --overwrite; False and None leave an option out; a list is
    joined by commas, and input=[...] gives paths, whose commas belong to their names.
    program="./mine" is a program with jobs of its own, instead of glint. Raises Error. Ctrl-C
    interrupts the job, which removes what it wrote; a second one ends it at once.
    """
    status, output, errors = _run([_path_of(program), "submit", *words_of(job, arguments, options)])
    return result_of(status, output, errors)


def _path_of(given: Union[str, os.PathLike[str], None]) -> str:
    return program() if given is None else os.fspath(given)


def words_of(job: str, arguments: Iterable[Argument], options: dict[str, Any]) -> list[str]:
    """The words of a command line that runs the job and prints its JSON object."""
    words = [job, "--json"]
    for name, value in options.items():
        if name in _SET_HERE:
            raise ValueError(f"{name} is not an option of glint.run")
        words += _option(name.replace("_", "-"), value)
    return [*words, "--", *(_text(argument) for argument in arguments)]


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, bytes, int, float, os.PathLike)):
        raise TypeError(f"an argument is a path, a str or a number, not {type(value).__name__}")
    return repr(value) if isinstance(value, (int, float)) else os.fsdecode(value)


def _option(name: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{name}"]
    if isinstance(value, (list, tuple)):
        items = [_text(item) for item in value]
        if name == "input":
            return [f"--{name}={item}" for item in items]
        for item in items:
            if "," in item and not item.startswith('"'):
                raise ValueError(f"{name}: {item!r} has a comma, and would be two items")
        return [f"--{name}={','.join(items)}"]
    return [f"--{name}={_text(value)}"]


def _run(command: list[str]) -> tuple[int, str, str]:
    # A session of its own: Ctrl-C in a terminal goes to this process only, which then sends one
    # signal. Two would end the job at once.
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="surrogateescape",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate()
    except BaseException as reason:
        number = signal.SIGINT if isinstance(reason, KeyboardInterrupt) else signal.SIGTERM
        _end(process, number)
        raise
    return process.returncode, output, errors


def _end(process: subprocess.Popen[str], number: int) -> None:
    while process.poll() is None:
        process.send_signal(number)
        try:
            process.communicate()
        except KeyboardInterrupt:
            continue


def result_of(status: int, output: str, errors: str) -> Result:
    try:
        report = json.loads(output)
    except ValueError:
        raise Error(None, _end_of(status, errors), exit_status=status) from None
    if report["error"] is not None:
        parts = report["error"]
        raise Error(**parts)
    return Result(
        job=report["job"],
        id=report["id"],
        elapsed=report["elapsed_ms"] / 1000,
        tasks=report["tasks"],
        retries=report["retries"],
        counters=report["counters"],
        stages=[
            Stage(stage["stage"], stage["name"], stage["tasks"], stage["elapsed_ms"] / 1000)
            for stage in report["stages"]
        ],
        outputs=[Output(path) for path in report["outputs"]],
        notes=report["notes"],
        printed=errors,
    )


def _end_of(status: int, errors: str) -> str:
    """How a program ended that printed no object, and the last it printed."""
    how = f"the program ended with status {status}"
    if status < 0:
        how = f"the program was killed by {_signal_name(-status)}"
    last: Optional[str] = errors.strip()[-2000:]
    return f"{how}: {last}" if last else how


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
