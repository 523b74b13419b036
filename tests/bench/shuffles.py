"""Rows about shuffles of text keys: counts per key, and joins, beside DuckDB and Polars if they are
installed."""

import subprocess
import sys

import peers
from harness import Failure, remove
from workloads import work

OVER_HAND, OVER_PEERS, JOIN_OVER_PEERS = 1.5, 2, 1
ROWS_SHARE = 2.5        # of the large tables' rows: 20 M of 50 M
SKEW_OVER_EVEN = 1.5
EVEN_KEYS = 1 << 20     # of baseline/make_keys.c
RIGHT_SHARE = 10        # the small right side has so many times fewer rows than the left one

KEYS = {
    "duckdb": """
import duckdb, sys
duckdb.execute("set threads = 2")
duckdb.execute(f\"\"\"copy (select column0, count(*) from read_csv('{sys.argv[1]}', delim='\\t',
    header=false, quote='', columns={{'column0': 'varchar'}}) group by 1)
    to '{sys.argv[2]}' (delimiter '\\t', header false)\"\"\")
""",
    "polars": """
import os, sys
os.environ["POLARS_MAX_THREADS"] = "2"
import polars as pl
rows = pl.scan_csv(sys.argv[1], separator="\\t", has_header=False, quote_char=None,
                   schema={"key": pl.String})
rows.group_by("key").len().sink_csv(sys.argv[2], separator="\\t", include_header=False)
""",
}

JOIN = {
    "duckdb": """
import duckdb, sys
duckdb.execute("set threads = 2")
left, right = (f\"\"\"read_csv('{path}', delim='\\t', header=false, quote='',
    columns={{'k': 'varchar', 'v': 'bigint'}})\"\"\" for path in sys.argv[1:3])
duckdb.execute(f\"\"\"copy (select l.k, l.v, r.k, r.v from {left} l join {right} r on l.k = r.k)
    to '{sys.argv[3]}' (delimiter '\\t', header false)\"\"\")
""",
    "polars": """
import os, sys
os.environ["POLARS_MAX_THREADS"] = "2"
import polars as pl
left, right = (pl.scan_csv(path, separator="\\t", has_header=False, quote_char=None,
                           schema={"k": pl.String, "v": pl.Int64}) for path in sys.argv[1:3])
both = left.join(right.with_columns(k2="k", v2="v").drop("v"), on="k")
both.select("k", "v", "k2", "v2").sink_csv(sys.argv[3], separator="\\t", include_header=False)
""",
}


def key_rows(bench):
    return max(int(bench.rows["large"] / ROWS_SHARE), RIGHT_SHARE)


def digest(bench, path):
    return subprocess.run([bench.programs.lines_digest, path], capture_output=True, check=True,
                          text=True).stdout


def peer_sides(bench, scripts, inputs, expected):
    """The installed peers, whose output is one file of the same lines."""
    sides = {}
    for name, script in scripts.items():
        if not bench.with_peers or peers.missing(name):
            continue
        out = bench.directory / f"out-{name}.tsv"
        command = [sys.executable, "-c", script, *inputs, out]
        sides[name] = lambda c=command: bench.measure(c, cpus=["0,1"])[0]
        sides[name]()
        if digest(bench, out) != expected:
            raise Failure(f"{name} gives other lines")
    return sides


def compare(row, bench, hand, jobs, scripts, inputs, met):
    """hand: without OUTPUT, on CPU 0. jobs: name -> (its CPUs, a function from OUTPUT to the command). All
    must write the same lines. met(seconds by name, the best peer's or None) decides."""
    mine = bench.out("hand")
    sides = {"hand": lambda: bench.one([*hand, mine], mine)}
    sides["hand"]()
    expected = digest(bench, mine)
    for name, (cpus, job) in jobs.items():
        out = bench.out(name)
        sides[name] = lambda c=job(out), o=out, n=cpus: bench.one(c, o, cpus=n)
        sides[name]()
        if digest(bench, out) != expected:
            raise Failure(f"{name} gives other lines than the hand-written program")
    sides.update(peer_sides(bench, scripts, inputs, expected))
    samples = bench.alternate(sides)
    for name in jobs:
        remove(bench.out(name))
    bench.drop(inputs)
    seconds = {name: s.seconds for name, s in samples.items()}
    beside = [seconds[name] for name in scripts if name in seconds]
    result = row.result("s", glint=seconds.get(next(iter(jobs), None)), hand=seconds["hand"],
                        samples=samples, note="; ".join(
                            f"{name} {seconds[name]:.2f} s, {s.peak_bytes >> 20} MiB"
                            for name, s in samples.items()))
    if jobs:
        result.ratio = result.glint / result.hand
        result.met = met(seconds, min(beside, default=None))
    return result


def count_keys(row, bench, kind):
    rows = bench.keys(kind, kind, 0, key_rows(bench))
    jobs = {}
    if bench.glint:
        for slots, cpus in (("1", "0"), ("2", "0,1")):
            jobs[f"local-{slots}"] = (cpus, lambda out, n=slots: bench.submit(
                "wordcount", rows, out, master=f"local[{n}]"))
    return compare(row, bench, [bench.programs.keys, rows], jobs, KEYS, [rows],
                   lambda s, best: s["local-1"] <= OVER_HAND * s["hand"] and
                   (best is None or s["local-2"] * OVER_PEERS <= best))


KEYS_GOAL = f"local[1] <= {OVER_HAND}x hand-written; local[2] >= {OVER_PEERS}x faster than peers"


@work("keys-distinct", "count per text key, 0.4 large rows, all different, local[1]", KEYS_GOAL)
def keys_distinct(row, bench):
    return count_keys(row, bench, "distinct")


@work("keys-zipf", "count per text key, 0.4 large rows, Zipf's law, local[1]", KEYS_GOAL)
def keys_zipf(row, bench):
    return count_keys(row, bench, "zipf")


def join_keys(row, bench, right_rows):
    """Half of the right side's keys are on the left side."""
    rows = key_rows(bench)
    sides = [bench.keys("left", "distinct", 0, rows, values=True),
             bench.keys("right", "distinct", rows - right_rows // 2, right_rows, values=True)]
    jobs = {}
    if bench.glint:
        for method in ("shuffle", "bloom", "auto"):
            jobs[method] = ("0,1", lambda out, m=method: bench.submit(
                "join", *sides, out, "--method", m, master="local[2]"))
    return compare(row, bench, [bench.programs.join, *sides], jobs, JOIN, sides,
                   lambda s, best: best is None or
                   (s["shuffle"] <= best * JOIN_OVER_PEERS and
                    1.5 * min(s["bloom"], s["auto"]) <= best))


JOIN_GOAL = "shuffle faster than peers; bloom or auto 1.5x"


@work("join-small", "join on text keys, 0.4 large rows and a tenth, --method shuffle, local[2]",
      JOIN_GOAL)
def join_small(row, bench):
    return join_keys(row, bench, key_rows(bench) // RIGHT_SHARE)


@work("join-equal", "join on text keys, 0.4 large rows twice, --method shuffle, local[2]",
      JOIN_GOAL)
def join_equal(row, bench):
    return join_keys(row, bench, key_rows(bench))


@work("join-skewed", "join, 0.4 large rows of which 90 % have one key, with one row a key, local[2]",
      f"<= {SKEW_OVER_EVEN}x an even spread")
def join_skewed(row, bench):
    rows = key_rows(bench)
    right = bench.keys("each", "distinct", 0, EVEN_KEYS, values=True)
    sides, inputs = {}, [right]
    for kind in ("even", "skewed") if bench.glint else ():
        left, out = bench.keys(kind, kind, 0, rows, values=True), bench.out(kind)
        inputs.append(left)
        command = bench.submit("join", left, right, out, "--method", "shuffle", master="local[2]")
        sides[kind] = lambda c=command, o=out: bench.one(c, o, cpus="0,1")
    samples = bench.alternate(sides)
    for kind in sides:
        remove(bench.out(kind))
    bench.drop(inputs)
    seconds = {kind: s.seconds for kind, s in samples.items()}
    result = row.result("s", glint=seconds.get("skewed"), hand=None, samples=samples,
                        note="; ".join(f"{kind} {s:.2f} s" for kind, s in seconds.items()))
    if sides:
        result.ratio = seconds["skewed"] / seconds["even"]
        result.met = result.ratio <= SKEW_OVER_EVEN
    return result
