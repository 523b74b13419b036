"""Runs a program of PySpark, unchanged, with glint in its place:

    python -m glint.submit [--master M | --cluster FILE] [--conf NAME=VALUE] [--py-files LIST]
                           FILE [ARGUMENT...]

FILE says `from pyspark import SparkContext`; whether PySpark is installed makes no difference.
"""

from __future__ import annotations

import gc
import os
import runpy
import sys
from collections.abc import Callable
from typing import Any, NoReturn, Optional

from . import _alias


def parse(words: list[str]) -> tuple[Any, Callable[[str], NoReturn]]:
    """The options, and what reports an error of usage. A program without options starts faster
    without argparse."""
    if words and not words[0].startswith("-") and os.path.exists(words[0]):
        return Options(words[0], words[1:]), sys.exit
    import argparse

    parser = argparse.ArgumentParser(prog="python -m glint.submit", allow_abbrev=False)
    parser.add_argument("--master", help="local, local[N], local[*], which is the default, or "
                        "glint://FILE, as --cluster FILE")
    parser.add_argument("--cluster", metavar="FILE",
                        help="run functions on the executors of this cluster.toml")
    parser.add_argument("--name", help="of the application")
    parser.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--py-files", default="", metavar="LIST",
                        help="modules and zip files, with commas between them")
    parser.add_argument("--timeout", metavar="TIME", help="of the job, as 10m")
    parser.add_argument("--memory", metavar="BYTES", help="of the engine, as 2G")
    parser.add_argument("file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(words), parser.error


class Options:
    """Of a program that has none."""

    master = cluster = name = timeout = memory = None
    py_files, conf = "", list[str]()

    def __init__(self, file: str, arguments: list[str]) -> None:
        self.file = file
        self.arguments = arguments


def main(arguments: Optional[list[str]] = None) -> None:
    options, fail = parse(sys.argv[1:] if arguments is None else arguments)
    if options.cluster is not None and options.master is not None:
        fail("--master and --cluster: use one of them")
    if options.cluster is not None:
        options.master = "glint://" + options.cluster
    gc.disable()  # all that is imported stays
    _alias.install()
    from .pyspark.context import PY_FILES, defaults

    for setting in options.conf:
        name, equals, value = setting.partition("=")
        if not equals:
            fail(f"--conf {setting}: NAME=VALUE is needed")
        defaults[name] = value
    given = {"spark.master": options.master, "spark.app.name": options.name,
             "glint.timeout": options.timeout, "glint.memory": options.memory}
    defaults.update({name: value for name, value in given.items() if value is not None})
    if options.py_files:
        defaults[PY_FILES] = ",".join(map(os.path.abspath, options.py_files.split(",")))
    for path in filter(None, options.py_files.split(",")):
        path = os.path.abspath(path)
        sys.path.insert(0, path if path.endswith((".zip", ".egg")) else os.path.dirname(path))
    if not os.path.exists(options.file):
        fail(f"{options.file} does not exist")
    sys.argv = [options.file, *options.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.file)))
    gc.enable()
    runpy.run_path(options.file, run_name="__main__")


if __name__ == "__main__":
    main()
