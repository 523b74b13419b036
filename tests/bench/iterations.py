"""Rows about word count and programs that iterate, PageRank and KMeans, made as those of programs.py.
With --peers also beside PySpark, once: it takes minutes."""

import math
import sys

import peers
from harness import Failure, Samples, say
from programs import (FASTER, Side, best_of, example, memory, peer_sides, race, rows_of, times)
from scripts import PAGERANK, PYSPARK, WORDS
from workloads import work

WORDS_OVER_PYSPARK, ITERATIONS_OVER_PYSPARK = 20, 40
PAGERANK_OVER_HAND = 4
CENTERS = 20
ACTIONS, ACTIONS_OVER_ONE = 10, 2.5


def with_pyspark(bench, samples, name, equal, *inputs):
    """Adds one run of PySpark's script to the samples, if it is asked for and installed; its result
    must be equal, too."""
    if not bench.sizes.peers or peers.missing("pyspark", "numpy"):
        return
    out = bench.directory / "out-pyspark"
    side = Side([sys.executable, "-c", PYSPARK[name], *inputs, out], out)
    say(f"{name}: PySpark")
    samples["pyspark"] = Samples([side.run(bench)])
    if not equal(side):
        raise Failure("pyspark writes something else")
    side.clear()


def faster_than(samples, name, other, times_faster):
    """Whether it is, or cannot be said."""
    return (other not in samples or
            samples[name].seconds * times_faster <= samples[other].seconds)


# ---- word count ----

def counts(side):
    """Of the words: how many, and a sum of the hashes of the lines."""
    lines = side.lines()
    return len(lines), sum(map(hash, lines))


@work("words", "word count, 20 bytes x large rows of text, Zipf's law, local[2]",
      f">= {FASTER}x faster than DuckDB and Polars; {WORDS_OVER_PYSPARK}x than PySpark")
def words(row, bench):
    text = bench.made("text", rows_of(bench, 0.4))
    sides = {"glint": example(bench, "wordcount", text)} if bench.glint else {}
    sides.update(peer_sides(bench, WORDS, text))
    if not bench.glint or not sides:
        return None
    found = []
    samples = race(bench, sides, lambda side: found.append(counts(side)) or found[-1])
    with_pyspark(bench, samples, "words", lambda side: counts(side) == found[0], text)
    bench.drop([text])
    result = row.result("s", glint=samples["glint"].seconds, samples=samples, note=times(samples))
    best = best_of(samples, WORDS)
    if best is not None:
        result.ratio = best / result.glint
    result.met = (best is None or result.ratio >= FASTER) and faster_than(
        samples, "glint", "pyspark", WORDS_OVER_PYSPARK)
    return [result, memory(row, samples, "glint")]


# ---- iterations ----

def ranks(side):
    return {page: float(rank) for page, rank in (line.split("\t") for line in side.lines())}


def same_ranks(a, b):
    """Sums of f64 depend on their order."""
    return a.keys() == b.keys() and all(math.isclose(rank, b[page], rel_tol=1e-9)
                                        for page, rank in a.items())


def centers(side):
    return sorted(tuple(map(float, line.split())) for line in side.lines())


def same_centers(a, b):
    return len(a) == len(b) and all(
        math.isclose(x, y, rel_tol=1e-7) for one, other in zip(a, b) for x, y in zip(one, other))


def iterate(row, bench, name, sides, numbers, same, limit, inputs):
    """sides: that of the hand-written program, of glint and of peers."""
    found = []
    samples = race(bench, sides, lambda side: found.append(numbers(side)) or found[-1], same)
    with_pyspark(bench, samples, name, lambda side: same(found[0], numbers(side)), *inputs)
    bench.drop(inputs)
    result = row.result("s", hand=samples["hand"].seconds, samples=samples, note=times(samples))
    if not bench.glint:
        return result
    result.glint = samples["glint"].seconds
    result.ratio = result.glint / result.hand
    result.met = (limit is None or result.ratio <= limit) and faster_than(
        samples, "glint", "pyspark", ITERATIONS_OVER_PYSPARK)
    return [result, memory(row, samples, "glint")]


@work("pagerank", "PageRank, 0.2 large rows of edges, a tenth of pages, 10 iterations, local[2]",
      f"<= {PAGERANK_OVER_HAND}x hand-written; >= {ITERATIONS_OVER_PYSPARK}x faster than PySpark")
def pagerank(row, bench):
    edges, out = bench.made("edges", rows_of(bench, 0.2)), bench.out("hand")
    sides = {"hand": Side([bench.programs.pagerank, edges, out], out, cpus="0")}
    if bench.glint:
        sides["glint"] = example(bench, "pagerank", edges)
    sides.update(peer_sides(bench, PAGERANK, edges))
    return iterate(row, bench, "pagerank", sides, ranks, same_ranks, PAGERANK_OVER_HAND, [edges])


@work("kmeans", f"KMeans, 0.02 large rows of 8 numbers, k {CENTERS}, 10 iterations, local[2]",
      f">= {ITERATIONS_OVER_PYSPARK}x faster than PySpark with numpy")
def kmeans(row, bench):
    points, out = bench.made("points", rows_of(bench, 0.02)), bench.out("hand")
    sides = {"hand": Side([bench.programs.kmeans, points, out], out, cpus="0")}
    if bench.glint:
        sides["glint"] = example(bench, "kmeans", "--k", str(CENTERS), points)
    return iterate(row, bench, "kmeans", sides, centers, same_centers, None, [points])


@work("actions", f"{ACTIONS} actions on a cached parse of 0.2 large rows over one, local[2]",
      f"<= {ACTIONS_OVER_ONE}x")
def actions(row, bench):
    rows = bench.rows_from("actions", 0, rows_of(bench, 0.2))
    if not bench.glint:
        return None
    sides = {str(n): example(bench, "actions", "--actions", str(n), rows) for n in (ACTIONS, 1)}
    samples = race(bench, sides, Side.lines)
    bench.drop([rows])
    glint, one = (samples[name].seconds for name in sides)
    return row.result("s", glint=glint, hand=one, ratio=glint / one,
                      met=glint <= ACTIONS_OVER_ONE * one, note=times(samples))
