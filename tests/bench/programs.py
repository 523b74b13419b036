"""Rows about whole programs: sort and the One Billion Row Challenge (iterations.py has word count and
programs that iterate). glint's side are the programs of examples/programs, compiled as their users do, beside
DuckDB and Polars if they are installed."""

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

import peers
from harness import Failure, remove
from scripts import SORT, STATIONS
from workloads import MIB, work

FASTER, EIGHTH_OVER_ALL = 3, 2
BATCH_OVER_HAND, BATCH_FASTER, RECORDS_FASTER = 1.3, 5, 1.5
DUCKDB_MEMORY = 0.5
GLINT_MEMORY = 1 << 30  # the default of --memory
RECORD_BYTES = 100
MEMORY_LEAST = 48 * MIB  # of a sort with an eighth of the data, if there are few rows


@dataclass
class Side:
    """A program in the race: its command, which writes `out`, a directory of parts or a file."""
    command: list
    out: Path
    cpus: str = "0,1"

    def run(self, bench):
        self.clear()
        return bench.measure(self.command, cpus=[self.cpus])[0]

    def clear(self):
        remove(self.out)
        self.out.unlink(missing_ok=True)

    def chunks(self):
        """The bytes of the parts, or of the file, in order."""
        if self.out.is_dir() and not (self.out / "_SUCCESS").exists():
            raise Failure(f"{self.out}: no _SUCCESS")
        for path in sorted(self.out.glob("part-*")) if self.out.is_dir() else [self.out]:
            with open(path, "rb") as file:
                while chunk := file.read(16 * MIB):
                    yield chunk

    def lines(self):
        return b"".join(self.chunks()).decode().splitlines()


def example(bench, job, *rest, master="local[2]"):
    """The side of a program of examples/programs."""
    return Side([bench.example(job), job, *rest[:-1], "--master", master, "--work-dir",
                 bench.scratch, "-q", rest[-1], bench.out(job)], bench.out(job))


def peer_sides(bench, scripts, *inputs):
    sides = {}
    for name, script in scripts.items():
        if bench.with_peers and not peers.missing(name):
            out = bench.directory / f"out-{name}"
            sides[name] = Side([sys.executable, "-c", script, *inputs, out], out)
    return sides


def race(bench, sides, result_of, equal=lambda a, b: a == b):
    """Runs each side once; what result_of makes of its output must be equal to that of the first
    side. Then times all in turn; outputs are removed at once, they need memory."""
    expected = None
    for name, side in sides.items():
        side.run(bench)
        result = result_of(side)
        side.clear()
        if expected is None:
            expected = result
        elif not equal(expected, result):
            raise Failure(f"{name} writes something else than {next(iter(sides))}")

    def timed(side):
        sample = side.run(bench)
        side.clear()
        return sample
    return bench.alternate({name: lambda s=side: timed(s) for name, side in sides.items()})


def times(samples):
    """PySpark's memory is that of a JVM, which the measurement does not include."""
    return "; ".join(f"{name} {s.seconds:.2f} s" +
                     (f", {s.peak_bytes // MIB} MiB" if name != "pyspark" else "")
                     for name, s in samples.items())


def best_of(samples, names):
    return min((samples[name].seconds for name in names if name in samples), default=None)


def memory(row, samples, side, limit=GLINT_MEMORY):
    """The row about peak memory: at most `limit`, and half of DuckDB's."""
    peak = samples[side].peak_bytes
    duckdb = samples["duckdb"].peak_bytes if "duckdb" in samples else None
    result = row.result("MiB", glint=peak / MIB, ratio=duckdb and peak / duckdb,
                        met=peak <= limit and (duckdb is None or peak <= DUCKDB_MEMORY * duckdb),
                        note=f"limit {limit // MIB} MiB" +
                        (f"; DuckDB {duckdb // MIB} MiB" if duckdb else ""))
    result.name, result.what = f"{row.name}-memory", f"peak memory of {row.name}, {side}"
    result.goal = f"<= --memory and {DUCKDB_MEMORY}x DuckDB's"
    return result


def rows_of(bench, share):
    return max(int(bench.rows["large"] * share), 1000)


# ---- sort ----

def digest(side):
    """Of the bytes in order."""
    sum_ = hashlib.blake2b()
    for chunk in side.chunks():
        sum_.update(chunk)
    return sum_.digest()


def sort_sides(bench, rows, memory_bytes, glint_memory):
    out = bench.directory / "out-sort"
    sides = {"sort": Side(["env", "LC_ALL=C", "sort", "--parallel=2", "-S", f"{memory_bytes}b", "-T",
                           bench.scratch, "-o", out, rows], out)}
    if bench.glint:
        sides["glint"] = example(bench, "terasort", *glint_memory, rows)
    return sides


@work("sort", "sort, 0.2 large rows of 100 bytes by 10, local[2]",
      f">= {FASTER}x faster than sort -S, DuckDB, Polars")
def sort(row, bench):
    rows = bench.made("records", rows_of(bench, 0.2))
    sides = sort_sides(bench, rows, 3 * rows.stat().st_size, [])
    sides.update(peer_sides(bench, SORT, rows))
    samples = race(bench, sides, digest)
    result = row.result("s", samples=samples, note=times(samples))
    if "glint" not in samples:
        return result
    result.glint = samples["glint"].seconds
    result.ratio = best_of(samples, ["sort", *SORT]) / result.glint
    result.met = result.ratio >= FASTER
    return [result, memory(row, samples, "glint")]


@work("sort-eighth", "sort as above, with an eighth of the data as memory",
      f"<= {EIGHTH_OVER_ALL}x of all memory; faster than sort -S")
def sort_eighth(row, bench):
    if not bench.glint:
        return None
    rows = bench.made("records", rows_of(bench, 0.2))
    eighth = max(rows.stat().st_size // 8, MEMORY_LEAST)
    sides = sort_sides(bench, rows, eighth, ["--memory", eighth])
    everything = example(bench, "terasort", rows)
    everything.out = everything.command[-1] = bench.out("everything")
    sides["all memory"] = everything
    samples = race(bench, sides, digest)
    bench.drop([rows])
    seconds = {name: s.seconds for name, s in samples.items()}
    result = row.result("s", glint=seconds["glint"], ratio=seconds["glint"] / seconds["all memory"],
                        samples=samples, note=times(samples))
    result.met = result.ratio <= EIGHTH_OVER_ALL and seconds["glint"] < seconds["sort"]
    return [result, memory(row, samples, "glint", eighth)]


# ---- the One Billion Row Challenge ----

def temperatures(side):
    """Least, mean and greatest of each station."""
    return {name: tuple(map(float, numbers)) for name, *numbers in
            (line.split("\t") for line in side.lines())}


def same_temperatures(rounded, other):
    """Peers do not round the mean."""
    return rounded.keys() == other.keys() and all(
        a[0] == b[0] and a[2] == b[2] and abs(a[1] - b[1]) < 0.0501
        for a, b in zip(rounded.values(), map(other.get, rounded)))


def stations(row, bench, form, met):
    """form: glint's program."""
    rows = bench.made("stations", rows_of(bench, 2))
    out = bench.out("hand")
    sides = {"hand": Side([bench.programs.stations, rows, out], out)}
    if bench.glint:
        sides[form] = example(bench, form, rows)
    sides.update(peer_sides(bench, STATIONS, rows))
    samples = race(bench, sides, temperatures, same_temperatures)
    result = row.result("s", hand=samples["hand"].seconds, samples=samples, note=times(samples))
    if not bench.glint:
        return result
    result.glint = samples[form].seconds
    result.ratio = result.glint / result.hand
    result.met = met(samples, best_of(samples, STATIONS))
    return [result, memory(row, samples, form)]


@work("stations-records", "1BRC, 2 x large rows, a call per record, local[2]",
      f">= {RECORDS_FASTER}x faster than DuckDB and Polars")
def stations_records(row, bench):
    return stations(row, bench, "stations", lambda s, best:
                    best is None or s["stations"].seconds * RECORDS_FASTER <= best)


@work("stations-batch", "1BRC, 2 x large rows, in the batch form, local[2]",
      f"<= {BATCH_OVER_HAND}x hand-written; >= {BATCH_FASTER}x faster than DuckDB and Polars")
def stations_batch(row, bench):
    return stations(row, bench, "stations_batch", lambda s, best:
                    s["stations_batch"].seconds <= BATCH_OVER_HAND * s["hand"].seconds and
                    (best is None or s["stations_batch"].seconds * BATCH_FASTER <= best))
