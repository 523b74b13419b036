"""What experiments share: data, running jobs, and timing them. What they show is in record.py.

An experiment calls lab.found (what the paper found), lab.table, lab.plot, lab.measured, lab.read, lab.claim and
lab.check in the order of the page; report.py writes the page.
"""
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass

from record import Failure, Record

ROWS, ROWS_QUICK = 1_250_000, 100_000
SEED = 1  # of generated data and samples


@dataclass
class Timed:
    """The samples of several runs: their median, mean, and lowest and highest value."""
    samples: list

    @property
    def median(self):
        return statistics.median(self.samples)

    @property
    def mean(self):
        return statistics.fmean(self.samples)

    @property
    def low(self):
        return min(self.samples)

    @property
    def high(self):
        return max(self.samples)


def least_of(ours, others):
    """Returns whether the times `ours` are less than `others`: True or False if the interquartile ranges do not overlap,
    else None. A claim about times is only judged if noise does not decide it."""
    a, b = (statistics.quantiles(samples, n=4) for samples in (ours, others))
    return True if a[2] < b[0] else False if b[2] < a[0] else None


@dataclass
class Done:
    """A job that succeeded."""
    report: dict      # the JSON object that --json prints
    wall_s: float     # of the job, without process start
    cpu_s: float      # of the whole process
    peak_bytes: int   # of the process's memory
    output: str       # printed before the report

    def counter(self, name):
        return self.report["counters"].get(name, 0)


class Lab(Record):
    def __init__(self, out, data, quick, shape=(4, 1)):
        super().__init__(out)
        self.quick = quick
        self.shape = shape  # executors, slots of each
        self.work = os.path.join(out, "work")  # data and outputs of jobs
        self._data = os.path.abspath(data) if data else None
        self._made = {}
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    @contextlib.contextmanager
    def experiment(self, name, title):
        with super().experiment(name, title):
            yield
        shutil.rmtree(os.path.join(self.work, name), ignore_errors=True)

    # ---- Data, created on first use.

    def path(self, *names):
        """Returns a path for temporary files of the current experiment."""
        directory = os.path.join(self.work, self.current.name)
        os.makedirs(directory, exist_ok=True)
        return os.path.join(directory, *names)

    def _once(self, name, make):
        if name not in self._made:
            path = os.path.join(self.work, name)
            make(path)
            self._made[name] = path
        return self._made[name]

    @property
    def rows(self):
        """Number of rows of generated data."""
        return ROWS_QUICK if self.quick else ROWS

    @property
    def uses_generated_data(self):
        return self._data is None

    @property
    def other_data(self):
        """The reason why counts of ratings differ from those of the papers."""
        return ("our ratings are generated" if self.uses_generated_data else
                "our ratings are from --data, not those of the paper")

    @property
    def ratings(self):
        """Path of the ratings, with a header line."""
        if self._data:
            return self._data
        return self._once("ratings.tsv", lambda path: self.run(
            "generate", "ratings", "--rows", self.rows, "--seed", SEED, path))

    def generate(self, rows, seed=SEED):
        """Generates a table of that many ratings, without a header line; returns its path."""
        return self._once(f"ratings-{rows}-{seed}.tsv", lambda path: self.run(
            "generate", "ratings", "--no-header", "--rows", rows, "--seed", seed, path))

    def words(self, rows):
        """Generates words of 30 letters, one per line; returns the path."""
        return self._once(f"words-{rows}.txt", lambda path: self.run(
            "generate", "words", "--rows", rows, "--seed", SEED, path))

    def names(self, rows, skip=0):
        """Generates names of two or three characters, one per line, after the first `skip` names; returns the path."""
        return self._once(f"names-{skip}-{rows}.txt", lambda path: self.run(
            "generate", "names", "--rows", rows, "--skip", skip, "--seed", SEED, path))

    def gap_sample(self, rows, gap):
        """Samples these words at random gaps of up to `gap` lines; returns the output directory."""
        return self._once(f"sample-{rows}-{gap}", lambda path: self.submit(
            "gap-sample", "--gap", gap, "--seed", SEED, self.words(rows), path))

    def urls(self, rows, seed=SEED):
        """Generates lines URL TAB NUMBER into a temporary file, which may be large; returns its path."""
        path = self.path(f"urls-{rows}-{seed}.tsv")
        self.run("generate", "urls", "--rows", rows, "--seed", seed, path)
        return path

    def _split(self):
        def make(path):
            os.makedirs(path)
            self.submit("split-dataset", self.ratings, os.path.join(path, "train"),
                        os.path.join(path, "test"))
        return self._once("split", make)

    @property
    def train(self):
        """Directory with 60 % of the rows."""
        return os.path.join(self._split(), "train")

    @property
    def test(self):
        """Directory with the other 40 %; their ids are not in train."""
        return os.path.join(self._split(), "test")

    @property
    def counts(self):
        """Output directory of count-keys for train."""
        return self._once("counts", lambda path: self.submit("count-keys", self.train, path))

    # ---- Jobs

    def _start(self, arguments):
        """Runs glint with these arguments; returns its output, its CPU seconds and its peak memory in bytes. `time`
        measures the peak: the value from wait4 would include the memory of this process, which a child has until
        its exec."""
        command = ["glint", *map(str, arguments)]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(["time", "-q", "-f", "%M", *command], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, process_group=0)
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
                raise
            process.returncode = os.waitstatus_to_exitcode(status)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
        if process.returncode != 0:
            raise Failure(f"{' '.join(command)}\nexit status {process.returncode}\n{texts[1]}")
        peak_kb = texts[1].rstrip().rpartition("\n")[2]
        return texts[0], usage.ru_utime + usage.ru_stime, 1024 * int(peak_kb)

    def run(self, *arguments):
        """Runs glint with these arguments; returns its output."""
        return self._start(arguments)[0]

    def submit(self, job, *arguments):
        """Runs a job, by default on all processors. Replaces existing outputs and skips invalid rows."""
        text, cpu_s, peak = self._start(["submit", job, "--overwrite", "--json", "--bad-rows", "skip", *arguments])
        output, _, last = text.rstrip("\n").rpartition("\n")
        done = json.loads(last)
        return Done(done, done["elapsed_ms"] / 1e3, cpu_s, peak, output)

    def plan(self, name, caption, job, *arguments):
        """Adds a drawing of the job's stages."""
        path = os.path.join(self.out, self.current.name, f"{name}.svg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.run("explain", "--graph", "svg", job, *arguments))
        self.drawing(path, caption)

    @property
    def cluster(self):
        """Options that run a job on executor processes on this machine; `shape` sets their number and slots. The first
        job starts the executors; they exit a few seconds after the last job."""
        def make(path):
            os.makedirs(path)
            self.run("secret", "new", os.path.join(path, "secret"))
            work = os.path.join(path, "work")
            os.makedirs(work, mode=0o700)
            host, ports = free_ports(self.shape[0])
            with open(os.path.join(path, "cluster.toml"), "w", encoding="ascii") as file:
                file.write(f'cluster = "papers-{os.getpid()}"\nsecret_file = "secret"\nlaunch = "local"\nlog_dir = "{path}/log"\n')
                for i, port in enumerate(ports, 1):
                    file.write(f'[[executor]]\nid = "e{i}"\nhost = "{host}"\nport = {port}\nslots = {self.shape[1]}\n'
                               f'memory = "256M"\nwork_dir = "{work}"\n')
        return ["--cluster", os.path.join(self._once("cluster", make), "cluster.toml"), "--executors", self.shape[0]]

    @property
    def shape_text(self):
        executors, slots = self.shape
        return f"{executors} executor{'s' * (executors > 1)} with {slots} slot{'s' * (slots > 1)} each, on one machine"

    def repeats(self, usual=5):
        """Number of runs per time measurement."""
        return 2 if self.quick else usual

    def timed(self, function, repeats=None):
        """Measures the wall times of calls of `function`, in seconds, after one warm-up call."""
        function()
        samples = []
        for _ in range(repeats or self.repeats()):
            begin = time.monotonic()
            function()
            samples.append(time.monotonic() - begin)
        return Timed(samples)

    @staticmethod
    def parts(output):
        """Returns all lines of a job's output."""
        lines = []
        for name in sorted(os.listdir(output)):
            if name.startswith("part-"):
                with open(os.path.join(output, name), encoding="utf-8") as file:
                    lines += file.read().splitlines()
        return lines

    def rows_of(self, output):
        """Returns the rows of a job's table as dicts, with numbers converted. The first line has the column names."""
        lines = [line.split("\t") for line in self.parts(output)]
        return [dict(zip(lines[0], map(number, line))) for line in lines[1:]]


def free_ports(count):
    """Returns a loopback address derived from the process id, and unused ports there."""
    pid = os.getpid()
    host = f"127.{64 + pid // 65536}.{pid // 256 % 256}.{pid % 256}"
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((host, 0))
        return host, [each.getsockname()[1] for each in sockets]


def number(text):
    """Converts a text to an int or a float if possible, else returns it unchanged."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
