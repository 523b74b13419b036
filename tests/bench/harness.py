"""Shared by all rows of the table: the programs, the data, the measurement, and the comparison of
outputs."""

import os
import shlex
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import profiling

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BASELINE = HERE / "baseline"
FLAGS = ["-std=c17", "-D_GNU_SOURCE", "-O3", "-Wall", "-Wextra", "-Wno-psabi", f"-I{ROOT}"]
SEED = "1"
VISIT_BYTES = 50  # of a row of glint generate visits
ROW_BYTES = {"records": 100, "stations": 15, "text": 60, "edges": 14, "points": 72}


class Failure(Exception):
    """An error that invalidates the measurement."""


@dataclass
class Sample:
    seconds: float
    peak_bytes: int


@dataclass
class Samples:
    """The runs of one side of a row, without the warm-up; with --profile where glint's spend their
    time."""
    runs: list = field(default_factory=list)
    profile: str = ""

    @property
    def seconds(self):
        return statistics.median(run.seconds for run in self.runs)

    @property
    def peak_bytes(self):
        return max(run.peak_bytes for run in self.runs)


@dataclass
class Result:
    """One row of the table: glint, and what it is compared with (`hand`: the hand-written side, or
    in the cluster's table what `what` names last). Both are in `unit`; `goal` says what the ratio
    is of."""
    name: str
    what: str
    unit: str
    goal: str
    glint: float | None = None
    hand: float | None = None
    ratio: float | None = None
    met: bool | None = None
    note: str = ""
    samples: dict = field(default_factory=dict)


def say(text):
    print(text, file=sys.stderr, flush=True)


def remove(path):
    shutil.rmtree(path, ignore_errors=True)


def checked(command, **options):
    done = subprocess.run([str(c) for c in command], stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        raise Failure(f"{shlex.join(map(str, command))}\n{done.stderr.strip()}")


class Programs:
    """Compiles the hand-written programs for this machine."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir(exist_ok=True)
        self.simd = self._simd()
        bloom = self._library()
        shared = [BASELINE / f for f in ("rows.c", "files.c", "die.c")]
        filters = shared + [BASELINE / "filters.c", bloom]
        self.count = self._program("baseline_count", shared)
        self.build = self._program("baseline_build", filters)
        self.blocks = self._program("baseline_blocks", filters)
        self.test = self._program("baseline_test", filters)
        small = [BASELINE / "die.c"]
        keyed = small + [BASELINE / f for f in ("files.c", "keyed_rows.c")]
        self.keys = self._program("baseline_keys", keyed)
        self.join = self._program("baseline_join", keyed)
        self.stations = self._program("baseline_stations", small + [BASELINE / "files.c"])
        self.pagerank = self._program("baseline_pagerank", small + [BASELINE / "files.c"])
        self.kmeans = self._program("baseline_kmeans", small + [BASELINE / "files.c"])
        self.make_rows = self._program("make_rows", small)
        self.lines_digest = self._program("lines_digest", small + [BASELINE / "files.c"])
        self.make_keys = self._program("make_keys", small)
        self.measure = self._program("measure", small)
        self.make_ratings = self._program("make_ratings",
                                          small + [ROOT / "jobs/generate/ratings.c"])

    def _program(self, name, rest):
        """Links statically if the libraries allow it, which saves a millisecond per start."""
        out = self.directory / name
        command = ["gcc", *FLAGS, "-march=native", BASELINE / f"{name}.c", *rest, "-lmurmurhash",
                   "-lm", "-o", out]
        static = subprocess.run([str(c) for c in command + ["-static"]], capture_output=True)
        if static.returncode != 0:
            checked(command)
        return str(out)

    def _library(self):
        """jobs/bloom as a static library, which encodes and decodes the file format."""
        archive = self.directory / "libbloom.a"
        objects = []
        for source in sorted((ROOT / "jobs/bloom").rglob("*.c")):
            objects.append(self.directory / f"{source.parent.stem}_{source.stem}.o")
            checked(["gcc", *FLAGS, "-c", source, "-o", objects[-1]])
        archive.unlink(missing_ok=True)
        checked(["ar", "rcs", archive, *objects])
        return archive

    @staticmethod
    def _simd():
        macros = subprocess.run(["gcc", "-march=native", "-dM", "-E", "-x", "c", os.devnull],
                                capture_output=True, text=True).stdout
        if "__AVX512VBMI2__" in macros and "__AVX512BW__" in macros:
            return "AVX-512"
        return "AVX2" if "__AVX2__" in macros else "the compiler's vectors"


class Bench:
    """Data is generated on first use: rows 0..n-1 to build from, rows n..2n-1 (ids that are in no
    filter) to test with."""

    def __init__(self, directory, glint, sizes):
        self.directory, self.glint, self.runs, self.sizes = directory, glint, sizes.runs, sizes
        self.rows = {"small": sizes.rows_small, "large": sizes.rows_large}
        say(f"building the hand-written programs in {directory}")
        self.programs = Programs(directory / "programs")
        self.scratch = directory / "scratch"
        self.scratch.mkdir(exist_ok=True)
        self.peers = {}  # name -> seconds, if measured with --peers
        self.with_peers = True  # rows also run the peers that are installed
        self.profiles = sizes.profile
        self._perf_data = self._profiled = None  # while a side is profiled: the file, the program
        self._made = set()
        self._check_generator()

    def example(self, name):
        """The program of examples/programs/NAME.c, or else of this directory, compiled with the
        library that was built with glint, as with its glint.pc."""
        return self.program_of(name, self.glint, "")

    def program_of(self, name, glint, directory):
        """As example, with the library that was built with this glint, in `directory`."""
        program = self.directory / "programs" / directory / name
        if program in self._made:
            return program
        program.parent.mkdir(exist_ok=True)
        engine = glint.parent / "engine"
        if not (engine / "libglint.a").exists():
            raise Failure(f"{engine}/libglint.a is missing: {glint} must be in its build directory")
        # The sources of the tree of this build, TREE/build/NAME: another one may have other functions.
        trees = [*glint.resolve().parents[2:3], ROOT]
        source = next(path for tree in trees for place in ("examples/programs", "tests/bench")
                      if (path := tree / place / f"{name}.c").exists())
        checked(["cc", "-O2", f"-I{engine}/include", source, f"-L{engine}", "-l:libglint.a",
                 "-luv", "-lisal", "-pthread", "-lm", "-Wl,--build-id=sha1", "-o", program])
        self._made.add(program)
        return program

    def out(self, name):
        return self.directory / f"out-{name}"

    # ---- data ----

    def _check_room(self, needed):
        free = shutil.disk_usage(self.directory).free
        if free < needed:
            raise Failure(f"{self.directory}: {needed} bytes needed, {free} free; "
                          "give --rows-large or --work")

    def rows_from(self, name, first, rows, header=False):
        """The file with these rows of the endless table; kept until it is dropped."""
        path = self.directory / f"{name}.tsv"
        if path in self._made:
            return path
        self._check_room(rows * 24)
        say(f"writing {path.name}, {rows} rows")
        command = [self.programs.make_ratings, SEED, str(first), str(rows)]
        with open(path, "wb") as file:
            checked(command + (["header"] if header else []), stdout=file)
        self._made.add(path)
        return path

    def table(self, size):
        return self.rows_from(f"table-{size}", 0, self.rows[size])

    def visits(self, size):
        """USER TAB 40 letters, as glint generate writes them."""
        path = self.directory / f"visits-{size}.tsv"
        if path not in self._made:
            self._check_room(self.rows[size] * VISIT_BYTES)
            say(f"writing {path.name}, {self.rows[size]} rows")
            path.unlink(missing_ok=True)
            checked([self.glint, "generate", "visits", "--rows", str(self.rows[size]), path])
            self._made.add(path)
        return path

    def keys(self, name, kind, first, rows, values=False):
        """Lines with text keys, of kind distinct or zipf (baseline/make_keys.c)."""
        path = self.directory / f"keys-{name}.tsv"
        if path not in self._made:
            self._check_room(rows * 24)
            say(f"writing {path.name}, {rows} rows")
            command = [self.programs.make_keys, kind, str(first), str(rows)]
            with open(path, "wb") as file:
                checked(command + (["values"] if values else []), stdout=file)
            self._made.add(path)
        return path

    def made(self, kind, rows):
        """The file of baseline/make_rows.c."""
        path = self.directory / f"{kind}.txt"
        if path not in self._made:
            self._check_room(rows * ROW_BYTES[kind])
            say(f"writing {path.name}, {rows} rows")
            with open(path, "wb") as file:
                checked([self.programs.make_rows, kind, str(rows)], stdout=file)
            self._made.add(path)
        return path

    def unseen(self, size):
        return self.rows_from(f"unseen-{size}", self.rows[size], self.rows[size])

    def headed(self, size):
        return self.rows_from(f"headed-{size}", 0, self.rows[size], header=True)

    def halves(self, size, unseen=False):
        """The table, or the unseen rows, as two files."""
        rows, kind = self.rows[size], "unseen" if unseen else "table"
        first, half = (rows if unseen else 0), rows // 2
        return [self.rows_from(f"{kind}-{size}-a", first, half),
                self.rows_from(f"{kind}-{size}-b", first + half, rows - half)]

    def drop(self, paths):
        for path in paths:
            path.unlink(missing_ok=True)
            self._made.discard(path)

    def counts(self, size):
        return self._prepared(f"counts-{size}", self.programs.count, self.table(size))

    def filters(self, size, p="0.01"):
        return self._prepared(f"filters-{size}", self.programs.build, p, self.table(size),
                              self.counts(size))

    def _prepared(self, name, *command):
        path = self.directory / name
        if path not in self._made:
            remove(path)
            checked([*command, path])
            self._made.add(path)
        return path

    def _check_generator(self):
        if self.glint is None:
            return
        mine = subprocess.run([self.programs.make_ratings, SEED, "0", "1000", "header"],
                              capture_output=True).stdout
        theirs = subprocess.run([self.glint, "generate", "ratings", "--rows", "1000", "--seed",
                                 SEED], capture_output=True)
        if theirs.returncode != 0 or theirs.stdout != mine:
            raise Failure("glint generate ratings does not write the table that is measured\n"
                          + theirs.stderr.decode(errors="replace"))

    def peer_seconds(self, name, size, elsewhere_per_row):
        """The time of a peer for the same rows, and where it was measured."""
        if name in self.peers:
            return self.peers[name], "measured here"
        return elsewhere_per_row * self.rows[size], "measured elsewhere; --peers measures it here"

    # ---- running ----

    def submit(self, job, *rest, master="local[1]", cluster=None):
        """The command of a job in local mode, or on the running executors of a cluster file."""
        where = (["--cluster", str(cluster)] if cluster
                 else ["--master", master, "--work-dir", str(self.scratch)])
        return [str(self.glint), "submit", job, *map(str, rest), *where, "-q"]

    def _is_glint(self, command):
        return command[0] == str(self.glint) or command[0] in self._made

    def _profile(self, run):
        """The profile of a side's last command, if that is glint's; else an empty text."""
        data = self.directory / "perf.data"
        self._perf_data, self._profiled = data, None
        try:
            run()
        finally:
            self._perf_data = None
        return profiling.summary(data, self._profiled) if self._profiled else ""

    def measure(self, *commands, cpus):
        """Runs all commands at the same time. Returns a Sample for each, in order."""
        if self._perf_data and self._is_glint(commands[-1]):
            self._profiled = Path(commands[-1][0]).name
            commands = [*commands[:-1], profiling.recorded(commands[-1], self._perf_data)]
        line = [self.programs.measure]
        for i, command in enumerate(commands):
            line += (["---"] if i else []) + [cpus[i], *map(str, command)]
        done = subprocess.run(line, capture_output=True, text=True)
        samples = []
        for command, printed in zip(commands, done.stdout.splitlines()):
            seconds, kib, status = printed.split()
            if status != "0":
                raise Failure(f"{shlex.join(map(str, command))}\nexit status {status}\n"
                              f"{done.stderr.strip()}")
            samples.append(Sample(float(seconds), int(kib) * 1024))
        if len(samples) != len(commands):
            raise Failure(f"{shlex.join(line)}\n{done.stderr.strip()}")
        return samples

    def one(self, command, out, cpus="0"):
        """Runs a command that writes the directory `out`."""
        remove(out)
        return self.measure(command, cpus=[cpus])[0]

    def alternate(self, sides, times=1):
        """sides: name -> function that runs it once and returns a Sample. All sides alternate; the
        first round is a warm-up and not counted. `times` multiplies the number of rounds, for runs
        of milliseconds."""
        samples = {name: Samples() for name in sides}
        for turn in range(self.runs * times + 1):
            for name, run in sides.items():
                sample = run()
                if turn > 0:
                    samples[name].runs.append(sample)
        if self.profiles:
            for name, run in sides.items():
                samples[name].profile = self._profile(run)
        return samples


# ---- outputs ----

def parts(directory):
    if not (directory / "_SUCCESS").exists():
        raise Failure(f"{directory}: no _SUCCESS")
    return [part.read_bytes() for part in sorted(directory.glob("part-*"))]


def value_end(data, at):
    """The end of the msgpack value at `at`."""
    left = 1
    while left > 0:
        left -= 1
        tag = data[at]
        at += 1
        if 0x80 <= tag <= 0x8f:
            left += 2 * (tag & 15)
        elif 0x90 <= tag <= 0x9f:
            left += tag & 15
        elif 0xa0 <= tag <= 0xbf:
            at += tag & 31
        elif 0xc4 <= tag <= 0xc6 or 0xd9 <= tag <= 0xdb:
            width = 1 << (tag - (0xc4 if tag <= 0xc6 else 0xd9))
            at += width + int.from_bytes(data[at:at + width], "big")
        elif 0xca <= tag <= 0xd3:
            at += (4, 8, 1, 2, 4, 8, 1, 2, 4, 8)[tag - 0xca]
        elif tag == 0xdc or tag == 0xdd:
            width = 2 if tag == 0xdc else 4
            left += int.from_bytes(data[at:at + width], "big")
            at += width
        elif 0xc1 <= tag < 0xe0 and tag not in (0xc2, 0xc3):
            raise Failure(f"msgpack of an unknown kind: {tag:#x}")
    return at


def filters_by_key(data):
    """(key, the record's bytes) of each saved filter; keys are small numbers here."""
    records, at = [], 0
    while at < len(data):
        end = value_end(data, at)
        records.append((data[at + 1], data[at:end]))
        at = end
    return records


def lines_by_key(data):
    return [(int(line.lstrip(b"(").replace(b"\t", b",").split(b",")[0]), line)
            for line in data.splitlines(keepends=True)]


def same_output(glint_out, hand_out, split_up):
    """Both sides' parts, concatenated, must be equal. The number of partitions depends on the input,
    so glint's records are sorted by key if there is more than one part."""
    theirs, mine = parts(glint_out), b"".join(parts(hand_out))
    both = b"".join(theirs)
    if len(theirs) > 1:
        both = b"".join(record for _, record in sorted(split_up(both)))
    if both != mine:
        raise Failure(f"{glint_out} and {hand_out} differ")
