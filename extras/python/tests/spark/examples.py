"""Runs the example programs in PySpark's own package, unchanged, by PySpark and by glint.submit, on
the same input, and compares what they print.

    python examples.py PYSPARK [NAME...]

PYSPARK is the directory of an installed PySpark 4.3.0; without Java only glint runs them. The last
line is `N passed, N failed`.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

TIMEOUT_S = 600
# Else transitive_closure, whose union grows, has twice as many partitions in each round.
CONF = ["--conf", "spark.default.parallelism=2"]


def lines(text: str) -> list[str]:
    return sorted(text.splitlines())


def numbers(text: str) -> list[float]:
    """Of the final centers, in any order, to 6 digits."""
    found = re.findall(r"-?\d+\.\d*(?:e[-+]\d+)?", text[text.index("Final") :])
    return sorted(round(float(x), 6) for x in found)


def form(text: str) -> str:
    """Without the numbers, which are random."""
    text = re.sub(r"\[[^\]]*\]", "[]", text)
    return re.sub(r"\d+\.\d+", "N", text)


def ranks(text: str) -> list[str]:
    """Sums of floats depend on the order of their terms."""
    return sorted(re.sub(r"\d+\.\d+", lambda x: f"{float(x[0]):.9f}", line)
                  for line in text.splitlines())


Compare = Callable[[str], object]


def inputs(directory: str) -> dict[str, tuple[list[str], Compare]]:
    """Arguments of each program, and what of its output must be equal."""
    rand = random.Random(1)

    def write(name: str, rows: list[str]) -> str:
        path = os.path.join(directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")
        return path

    some = "a bb ccc é dddd".split()
    words = [" ".join(rand.choice(some) for _ in range(8)) for _ in range(500)]
    ints = [" ".join(str(rand.randrange(-999, 999)) for _ in range(5)) for _ in range(200)]
    edges = [f"{rand.randrange(30)} {rand.randrange(30)}" for _ in range(100)]
    points = [f"{c + rand.random()} {c - rand.random()}" for c in (0, 50, 100) for _ in range(30)]
    labels = [",".join([str(rand.choice((-1, 1))), *(str(rand.random()) for _ in range(10))])
              for _ in range(100)]
    return {
        "wordcount": ([write("words", words)], lines),
        "sort": ([write("ints", ints)], str.splitlines),
        "pagerank": ([write("edges", edges), "4"], ranks),
        "kmeans": ([write("points", points), "3", "0.01"], numbers),
        "logistic_regression": ([write("labels", labels), "3"], form),
        "transitive_closure": ([], lines),
        "als": (["30", "40", "5", "2", "2"], lines),
        "pi": ([], form),
    }


def output_of(command: list[str]) -> str:
    variables = {**os.environ, "PYSPARK_PYTHON": sys.executable,
                 "PYSPARK_SUBMIT_ARGS": " ".join([*CONF, "pyspark-shell"])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables,
                          timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise RuntimeError(f"{command} exited with {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


def main() -> int:
    root, only = sys.argv[1], sys.argv[2:]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, (arguments, part) in inputs(directory).items():
            if only and name not in only:
                continue
            path = os.path.join(root, "examples", "src", "main", "python", name + ".py")
            try:
                ours = part(output_of([sys.executable, "-m", "glint.submit", *CONF, path,
                                       *arguments]))
                theirs = part(output_of([sys.executable, path, *arguments])) if shutil.which(
                    "java") else ours
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                ours, theirs = str(error), None
            if ours == theirs:
                passed += 1
                print(f"passed: {name}", flush=True)
            else:
                failed += 1
                print(f"FAILED: {name}\n  PySpark: {theirs!r}\n  glint:   {ours!r}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
