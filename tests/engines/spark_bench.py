"""How long the four jobs take inside Spark, beside the PySpark programs of s0_programs.py on the same cluster: standalone, one
worker of two cores, start of the JVMs included. Both of a pair run one after the other; CPU time counts all their processes,
and does not depend on what else the machine does."""
import os
import sys

import engines
from cpu_time import adopt_orphans, children, measure
from engines import GLINT

ROWS = int(os.environ.get("GLINT_BENCH_ROWS", 10_000_000))
TARGET = 5
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "s0_programs.py")

# Words of glint submit, and of s0_programs.py.
PAIRS = {
    "split-dataset": (("split-dataset", "ratings.tsv", "OUT", "OUT-2"), ("split", "ratings.tsv", "OUT", "OUT-2")),
    "count-keys": (("count-keys", "train", "OUT"), ("count", "train", "OUT")),
    "bloom-build": (("bloom-build", "--scheme", "spark", "0.01", "train", "counts", "OUT"),
                    ("build", "0.01", "train", "counts", "OUT")),
    "bloom-test": (("bloom-test", "0.01", "test", "bloom-build-glint", "counts", "OUT"),
                   ("test", "0.01", "test", "bloom-build-s0", "counts", "OUT")),
}

# An application that does nothing: what the start of Spark costs each of them.
EMPTY = "import sys; from pyspark import SparkContext; SparkContext(master=sys.argv[1]).parallelize([1], 2).count()"

# The same jobs of glint in one application, as a program with a context runs them.
APPLICATION = """
import sys, glint.spark
from pyspark import SparkContext
words = sys.argv[2:]
sc = SparkContext(master=sys.argv[1])
while words:
    end = words.index("+") if "+" in words else len(words)
    options = {"scheme": "spark"} if words[0] == "bloom-build" else {}
    glint.spark.run(sc, *[word for word in words[:end] if word not in ("--scheme", "spark")], **options)
    words = words[end + 1:]
"""


def bench(checks, master):
    servers = set(children())
    adopt_orphans()
    for words in (("generate", "ratings", "--rows", str(ROWS), "--seed", "5", "ratings.tsv"),
                  ("submit", "-q", "split-dataset", "ratings.tsv", "train", "test"),
                  ("submit", "-q", "count-keys", "--partitions", "1", "train", "bench-counts")):
        done = checks.run(GLINT, *words)
        assert done.returncode == 0, done.stderr
    os.remove(checks.path("counts"))
    os.rename(checks.path("bench-counts"), checks.path("counts"))
    print(f"{ROWS} rows; load {' '.join(f'{load:.0f}' for load in os.getloadavg())} on {os.cpu_count()} processors")
    print(f"{'':16}{'PySpark s':>12}{'CPU s':>8}{'glint s':>12}{'CPU s':>8}{'ratio':>8}{'of CPU':>8}")
    total = [0.0] * 4
    for name, (glint, s0) in PAIRS.items():
        times = (*measure(checks, servers, [sys.executable, PROGRAMS, master, *engines.named(s0, f"{name}-s0")]),
                 *measure(checks, servers, [GLINT, "submit", "--on", f"spark:{master}",
                                            *engines.named(glint, f"{name}-glint")]))
        total = [a + b for a, b in zip(total, times)]
        show(name, times)
    show("all four", total)
    empty = measure(checks, servers, [sys.executable, "-c", EMPTY, master])
    print(f"{'empty':16}{empty[0]:12.1f}{empty[1]:8.1f}", flush=True)
    one = (*measure(checks, servers, [sys.executable, PROGRAMS, master, *in_one("s0")]),
           *measure(checks, servers, [sys.executable, "-c", APPLICATION, master, *in_one("glint")]))
    show("one application", one)
    checks.check("bloom-test: the same text", text(checks, "bloom-test-s0") == text(checks, "bloom-test-glint"))
    checks.check("count-keys: the same counts", text(checks, "count-keys-s0") == text(checks, "count-keys-glint"))
    checks.check("one application: the same text", text(checks, "bloom-test-one-s0") == text(checks, "bloom-test-one-glint"))
    checks.check(f"one application: at most 1/{TARGET} of PySpark's time", one[0] >= TARGET * one[2])


def in_one(side):
    """The words of all four jobs, with other outputs; bloom-test reads filters of its own side."""
    words = []
    for name, pair in PAIRS.items():
        named = engines.named(pair[side == "s0"], f"{name}-one-{side}")
        words += ["+", *(f"bloom-build-one-{side}" if word == f"bloom-build-{side}" else word for word in named)]
    return words[1:]


def show(name, times):
    print(f"{name:16}{times[0]:12.1f}{times[1]:8.1f}{times[2]:12.1f}{times[3]:8.1f}{times[0] / times[2]:8.1f}"
          f"{times[1] / times[3]:8.1f}", flush=True)


def text(checks, out):
    """The lines of an output in any order."""
    return sorted(line for name, part in engines.tree(checks.path(out)).items() if name.startswith("part-")
                  for line in part.splitlines())
