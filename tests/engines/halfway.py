"""A job in the middle: bloom-build with two executors, of which the first is stopped, so the job cannot end."""
import contextlib
import json
import os
import re
import signal
import sys

from cluster import until
from engines import DEADLINE_S, GLINT, JOBS, named

# Runs glint, but the second executor waits until the test writes to a FIFO.
WRAPPER = """#!/bin/sh
if [ "$1" = executor ] && [ "${rank}" = 1 ]; then
    read -r go <{fifo}
fi
exec {glint} "$@"
"""
# The first executor is stopped for as long as a test needs.
OPTIONS = ("--executors", "2", "--suspect", "30m", "--dead", "1h")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def is_running(pid):
    try:
        return read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def processes_in(directory):
    """The processes whose current directory it is."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/cwd") == directory and is_running(pid):
                found.append(pid)
    return found


class Halfway:
    """Call hold() once the processes are started: it returns in the middle of the job."""

    def __init__(self, checks, name, rank):
        """`rank` is the environment variable with the number of an executor."""
        self.checks, self.name, self.fifo = checks, name, checks.path("fifo")
        self.out, self.events, self.program = f"bloom-build-{name}", f"{name}.events", checks.path("program")
        self.words = (*named(JOBS["bloom-build"], self.out), *OPTIONS, "--event-log", self.events)
        self.err = checks.path(f"{name}.err")  # of the process
        if not os.path.exists(self.fifo):
            os.mkfifo(self.fifo)
            write(self.program, WRAPPER.format(rank=rank, fifo=self.fifo, glint=GLINT), 0o755)

    def hold(self, process, log):
        """`process` is waited for in the end. `log` gets the lines of both executors."""
        self.process, self.log = process, log
        self.first = int(until(lambda: self.find_serving(1), "the first executor joins")[0])
        os.kill(self.first, signal.SIGSTOP)
        self.release()
        until(self.has_started, "the first stage starts")

    def find_serving(self, count):
        """The process ids of executors that serve the driver, if there are as many."""
        assert self.process.poll() is None, read(self.err)
        with contextlib.suppress(FileNotFoundError):
            found = re.findall(r"executor=\S+-(\d+): serving driver", read(self.log))
            return found if len(found) >= count else None

    def release(self):
        """Lets the second executor start, once it waits."""
        def opened():
            with contextlib.suppress(OSError):
                return os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK)
        file = until(opened, "the second executor waits")
        os.write(file, b"go\n")
        os.close(file)

    def has_started(self):
        assert self.process.poll() is None, read(self.err)
        lines = read(self.checks.path(self.events)).split("\n")[:-1]
        return any(event["event"] == "stage" for event in map(json.loads, lines))

    def wait(self):
        """The exit status of the process, and its messages."""
        return self.process.wait(DEADLINE_S), read(self.err)

    def check_nothing_left(self, name):
        """No output, hidden or not, no secret, no process."""
        directory = self.checks.directory
        until(lambda: not processes_in(directory), lambda: f"processes are left: {processes_in(directory)}")
        left = [n for n in os.listdir(directory) if n.lstrip(".").startswith((self.out, "glint-"))]
        self.checks.check(f"{name}: leaves nothing", not left, str(left))


if __name__ == "__main__":
    sys.exit("halfway.py is imported by the tests of engines")
