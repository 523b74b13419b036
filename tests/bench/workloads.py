"""The rows of the table: the commands of each side, and their targets."""

import json
import statistics
import subprocess
from dataclasses import dataclass
from typing import Callable

from harness import (Failure, Result, Sample, checked, filters_by_key, lines_by_key, parts, remove,
                     same_output, say)

P = "0.01"
SAME_SPEED = 1.25       # glint over hand-written
COUNT_OVER_WC = 1.6     # a slower baseline would be too weak
MIB = 1 << 20
POLARS_SECONDS = 1.4    # rating counts of 50 M rows, two threads, measured earlier
PYSPARK_SECONDS = 32    # split, count, build and test of 1.25 M rows, measured earlier
EMPTY_TASKS = 10_000
STRINGS = 2_000_000     # that admit looks up
ADMIT_SPEED_UP = 1.8
MEMBERSHIP_OVER_TEST = 3.5 # of the time: ten filters, two slots
NAIVE = "naive"
RECORD_OVER_NAIVE = 0.3
INDEXES_OVER_NAIVE = 1.75


@dataclass
class Workload:
    name: str
    what: str
    goal: str
    function: Callable

    def run(self, bench):
        """The results of this row; empty with --hand-only if it has no hand-written side."""
        say(f"{self.name}: {self.what}")
        result = self.function(self, bench)
        return result if isinstance(result, list) else [] if result is None else [result]

    def result(self, unit, **rest):
        return Result(self.name, self.what, unit, self.goal, **rest)


def adding_to(table):
    """A decorator that adds a function to the table as its next row."""
    def work(name, what, goal):
        def add(function):
            table.append(Workload(name, what, goal, function))
            return function
        return add
    return work


ALL = []
work = adding_to(ALL)


def per_row(bench, size, seconds):
    return seconds / bench.rows[size] * 1e9


def against_hand(row, bench, size, hand, glint, split_up, extra=None, limit=SAME_SPEED):
    """The hand-written program and glint alternately on CPU 0; `hand` and `glint` lack only OUTPUT.
    OUTPUT goes before NAIVE."""
    mine, theirs, other = bench.out("hand"), bench.out("glint"), bench.out("extra")
    command_of_hand = [*hand, mine]
    if NAIVE in hand:
        command_of_hand = [*(word for word in hand if word != NAIVE), mine, NAIVE]
    sides = {"hand": lambda: bench.one(command_of_hand, mine)}
    if extra:
        sides["extra"] = lambda: bench.one(extra(other), other)
    if bench.glint:
        command = glint(theirs)
        sides["glint"] = lambda: bench.one(command, theirs)
        sides["hand"](), sides["glint"]()
        same_output(theirs, mine, split_up)
    samples = bench.alternate(sides)
    ns = {side: per_row(bench, size, s.seconds) for side, s in samples.items()}
    ratio = ns["glint"] / ns["hand"] if bench.glint else None
    return row.result("ns/row", glint=ns.get("glint"), hand=ns["hand"], ratio=ratio,
                      met=None if ratio is None else ratio <= limit, samples=samples), ns


# ---- rules for the hand-written side ----

@work("rule-check", "hand-written programs agree with awk and with each other", "equal bytes")
def rule_check(row, bench):
    table, counts = bench.table("small"), bench.out("hand")
    bench.one([bench.programs.count, table, counts], counts)
    script = '{c[int($2+.5)]++} END{for(k in c) print k "\\t" c[k]}'
    awk = subprocess.run(["awk", "-F", "\t", script, table], capture_output=True, check=True).stdout
    if b"".join(parts(counts)) != b"".join(line for _, line in sorted(lines_by_key(awk))):
        raise Failure("baseline_count and awk differ")
    build = [bench.programs.build, P, table, counts]
    for form in ("ilv", "naive"):
        bench.one([*build, bench.out(form), form], bench.out(form))
    same_output(bench.out("naive"), bench.out("ilv"), filters_by_key)
    tested = bench.out("tested")
    bench.one([bench.programs.test, table, bench.out("ilv"), counts, tested], tested)
    for line in b"".join(parts(tested)).decode().splitlines():
        if not line.endswith(", 1.0))"):
            raise Failure(f"a filter misses rows it was built from: {line}")
    return row.result("", met=True, note="count = awk, naive = ilv, every row found")


@work("rule-count", "hand-written count over wc -l, large", f"<= {COUNT_OVER_WC}x")
def rule_count(row, bench):
    table, out = bench.table("large"), bench.out("hand")
    samples = bench.alternate({
        "wc": lambda: bench.one(["wc", "-l", table], out),
        "hand": lambda: bench.one([bench.programs.count, table, out], out)})
    ratio = samples["hand"].seconds / samples["wc"].seconds
    wc = per_row(bench, "large", samples["wc"].seconds)
    return row.result("ns/row", hand=per_row(bench, "large", samples["hand"].seconds), ratio=ratio,
                      met=ratio <= COUNT_OVER_WC, note=f"wc -l {wc:.2f} ns/row", samples=samples)


# ---- one core ----

@work("count-large", "count-keys, large, local[1]", f"<= {SAME_SPEED}x hand-written")
def count_large(row, bench):
    table = bench.table("large")
    return against_hand(row, bench, "large", [bench.programs.count, table],
                        lambda out: bench.submit("count-keys", table, out), lines_by_key)[0]


@work("count-two", "count-keys, large, local[2]", ">= 10x faster than Polars")
def count_two(row, bench):
    if not bench.glint:
        return None
    table, out, mine = bench.table("large"), bench.out("glint"), bench.counts("large")
    command = bench.submit("count-keys", table, out, master="local[2]")
    bench.one(command, out, cpus="-")
    same_output(out, mine, lines_by_key)
    samples = bench.alternate({"glint": lambda: bench.one(command, out, cpus="-")})
    polars, where = bench.peer_seconds("polars", "large", POLARS_SECONDS / 50_000_000)
    faster = polars / samples["glint"].seconds
    return row.result("ns/row", glint=per_row(bench, "large", samples["glint"].seconds),
                      ratio=faster, met=faster >= 10, samples=samples,
                      note=f"Polars {polars:.2f} s, {where}")


@work("count-record-form", "count-keys, large, per-record functions only",
      f"<= {RECORD_OVER_NAIVE}x getline and strtod")
def count_record_form(row, bench):
    table = bench.table("large")
    return against_hand(row, bench, "large", [bench.programs.count, table, NAIVE],
                        lambda out: bench.submit("count-keys", table, out, "--record-form"),
                        lines_by_key, limit=RECORD_OVER_NAIVE)[0]


def build(row, bench, size, strategy):
    table, counts = bench.table(size), bench.counts(size)
    hand = [bench.programs.build, P, table, counts]
    result, ns = against_hand(
        row, bench, size, hand,
        lambda out: bench.submit("bloom-build", P, table, counts, out, "--strategy", strategy),
        filters_by_key, extra=lambda out: [*hand, out, "naive"])
    result.note = f"naive {ns['extra']:.1f} ns/row"
    return result, ns


@work("build-small", "bloom-build partials, small, local[1]", f"<= {SAME_SPEED}x hand-written")
def build_small(row, bench):
    return build(row, bench, "small", "partials")[0]


@work("build-large", "bloom-build partials, large, local[1]", f"<= {SAME_SPEED}x hand-written")
def build_large(row, bench):
    return build(row, bench, "large", "partials")[0]


@work("build-blocks", "bloom-build in split blocks, large, local[1]",
      f"<= {SAME_SPEED}x hand-written")
def build_blocks(row, bench):
    table, counts = bench.table("large"), bench.counts("large")
    return against_hand(row, bench, "large", [bench.programs.blocks, P, table, counts],
                        lambda out: bench.submit("bloom-build", P, table, counts, out,
                                                 "--layout", "split-block"), filters_by_key)[0]


@work("build-indexes", "bloom-build indexes, small, local[1]",
      f"<= {INDEXES_OVER_NAIVE}x naive hand-written")
def build_indexes(row, bench):
    result, ns = build(row, bench, "small", "indexes")
    if bench.glint:
        result.ratio = ns["glint"] / ns["extra"]
        result.met = result.ratio <= INDEXES_OVER_NAIVE
        result.note += ", which ratio is over"
    return result


@work("test-small", "bloom-test, small, local[1]", f"<= {SAME_SPEED}x hand-written")
def test_small(row, bench):
    rows, rest = bench.unseen("small"), [bench.filters("small"), bench.counts("small")]
    return against_hand(row, bench, "small", [bench.programs.test, rows, *rest],
                        lambda out: bench.submit("bloom-test", P, rows, *rest, out),
                        lines_by_key)[0]


# ---- two cores ----

def scale(row, bench, hand, glint, split_up, unseen, target):
    """Speed-up of local[2] over local[1], compared with that of two hand-written processes on half the
    file each over one on the whole file. target(hand's speed-up) is the minimum."""
    whole = (bench.unseen if unseen else bench.table)("large")
    halves = bench.halves("large", unseen)
    outs = [bench.out("half-a"), bench.out("half-b")]

    def two_copies():
        for out in outs:
            remove(out)
        commands = [[*hand(half), out] for half, out in zip(halves, outs)]
        both = bench.measure(*commands, cpus=["0", "1"])
        return Sample(max(s.seconds for s in both), sum(s.peak_bytes for s in both))

    one, theirs = bench.out("hand"), bench.out("glint")
    sides = {"hand": lambda: bench.one([*hand(whole), one], one), "hand two": two_copies}
    if bench.glint:
        for slots, cpus in (("1", "0"), ("2", "0,1")):
            command = glint(whole, theirs, f"local[{slots}]")
            sides[f"glint {slots}"] = lambda c=command, n=cpus: bench.one(c, theirs, cpus=n)
            sides["hand"](), sides[f"glint {slots}"]()
            same_output(theirs, one, split_up)
    samples = bench.alternate(sides)
    bench.drop(halves)
    mine = samples["hand"].seconds / samples["hand two"].seconds
    result = row.result("x", hand=mine, samples=samples)
    if bench.glint:
        result.glint = samples["glint 1"].seconds / samples["glint 2"].seconds
        result.ratio = result.glint / mine
        result.met = result.glint >= target(mine)
    return result


@work("scale-count", "count-keys, large, local[2] over local[1]", ">= 1.8x")
def scale_count(row, bench):
    return scale(row, bench, lambda rows: [bench.programs.count, rows],
                 lambda rows, out, master: bench.submit("count-keys", rows, out, master=master),
                 lines_by_key, unseen=False, target=lambda hand: 1.8)


@work("scale-build", "bloom-build partials, large, local[2] over local[1]",
      ">= 0.9 of two hand-written")
def scale_build(row, bench):
    counts = bench.counts("large")
    return scale(row, bench, lambda rows: [bench.programs.build, P, rows, counts],
                 lambda rows, out, master: bench.submit("bloom-build", P, rows, counts, out,
                                                        "--strategy", "partials", master=master),
                 filters_by_key, unseen=False, target=lambda hand: 0.9 * hand)


@work("scale-test", "bloom-test, large, local[2] over local[1]", ">= 0.9 of two hand-written")
def scale_test(row, bench):
    rest = [bench.filters("large"), bench.counts("large")]
    return scale(row, bench, lambda rows: [bench.programs.test, rows, *rest],
                 lambda rows, out, master: bench.submit("bloom-test", P, rows, *rest, out,
                                                        master=master),
                 lines_by_key, unseen=True, target=lambda hand: 0.9 * hand)


# ---- whole jobs ----

class Four:
    """The four jobs one after the other, each in a new process; `where` as in Bench.submit."""
    names = ("split-dataset", "count-keys", "bloom-build", "bloom-test")

    def __init__(self, bench, table, prefix, **where):
        self.bench, self.turns = bench, []
        self.outs = {n: bench.out(f"{prefix}-{n}")
                     for n in ("train", "test", "counts", "filters", "tested")}
        train, test, counts, filters, tested = self.outs.values()
        arguments = [(table, train, test), (train, counts), (P, train, counts, filters),
                     (P, test, filters, counts, tested)]
        self.commands = [bench.submit(name, *rest, **where)
                         for name, rest in zip(self.names, arguments)]

    def run(self):
        for out in self.outs.values():
            remove(out)
        samples = [self.bench.measure(command, cpus=["-"])[0] for command in self.commands]
        self.turns.append([s.seconds for s in samples])
        return Sample(sum(s.seconds for s in samples), max(s.peak_bytes for s in samples))

    def milliseconds(self, name):
        """The median time of one job over all runs so far."""
        return statistics.median(turn[self.names.index(name)] for turn in self.turns) * 1e3


def same_four(bench, train, test, counts, filters, tested):
    """Runs the hand-written count, build and test on the split that glint made, and compares."""
    files = [bench.directory / "split-train.tsv", bench.directory / "split-test.tsv"]
    for directory, file in zip((train, test), files):
        file.write_bytes(b"".join(parts(directory)))
    if sum(file.stat().st_size for file in files) != bench.table("small").stat().st_size:
        raise Failure("split-dataset lost or added rows")
    mine = {name: bench.out(f"hand-{name}") for name in ("counts", "filters", "tested")}
    bench.one([bench.programs.count, files[0], mine["counts"]], mine["counts"])
    bench.one([bench.programs.build, P, files[0], mine["counts"], mine["filters"]], mine["filters"])
    bench.one([bench.programs.test, files[1], mine["filters"], mine["counts"], mine["tested"]],
              mine["tested"])
    same_output(counts, mine["counts"], lines_by_key)
    same_output(filters, mine["filters"], filters_by_key)
    same_output(tested, mine["tested"], lines_by_key)


@work("four-jobs", "split, count, build and test, small, four processes, local[2]",
      "<= 250 ms and 100x PySpark")
def four_jobs(row, bench):
    if not bench.glint:
        return None
    four = Four(bench, bench.headed("small"), "glint", master="local[2]")
    four.run()
    same_four(bench, *four.outs.values())
    samples = bench.alternate({"glint": four.run})
    seconds = samples["glint"].seconds
    pyspark, where = bench.peer_seconds("pyspark", "small", PYSPARK_SECONDS / 1_250_000)
    faster = pyspark / seconds
    return row.result("ms", glint=seconds * 1e3, met=seconds <= 0.25 and faster >= 100,
                      note=f"{faster:.0f}x faster than PySpark ({pyspark:.1f} s, {where})",
                      samples=samples)


@work("empty-job", "count-keys on an empty file, whole process", "< 10 ms")
def empty_job(row, bench):
    if not bench.glint:
        return None
    empty, out = bench.directory / "empty.tsv", bench.out("glint")
    empty.write_bytes(b"")
    command = bench.submit("count-keys", empty, out)
    samples = bench.alternate({"glint": lambda: bench.one(command, out)})
    seconds = samples["glint"].seconds
    return row.result("ms", glint=seconds * 1e3, met=seconds < 0.010, samples=samples)


@work("empty-tasks", f"{EMPTY_TASKS} empty tasks, local[1], per task", "< 100 us")
def empty_tasks(row, bench):
    if not bench.glint:
        return None
    command = bench.submit("empty-tasks", "--tasks", EMPTY_TASKS)
    samples = bench.alternate({"glint": lambda: bench.measure(command, cpus=["0"])[0]})
    micros = samples["glint"].seconds / EMPTY_TASKS * 1e6
    return row.result("us/task", glint=micros, met=micros < 100, samples=samples)


# ---- joins ----

USERS = 100_000         # of the visits' 10,000,000: 1 % of the rows match
FEWER, FASTER = 5, 2    # bytes shuffled and time, of shuffle over bloom


@work("join-semi", "semi join, large (40-byte values), 100 K keys, 1 % match, bloom over shuffle",
      f">= {FASTER}x faster, >= {FEWER}x fewer bytes")
def join_semi(row, bench):
    if not bench.glint:
        return None
    visits, users = bench.visits("large"), bench.directory / "users.tsv"
    users.write_text("".join(f"u{user:07}\n" for user in range(0, 100 * USERS, 100)))
    sides, shuffled, lines = {}, {}, {}
    for method in ("shuffle", "bloom"):
        out = bench.out(f"join-{method}")
        command = bench.submit("join", visits, users, out, "--type", "semi", "--method", method)
        sides[method] = lambda c=command, o=out: bench.one(c, o)
        remove(out)
        done = subprocess.run([*command, "--json"], capture_output=True, check=True)
        shuffled[method] = json.loads(done.stdout)["counters"]["map output bytes"]
        lines[method] = sorted(b"".join(parts(out)).splitlines())
    if lines["shuffle"] != lines["bloom"]:
        raise Failure("the two methods give different rows")
    samples = bench.alternate(sides)
    bench.drop([visits])
    faster = samples["shuffle"].seconds / samples["bloom"].seconds
    fewer = shuffled["shuffle"] / shuffled["bloom"]
    return row.result("ns/row", glint=per_row(bench, "large", samples["bloom"].seconds),
                      ratio=faster, met=faster >= FASTER and fewer >= FEWER, samples=samples,
                      note=f"{fewer:.1f}x fewer bytes shuffled; by shuffle "
                           f"{per_row(bench, 'large', samples['shuffle'].seconds):.0f} ns/row")


# ---- lists and sets of keys ----

def speed_up_of(table, work):
    """From the table of job speedup: work, slots, rows, counted, wall ms, .., speed-up, efficiency."""
    head, *rows = [line.split("\t") for line in table.decode().splitlines()]
    two = next(row for row in rows if row[0] == work and row[1] == "2")
    return float(two[head.index("speed-up")])


@work("scale-admit", f"admit, {STRINGS // 1_000_000} M strings, job speedup, 2 slots over 1",
      f">= {ADMIT_SPEED_UP}x")
def scale_admit(row, bench):
    if not bench.glint:
        return None
    words, sample, out = bench.directory / "words.txt", bench.out("sample"), bench.out("glint")
    remove(sample)
    checked([bench.glint, "generate", "words", "--overwrite", "--rows", str(STRINGS), words])
    checked(bench.submit("gap-sample", words, sample))
    lists = ["--bits-per-element", "2.57", f"{sample}/part-*", words]
    table = bench.submit("speedup", "--slots", "1,2", "--repeats", "9", *lists, out,
                         master="local[2]")
    bench.one(table, out, cpus="-")
    ratio = speed_up_of(b"".join(parts(out)), "admit")
    sides = {}
    for master in ("local[1]", "local[2]"):
        command = bench.submit("admit", *lists, out, master=master)
        sides[master] = lambda c=command: bench.one(c, out, cpus="-")
    samples = bench.alternate(sides)
    words.unlink()
    seconds = [s.seconds for s in samples.values()]
    return row.result("x", glint=ratio, ratio=seconds[0] / seconds[1], samples=samples,
                      met=ratio >= ADMIT_SPEED_UP,
                      note=f"ratio: whole processes, {seconds[0] * 1e3:.1f} ms to "
                           f"{seconds[1] * 1e3:.1f}, sample counted and filter built")


@work("membership", "membership, small, against ten filters, local[2]",
      f"<= {MEMBERSHIP_OVER_TEST}x hand-written bloom-test, of one each")
def membership(row, bench):
    if not bench.glint:
        return None
    rows, filters = bench.unseen("small"), bench.filters("small")
    out, mine = bench.out("glint"), bench.out("hand")
    command = bench.submit("membership", "--members", "none", rows, filters, out,
                           master="local[2]")
    test = [bench.programs.test, rows, filters, bench.counts("small"), mine]
    samples = bench.alternate({"hand": lambda: bench.one(test, mine),
                               "glint": lambda: bench.one(command, out, cpus="0,1")})
    ns = {side: per_row(bench, "small", s.seconds) for side, s in samples.items()}
    ratio = ns["glint"] / ns["hand"]
    return row.result("ns/row", glint=ns["glint"], hand=ns["hand"], ratio=ratio,
                      met=ratio <= MEMBERSHIP_OVER_TEST, samples=samples)


# ---- memory ----

SLOTS = 2


def memory(row, bench, job, hand, split_up, with_filters):
    """Peak of local[2]; the limit is the filters once per slot and 64 MiB."""
    out, mine = bench.out("glint"), bench.out("hand")
    sides = {"hand": lambda: bench.one([*hand, mine], mine)}
    if bench.glint:
        command = job(out)
        sides["glint"] = lambda: bench.one(command, out, cpus="-")
    samples = {name: run() for name, run in sides.items()}
    if bench.glint:
        same_output(out, mine, split_up)
    filters = sum(map(len, parts(bench.filters("large")))) if with_filters else 0
    limit = (filters * SLOTS + 64 * MIB) / MIB
    peak = {name: sample.peak_bytes / MIB for name, sample in samples.items()}
    return row.result("MiB", glint=peak.get("glint"), hand=peak["hand"],
                      met=peak["glint"] <= limit if bench.glint else None,
                      note=f"limit {limit:.0f} MiB")


MEMORY_GOAL = "<= filters x slots + 64 MiB"


@work("memory-count", "peak memory of count-keys, large, local[2]", MEMORY_GOAL)
def memory_count(row, bench):
    table = bench.table("large")
    return memory(row, bench, lambda out: bench.submit("count-keys", table, out, master="local[2]"),
                  [bench.programs.count, table], lines_by_key, with_filters=False)


def memory_build(row, bench, strategy):
    table, counts = bench.table("large"), bench.counts("large")
    return memory(row, bench,
                  lambda out: bench.submit("bloom-build", P, table, counts, out, "--strategy",
                                           strategy, master="local[2]"),
                  [bench.programs.build, P, table, counts], filters_by_key, with_filters=True)


@work("memory-partials", "peak memory of bloom-build partials, large, local[2]", MEMORY_GOAL)
def memory_partials(row, bench):
    return memory_build(row, bench, "partials")


@work("memory-indexes", "peak memory of bloom-build indexes, large, local[2]", MEMORY_GOAL)
def memory_indexes(row, bench):
    return memory_build(row, bench, "indexes")


@work("memory-test", "peak memory of bloom-test, large, local[2]", MEMORY_GOAL)
def memory_test(row, bench):
    rows, rest = bench.unseen("large"), [bench.filters("large"), bench.counts("large")]
    return memory(row, bench,
                  lambda out: bench.submit("bloom-test", P, rows, *rest, out, master="local[2]"),
                  [bench.programs.test, rows, *rest], lines_by_key, with_filters=True)
