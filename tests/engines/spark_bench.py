"""How long the four jobs take inside Spark, beside the PySpark programs of s0_programs.py on the same cluster: standalone, one
worker of two cores, start of the JVMs included. Both of a pair run one after the other; CPU time counts all their processes,
and does not depend on what else the machine does."""
import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import time

import engines
from engines import GLINT

ROWS = int(os.environ.get("GLINT_BENCH_ROWS", 10_000_000))
DEADLINE_S = 1800
TARGET = 5
SET_CHILD_SUBREAPER = 36
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


def children():
    """The processes that this one started, or that are orphans of those."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(") ")[2].split()
            if int(fields[1]) == os.getpid():
                found[int(pid)] = sum(map(int, fields[11:15]))  # its time, and that of its children that have ended
    return found


def cpu_seconds(servers):
    """CPU time of children that have ended, and of these."""
    used, ticks = resource.getrusage(resource.RUSAGE_CHILDREN), children()
    return used.ru_utime + used.ru_stime + sum(ticks[pid] for pid in servers) / os.sysconf("SC_CLK_TCK")


def measure(checks, servers, command):
    """Returns the seconds that a command takes, and those of CPU."""
    before, begin = cpu_seconds(servers), time.monotonic()
    done = subprocess.run(command, cwd=checks.directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=DEADLINE_S, check=False)
    elapsed = time.monotonic() - begin
    if done.returncode != 0:
        raise AssertionError(f"{command[:6]}: {done.stdout[-1500:]}")
    for pid in set(children()) - servers:  # Java, and Python's workers, end after it
        os.waitpid(pid, 0)
    return elapsed, cpu_seconds(servers) - before


def bench(checks, master):
    servers = set(children())
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
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
    checks.check("bloom-test: the same text", text(checks, "bloom-test-s0") == text(checks, "bloom-test-glint"))
    checks.check("count-keys: the same counts", text(checks, "count-keys-s0") == text(checks, "count-keys-glint"))
    checks.check(f"at most 1/{TARGET} of PySpark's time", total[0] >= TARGET * total[2])


def show(name, times):
    print(f"{name:16}{times[0]:12.1f}{times[1]:8.1f}{times[2]:12.1f}{times[3]:8.1f}{times[0] / times[2]:8.1f}"
          f"{times[1] / times[3]:8.1f}", flush=True)


def text(checks, out):
    """The lines of an output in any order."""
    return sorted(line for name, part in engines.tree(checks.path(out)).items() if name.startswith("part-")
                  for line in part.splitlines())
