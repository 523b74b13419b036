"""Measures programs with functions of Python, with glint.submit and beside PySpark.

    python bench.py [PYSPARK] [--scale 0.1] [--rounds 3] [--only NAME]...

PYSPARK is the directory of an installed PySpark 4.3.0, which needs Java; without it, glint is
measured alone. The same programs run unchanged, as whole processes, on two slots; rounds are
interleaved. A row has the least wall time of the rounds, the CPU time of all processes, their
peak memory (the sum of their PSS, sampled every 50 ms), and how many times faster glint is. Scale 1
is a text of 320 MB, 5 M pairs of ints, 2 M tuples. Results of both are compared by a checksum that
does not depend on order.
"""

from __future__ import annotations

import argparse
import ctypes
import glob
import hashlib
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple, Optional

HEAD = """
import sys
from operator import add
from pyspark import SparkContext
sc = SparkContext("local[2]", "bench")
text, scale = sys.argv[1], float(sys.argv[2])
def scaled(n):
    return int(n * scale)
def checksum(rdd):
    return rdd.map(lambda x: hash(repr(x)) & 0xFFFFFFFF).fold(0, add)
"""
COUNTS = ("counts = sc.textFile(text).flatMap(lambda l: l.split(' ')).map(lambda w: (w, 1))"
          ".reduceByKey(%s)\n")
SAVED = "counts.saveAsTextFile(sys.argv[3])\n"
PAIRS = ("pairs = sc.range(0, scaled(5000000), 1, 2).map(lambda i: (i * 7919 %% %s, i))\n"
         "print(checksum(pairs.reduceByKey(lambda a, b: a + b)))\n")
PROGRAMS: dict[str, tuple[str, float, Optional[float]]] = {  # program, bar, seconds at most
    "wordcount-lambda": (COUNTS % "lambda a, b: a + b" + SAVED, 3, None),
    "wordcount-add": (COUNTS % "add" + SAVED, 4.5, None),
    "pi": ("""from random import random
def inside(_):
    x, y = random() * 2 - 1, random() * 2 - 1
    return 1 if x ** 2 + y ** 2 <= 1 else 0
n = 200000
print(sc.parallelize(range(1, n + 1), 2).map(inside).reduce(add) // n)
""", 40, 0.25),
    "count": ("print(sc.parallelize(['line %d' % i for i in range(1000)]).count())\n", 40, 0.25),
    "reduce-1000-keys": (PAIRS % "1000", 8, None),
    "reduce-1M-keys": (PAIRS % "scaled(1000000)", 4.5, None),
    "sort": ("""n = scaled(2000000)
tuples = sc.range(0, n, 1, 2).map(lambda i: (i * 7919 % n, str(i)))
print(tuples.sortBy(lambda t: t[0]).map(lambda t: t[1]).zipWithIndex()
      .map(lambda p: hash(repr(p)) & 0xFFFFFFFF).fold(0, add))
""", 4, None),
    "join": ("""n = scaled(2000000)
left = sc.range(0, n, 1, 2).map(lambda i: (i * 7919 % n, i))
right = sc.range(0, n, 1, 2).map(lambda i: (i * 104729 % n, -i))
print(checksum(left.join(right)))
""", 3, None),
}
PR_SET_CHILD_SUBREAPER = 36


class Run(NamedTuple):
    seconds: float
    cpu: float
    peak: int  # bytes
    output: str


def write_text(path: str, size: int) -> None:
    """Lines of 8 words of 8 letters: 3 of 10 are one of a million rare words, so that 32 MB have
    about 700,000 different ones."""
    rand = random.Random(45)
    words = [f"{i * 2654435761 % (1 << 32):08x}" for i in range(1_000_000)]
    with open(path, "w") as file:
        while file.tell() < size:
            some = [words[int(rand.random() * 1_000_000) if rand.random() < 0.3 else
                          min(int(rand.paretovariate(1)), 999_999)] for _ in range(80000)]
            file.writelines(" ".join(some[i : i + 8]) + "\n" for i in range(0, len(some), 8))


def checksum(directory: str) -> str:
    """Of the lines that a program has saved, in any order."""
    total = 0
    for part in sorted(glob.glob(os.path.join(directory, "part-*"))):
        with open(part, "rb") as file:
            total += sum(int.from_bytes(hashlib.md5(line).digest()[:8], "big") for line in file)
    return f"{total:x}"


def sample(cpu: dict[int, float]) -> int:
    """The PSS of the descendants of this process, of which it is the subreaper; sets their CPU
    times in seconds by process."""
    parents, times = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                parents[int(name)] = int(fields[1])
                times[int(name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            except OSError:
                pass
    total, mine = 0, {os.getpid()}
    for _ in range(6):
        mine |= {pid for pid, parent in parents.items() if parent in mine}
    for pid in mine - {os.getpid()}:
        cpu[pid] = times[pid]
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) << 10 for line in file if line[:4] == "Pss:")
        except (OSError, ProcessLookupError):
            pass
    return total


def run(words: list[str], environment: dict[str, str]) -> Run:
    peak, done, sampled = 0, threading.Event(), dict[int, float]()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, sample(sampled))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    watcher = threading.Thread(target=watch)
    watcher.start()
    made = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=1800, check=False)
    seconds = time.monotonic() - begin
    done.set()
    watcher.join()
    try:
        while True:  # what the program left
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if made.returncode != 0:
        raise SystemExit(f"{' '.join(words)} failed:\n{made.stderr[-4000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # Those that their parents did not wait for, as PySpark's workers, are in the samples only.
    return Run(seconds, max(cpu, sum(sampled.values())), peak, made.stdout)


def sides(pyspark: Optional[str]) -> dict[str, tuple[list[str], dict[str, str]]]:
    plain = dict(os.environ, PYTHONHASHSEED="0")
    plain.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, as after pip install
    found = {"glint": ([sys.executable, "-m", "glint.submit"], plain)}
    if pyspark is not None:
        found["pyspark"] = ([sys.executable], dict(
            plain, PYTHONPATH=pyspark, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1"))
    return found


def measure(name: str, options: argparse.Namespace, text: str, work: str) -> bool:
    program, bar, most = PROGRAMS[name]
    script = os.path.join(work, name + ".py")
    with open(script, "w") as file:
        file.write(HEAD + program + "sc.stop()\n")
    runs: dict[str, list[Run]] = {}
    to = os.path.join(work, "counts")
    for _ in range(options.rounds):
        for side, (words, environment) in sides(options.pyspark).items():
            done = run([*words, script, text, str(options.scale), to], environment)
            runs.setdefault(side, []).append(done._replace(output=done.output + checksum(to)))
            shutil.rmtree(to, ignore_errors=True)
    best = {side: min(some) for side, some in runs.items()}
    cpu = {side: min(r.cpu for r in some) for side, some in runs.items()}
    row = f"{name:18}" + "".join(f"  {side} {b.seconds:.2f} s, CPU {cpu[side]:.2f} s, "
                                 f"{max(r.peak for r in runs[side]) >> 20} MiB"
                                 for side, b in best.items())
    met = most is None or best["glint"].seconds < most
    if "pyspark" in best:
        times = best["pyspark"].seconds / best["glint"].seconds
        met = met and times >= bar
        row += (f"  {times:.1f} times (bar {bar}), CPU {cpu['pyspark'] / cpu['glint']:.1f} times"
                + ("" if name == "pi" or best["pyspark"].output == best["glint"].output
                   else "  RESULTS DIFFER"))
    print(row + ("" if met else "  MISSED"), flush=True)
    return met and "DIFFER" not in row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pyspark", nargs="?")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=list(PROGRAMS))
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as work:
        text = os.path.join(work, "text")
        write_text(text, int(320_000_000 * options.scale))
        met = [measure(name, options, text, work) for name in options.only or PROGRAMS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
