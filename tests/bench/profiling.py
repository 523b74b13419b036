"""Where glint spends its CPU time in a row: one more run of each of its sides, under perf record."""

import re
import shutil
import subprocess
from collections import Counter

PERF = shutil.which("perf")
RECORD = ["record", "-q", "-e", "cpu-clock", "-F", "10000"]
REPORT = ["report", "--stdio", "-q", "-g", "none", "--no-children", "-F", "overhead,dso,sym"]
LINE = re.compile(r"\s*([\d.]+)%\s+(\S+)\s+\[(.)\] (\S+)")
LEAST_PERCENT, MOST = 2, 8  # of the functions that are named


def missing():
    """Why there can be no profile, or None."""
    return None if PERF else "perf is not installed (in Debian: linux-perf)"


def recorded(command, data):
    """The command, under perf, which writes the file `data`."""
    return [PERF, *RECORD, "-o", str(data), "--", *command]


def shares(report, program):
    """The percentages of `perf report` by function of the program, and of all in the system and in each
    library."""
    found = Counter()
    for percent, dso, space, symbol in map(re.Match.groups, filter(None, map(
            LINE.match, report.splitlines()))):
        if space == "k":
            found["the system"] += float(percent)
        else:
            found[symbol.split(".")[0] if dso == program else dso] += float(percent)
    return found


def summary(data, program):
    """The functions and what they take, as text."""
    done = subprocess.run([PERF, *REPORT, "-i", str(data)], capture_output=True, text=True)
    found = shares(done.stdout, program)
    if not found:
        return f"perf report shows nothing: {done.stderr.strip()}"
    return ", ".join(f"{name} {percent:.0f} %" for name, percent in found.most_common(MOST)
                     if percent >= LEAST_PERCENT)
