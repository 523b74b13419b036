"""What experiments share: data, running jobs, timing them, tables, plots, and the text of the report.

An experiment calls, in the order in which a reader should meet them, lab.found (what the paper found),
lab.table, lab.plot, lab.measured, lab.read and lab.check; report.py makes a page of it.
"""
import contextlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass, field

ROWS, ROWS_QUICK = 1_250_000, 100_000
SEED = 1  # of all data; experiments that sample use SEED, SEED + 1, ...
COLORS = ("#3366aa", "#cc5533", "#559944", "#8855aa", "#997700", "#338899", "#aa3377", "#666666")


class Failure(Exception):
    """Something that ends the run; its text says what to do."""


@dataclass
class Section:
    name: str
    title: str
    items: list = field(default_factory=list)  # (kind, ...), in the order of the page


@dataclass
class Timed:
    """Of several runs: the median, and how far they lie apart."""
    samples: list

    @property
    def median(self):
        return statistics.median(self.samples)

    @property
    def low(self):
        return min(self.samples)

    @property
    def high(self):
        return max(self.samples)

    def __str__(self):
        return f"{self.median:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass
class Done:
    """A job that ended well."""
    report: dict      # what --json prints
    wall_s: float     # of the job, without the start of the process
    cpu_s: float      # of the whole process
    output: str       # what it printed before the report

    def counter(self, name):
        return self.report["counters"].get(name, 0)


class Lab:
    def __init__(self, out, data, quick):
        self.out, self.quick = out, quick
        self.work = os.path.join(out, "work")  # data and outputs of jobs, removed with the next run
        self.sections, self.current = [], None
        self._data = os.path.abspath(data) if data else None
        self._made = {}
        os.makedirs(out, exist_ok=True)
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    # ---- Data. Made once, when first asked for.

    def path(self, *names):
        """A path for scratch files of the experiment at hand."""
        folder = os.path.join(self.work, self.current.name)
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, *names)

    def _once(self, name, make):
        if name not in self._made:
            path = os.path.join(self.work, name)
            make(path)
            self._made[name] = path
        return self._made[name]

    @property
    def rows(self):
        """Rows of made-up data."""
        return ROWS_QUICK if self.quick else ROWS

    @property
    def made_up(self):
        return self._data is None

    @property
    def ratings(self):
        """The whole table, with a header."""
        if self._data:
            return self._data
        return self._once("ratings.tsv", lambda path: self.run(
            "generate", "ratings", "--rows", self.rows, "--seed", SEED, path))

    def generate(self, rows, seed=SEED):
        """A table of ratings of that size, without a header."""
        return self._once(f"ratings-{rows}-{seed}.tsv", lambda path: self.run(
            "generate", "ratings", "--no-header", "--rows", rows, "--seed", seed, path))

    def words(self, rows):
        """Words of 30 letters, one a line."""
        return self._once(f"words-{rows}.txt", lambda path: self.run(
            "generate", "words", "--rows", rows, "--seed", SEED, path))

    def gap_sample(self, rows):
        """A tenth of these words, at random gaps: a folder."""
        return self._once(f"sample-{rows}", lambda path: self.submit(
            "gap-sample", "--gap", 19, "--seed", SEED, self.words(rows), path))

    def urls(self, rows, seed=SEED):
        """URL TAB NUMBER; a scratch file, for there may be many."""
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
        """60 % of the table: a folder."""
        return os.path.join(self._split(), "train")

    @property
    def test(self):
        """The other 40 %: ids that are not in train."""
        return os.path.join(self._split(), "test")

    @property
    def counts(self):
        """What count-keys saves for train."""
        return self._once("counts", lambda path: self.submit("count-keys", self.train, path))

    # ---- Jobs

    def run(self, *arguments):
        """glint with these arguments: what it printed."""
        command = ["glint", *map(str, arguments)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stderr}")
        return done.stdout

    def submit(self, job, *arguments):
        """A job, by default on all processors; outputs are replaced, rows that do not fit skipped."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text = self.run("submit", job, "--overwrite", "--json", "--bad-rows", "skip", *arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        output, _, last = text.rstrip("\n").rpartition("\n")
        done = json.loads(last)
        return Done(done, done["elapsed_ms"] / 1e3, cpu, output)

    def repeats(self, usual=5):
        """How often to measure a time."""
        return 2 if self.quick else usual

    def timed(self, function, repeats=None):
        """Wall times of calls of `function`, in seconds, after one call to warm up."""
        function()
        samples = []
        for _ in range(repeats or self.repeats()):
            begin = time.monotonic()
            function()
            samples.append(time.monotonic() - begin)
        return Timed(samples)

    @staticmethod
    def parts(output):
        """All lines of a job's output."""
        lines = []
        for name in sorted(os.listdir(output)):
            if name.startswith("part-"):
                with open(os.path.join(output, name), encoding="utf-8") as file:
                    lines += file.read().splitlines()
        return lines

    def rows_of(self, output):
        """A job's table as dicts: its first line names the columns; numbers are numbers."""
        lines = [line.split("\t") for line in self.parts(output)]
        return [dict(zip(lines[0], map(number, line))) for line in lines[1:]]

    # ---- The report

    @contextlib.contextmanager
    def experiment(self, name, title):
        self.current = Section(name, title)
        shutil.rmtree(os.path.join(self.out, name), ignore_errors=True)
        os.makedirs(os.path.join(self.out, name))
        yield
        self.sections.append(self.current)
        shutil.rmtree(os.path.join(self.work, name), ignore_errors=True)
        self.current = None

    def _add(self, kind, *what):
        self.current.items.append((kind, *what))

    def found(self, text):
        """What the paper found, in a few sentences."""
        self._add("text", "What the paper found", text)

    def measured(self, text):
        self._add("text", "What we measured", text)

    def read(self, text):
        self._add("text", "How to read it", text)

    def command(self, text):
        """A command that shows the same without this runner."""
        self._add("command", text)

    def check(self, good, text):
        """A claim of the report; the run fails if it does not hold."""
        self._add("check", bool(good), text)

    def checked(self):
        checks = [item[1] for section in self.sections for item in section.items
                  if item[0] == "check"]
        return sum(checks), len(checks) - sum(checks)

    def table(self, name, columns, rows, caption="", shown=None):
        """A TSV file; on the page too, or only its first `shown` rows (0: none)."""
        rows = [list(row) for row in rows]
        path = os.path.join(self.out, self.current.name, f"{name}.tsv")
        with open(path, "w", encoding="utf-8") as file:
            for row in [columns, *rows]:
                file.write("\t".join(map(text_of, row)) + "\n")
        if shown is None or shown > 0:
            self._add("table", columns, rows[:shown], len(rows), caption, os.path.relpath(path, self.out))
        return path

    def plot(self, name, script, caption, size=(820, 430)):
        """An SVG by gnuplot: `script` sets the axes and plots. Lines 1, 2, ... have COLORS."""
        path = os.path.join(self.out, self.current.name, f"{name}.svg")
        unique = f"{self.current.name}_{name}".replace("-", "_")  # of the ids inside the SVG
        styles = "\n".join(f"set linetype {i} lc rgb '{color}' lw 2 pt 7 ps 0.6"
                           for i, color in enumerate(COLORS, 1))
        whole = (f"set terminal svg size {size[0]},{size[1]} dynamic font 'sans-serif,13' "
                 f"name '{unique}'\nset output {quoted(path)}\nset encoding utf8\n"
                 f"set datafile separator '\\t'\nset datafile commentschars ''\n{styles}\n"
                 "set border 3 lc rgb '#555555'\nset tics nomirror\n"
                 "set grid lc rgb '#dddddd' lw 1 dt 1\nset pointintervalbox 0\nset key outside right top\n"
                 f"{script}\n")
        done = subprocess.run(["gnuplot", "-"], input=whole, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0 or done.stderr.strip():
            raise Failure(f"gnuplot, plot {self.current.name}/{name}:\n{done.stderr}\n{whole}")
        self._add("plot", path, caption)
        return path


def number(text):
    """An int, a float, or the text itself."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def text_of(value):
    """As it stands in a TSV file: doubles with all that counts, and no tabs."""
    return f"{value:.6g}" if isinstance(value, float) else str(value).replace("\t", " ")


def quoted(path):
    """A path for gnuplot."""
    return "'" + path.replace("'", "''") + "'"
