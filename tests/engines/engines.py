"""Shared by the tests of engines: data, the four jobs and what their outputs must be, checks that are counted.

tests/engines/run sets GLINT, the program; PATH, where python3 is that of the virtual environment; GLINT_JARS, the
directory of the jars. GLINT_GOLDEN is the directory with the results of the papers' own programs; without it, outputs are
compared with glint's own only.
"""
import contextlib
import gzip
import os
import queue
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

DEADLINE_S = 300  # of one command
GLINT = os.environ["GLINT"]
GOLDEN = os.environ.get("GLINT_GOLDEN")
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "engines", "README.md")
OPTIONS = ("--split-size", "512K", "--partitions", "3")  # several tasks, also of little data

# Name, then the words of glint submit; OUT is the output.
JOBS = {
    "split-dataset": ("split-dataset", "--seed", "7", "--split-size", "512K", "train.tsv", "OUT", "OUT-2"),
    "count-keys": ("count-keys", *OPTIONS, "train.tsv", "OUT"),
    "bloom-build": ("bloom-build", *OPTIONS, "--scheme", "spark", "0.01", "train.tsv", "counts", "OUT"),
    "bloom-test": ("bloom-test", *OPTIONS, "0.01", "test.tsv", "filters", "counts", "OUT"),
}


class Checks:
    """A directory with data and glint's own outputs, and the number of checks so far. Use it with `with`."""

    def __init__(self):
        self.passed = self.failed = 0
        self.directory = tempfile.mkdtemp(prefix="engines-")

    def __enter__(self):
        write_data(self)
        for name, words in JOBS.items():
            self.submit_here(words, f"{name}-own")
            if name in ("count-keys", "bloom-build"):  # what the later jobs read
                os.symlink(f"{name}-own", self.path("counts" if name == "count-keys" else "filters"))
        self.check("canary", not same_trees(self.path("counts"), self.path("filters")), "all outputs compare equal")
        return self

    def __exit__(self, kind, value, trace):
        shutil.rmtree(self.directory, ignore_errors=True)
        if kind is not None and issubclass(kind, (OSError, subprocess.SubprocessError, AssertionError)):
            self.check(f"{kind.__name__}: {value}", False)
            return True
        return False

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def check(self, name, good, why=""):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        print(f"{'passed' if good else 'FAILED'}: {name}{f': {why}' if why and not good else ''}", flush=True)
        return good

    def run(self, *command, env=None):
        """A command in the directory; never raises for its exit status."""
        return subprocess.run([str(word) for word in command], cwd=self.directory, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=DEADLINE_S, check=False)

    def succeeds(self, name, *command, env=None):
        done = self.run(*command, env=env)
        return self.check(name, done.returncode == 0, f"status {done.returncode}\n{(done.stdout + done.stderr)[-1500:]}")

    def submit_here(self, words, out):
        done = self.run(GLINT, "submit", "-q", *named(words, out))
        assert done.returncode == 0, done.stderr

    def finish(self):
        """Prints the last line. Returns the exit status."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


def named(words, out):
    """The words of a job with the name of its output."""
    return [word.replace("OUT", out) if word.startswith("OUT") else word for word in words]


def write_data(checks):
    """train.tsv and test.tsv, without a header: the golden tables, or random ones."""
    for name, seed in (("train.tsv", "3"), ("test.tsv", "4")):
        with open(checks.path(name), "wb") as file:
            if GOLDEN:
                with gzip.open(os.path.join(GOLDEN, name + ".gz")) as packed:
                    shutil.copyfileobj(packed, file)
            else:
                done = checks.run(GLINT, "generate", "ratings", "--rows", "200000", "--seed", seed)
                file.write(done.stdout.split("\n", 1)[1].encode())


def tree(directory):
    """The files of an output by name; raises FileNotFoundError if it is not complete."""
    found = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as file:
            found[name] = file.read()
    if "_SUCCESS" not in found:
        raise FileNotFoundError(f"{directory}/_SUCCESS")
    return found


def same_trees(a, b):
    """True if both outputs have the same files with the same bytes, and at least one part."""
    try:
        a, b = tree(a), tree(b)
    except OSError as error:
        print(f"  {error}")
        return False
    return a == b and any(name.startswith("part-") for name in a)


def check_output(checks, name, out):
    """An output of one of JOBS equals glint's own, and the golden one if there is one."""
    for suffix in ("", "-2") if name == "split-dataset" else ("",):
        checks.check(f"{out}{suffix}: as glint's own",
                     same_trees(checks.path(out + suffix), checks.path(f"{name}-own{suffix}")))
    if GOLDEN and name in ("bloom-build", "bloom-test"):
        checks.check(f"{out}: golden", (filters_are_golden if name == "bloom-build" else text_is_golden)(checks, out))


def filters_are_golden(checks, out):
    bits = checks.path(f"{out}.bits")
    checks.run(GLINT, "filter", "export", "--output", bits, out)
    golden = {f"{rating}.bits" for rating in range(1, 11)}
    if not os.path.isdir(bits) or set(os.listdir(bits)) != golden:
        return False
    return all(read(os.path.join(bits, name)) == read(os.path.join(GOLDEN, "spark", "p0.01", name)) for name in golden)


def text_is_golden(checks, out):
    lines = b"".join(text for name, text in tree(checks.path(out)).items() if name.startswith("part-")).splitlines(True)
    lines.sort(key=lambda line: int(line[1:].split(b",")[0]))
    return b"".join(lines) == read(os.path.join(GOLDEN, "spark", "p0.01", "tester.txt"))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def check_jobs(checks, engine, submit):
    """Runs the four jobs by `submit`, which gets a name for the check and the words, and compares their outputs."""
    for name, words in JOBS.items():
        out = f"{name}-{engine}"
        if submit(f"{engine}: {name}", named(words, out)):
            check_output(checks, name, out)


def check_example(checks, engine, env=None):
    """The commands that examples/engines shows for an engine, as written, in a shell of their own."""
    with open(EXAMPLES, encoding="utf-8") as file:
        first, *sections = re.split(r"^\*\*(?=[A-Z])", file.read(), flags=re.MULTILINE)
    commands = ["\n".join(re.findall(r"^    (.*)", text, re.MULTILINE))
                for text in (first, next(text for text in sections if text.startswith(engine)))]
    directory = checks.path(f"example-{engine}")
    os.mkdir(directory)
    own = f"{GLINT} submit -q bloom-build 0.01 ratings.tsv counts own"
    script = "\n".join(("set -e", f"cd {directory}", *commands, "wait", own))
    done = checks.run("bash", "-c", script, env=env)
    checks.check(f"examples/engines: {engine}", done.returncode == 0, (done.stdout + done.stderr)[-1500:])
    out = re.search(r"\bfilters-\w+", commands[1])[0]
    checks.check(f"examples/engines: {out}", same_trees(os.path.join(directory, out), os.path.join(directory, "own")))


def check_bad_row(checks, engine, run):
    """`run` gets the words of a job; it must fail with glint's message, and publish nothing."""
    with open(checks.path("bad.tsv"), "wb") as file:
        file.write(read(checks.path("train.tsv")) + b"tt1\tx\n")
    out = f"bad-{engine}"
    done = run(["count-keys", *OPTIONS, "bad.tsv", out])
    said = done.stdout + done.stderr
    checks.check(f"{engine}: a bad row fails the job", done.returncode != 0)
    checks.check(f"{engine}: and says so", "error[E0210]: bad row" in said and 'the rating is not a number: column 2: "x"; the row: "tt1\\tx"' in said,
                 said[-1500:])
    checks.check(f"{engine}: and publishes nothing",
                 not [name for name in os.listdir(checks.directory) if name.lstrip(".").startswith(out)])


class Server:
    """A process that runs until it is killed, with all processes that it started; its log is read line by line."""

    def __init__(self, command, directory, env):
        self.process = subprocess.Popen(command, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, preexec_fn=os.setpgrp)
        self.lines, self.log = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.decode(errors="replace"))
        self.lines.put(None)

    def wait_for(self, pattern, deadline_s=60):
        """Waits for a line of the log. Returns the pattern's first group, or all that it matched."""
        end = time.monotonic() + deadline_s
        while True:
            try:
                line = self.lines.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                line = None
            assert line is not None, f"no {pattern} in the log: {''.join(self.log)[-1500:]}"
            self.log.append(line)
            found = re.search(pattern, line)
            if found:
                return found[1] if found.groups() else found[0]

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def read_fifo(path, deadline_s=120):
    """Waits for a writer. Returns what it wrote, up to the end."""
    file, text = os.open(path, os.O_RDONLY | os.O_NONBLOCK), b""
    try:
        end = time.monotonic() + deadline_s
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([file], [], [], max(0, end - time.monotonic()))
            assert ready, f"nothing was written to {path}"
            text += os.read(file, 4096)
    finally:
        os.close(file)
    return text.decode().strip()


def wordcount_program():
    """A program with a job of its own, built with the tests."""
    return os.path.join(os.path.dirname(GLINT), "tests", "wordcount")


if __name__ == "__main__":
    sys.exit("engines.py is imported by the tests of engines")
