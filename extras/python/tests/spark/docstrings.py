"""Runs the docstrings of PySpark's own RDD and SparkContext with glint in place.

    python docstrings.py PYSPARK [NAME...]

PYSPARK is the directory of an installed PySpark 4.3.0, of which two files are read, as text. The
last line is `N passed, N failed`.
"""

from __future__ import annotations

import ast
import doctest
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from glint import _alias

_alias.install()

import glint.pyspark as offered  # noqa: E402
from glint.pyspark import SparkContext  # noqa: E402

SECONDS = int(os.environ.get("GLINT_DOCSTRING_SECONDS", "120"))
_HADOOP = "Hadoop's formats need the JVM"
_BARRIER = "tasks do not wait for each other"
# Not counted: what needs the JVM's own formats.
FORMATS = {name: _HADOOP for name in (
    "RDD.saveAsNewAPIHadoopDataset", "RDD.saveAsNewAPIHadoopFile", "RDD.saveAsHadoopDataset",
    "RDD.saveAsHadoopFile", "RDD.saveAsSequenceFile", "SparkContext.sequenceFile",
    "SparkContext.newAPIHadoopFile", "SparkContext.newAPIHadoopRDD", "SparkContext.hadoopFile",
    "SparkContext.hadoopRDD")}
# Counted as failed, and expected to: one that passes is an error of this list.
EXCEPTIONS = {
    "RDD.persist": "expects py4j's exception",
    "RDD.barrier": _BARRIER,
    "RDD.toDF": "there are no DataFrames",
    "RDD.withResources": "there are no resource profiles",
    "SparkContext.uiWebUrl": "the page is off unless spark.ui.enabled is true",
}


def docstrings(path: str, name: str) -> Iterator[tuple[str, str]]:
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            for inner in [node, *node.body]:
                if isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
                    text = ast.get_docstring(inner)
                    if text and ">>>" in text:
                        yield name if inner is node else f"{name}.{inner.name}", text


def run(name: str, text: str, sc: Any) -> str:
    """Returns what differs."""
    globs = {"sc": sc, "os": os, "sys": sys, "__name__": "__main__",
             **{key: getattr(offered, key) for key in offered.__all__}}
    test = doctest.DocTestParser().get_doctest(text, globs, name, name, 0)
    out: list[str] = []

    def late(*_: object) -> None:
        raise TimeoutError(f"{name} took more than {SECONDS} seconds")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=out.append)
    except TimeoutError as error:
        return str(error)
    finally:
        signal.alarm(0)
    return "".join(out) if result.failed else ""


def context(directory: str) -> Any:
    sc = SparkContext._active_spark_context
    if sc is None:
        sc = SparkContext("local[4]", "docstrings")
        sc.setCheckpointDir(directory)
    return sc


def main() -> int:
    root, only = sys.argv[1], set(sys.argv[2:])
    try:
        import numpy

        numpy.set_printoptions(legacy="1.25")  # as PySpark's own run of its docstrings
    except ImportError:
        pass
    passed, bad, total = 0, 0, 0
    with tempfile.TemporaryDirectory() as directory:
        for module, cls in (("rdd", "RDD"), ("context", "SparkContext")):
            for name, text in docstrings(os.path.join(root, "core", module + ".py"), cls):
                if name in FORMATS or (only and name not in only):
                    continue
                total += 1
                sc = context(directory)
                if name == cls:
                    sc.stop()
                begin = time.monotonic()
                differs = run(name, text, sc)
                took = time.monotonic() - begin
                if not differs and name not in EXCEPTIONS:
                    passed += 1
                elif differs and name in EXCEPTIONS:
                    print(f"exception: {name}: {EXCEPTIONS[name]}")
                else:
                    bad += 1
                    print(f"FAILED: {name} ({took:.1f} s)\n{differs or 'it passes now'}")
        context(directory).stop()
    print(f"{passed} of {total} docstrings pass")
    print(f"{passed} passed, {bad} failed")
    return 1 if bad or not passed else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # some print sets of str, in one of their orders
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    sys.exit(main())
