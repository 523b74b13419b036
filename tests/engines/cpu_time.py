"""Time and CPU time of a command in an engine, for the benchmarks: all processes that it starts, and those of servers that
work for it."""
import contextlib
import ctypes
import os
import resource
import subprocess
import time

DEADLINE_S = 1800
SET_CHILD_SUBREAPER = 36


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


def measure(checks, servers, command, env=None):
    """Returns the seconds that a command takes, and those of CPU."""
    before, begin = cpu_seconds(servers), time.monotonic()
    done = subprocess.run(command, cwd=checks.directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=DEADLINE_S, check=False)
    elapsed = time.monotonic() - begin
    if done.returncode != 0:
        raise AssertionError(f"{command[:6]}: {done.stdout[-1500:]}")
    for pid in set(children()) - servers:  # Java, and Python's workers, end after it
        os.waitpid(pid, 0)
    return elapsed, cpu_seconds(servers) - before


def adopt_orphans():
    """From now on processes whose parent has ended are children of this one, so that it can wait for them."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
