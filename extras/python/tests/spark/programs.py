"""Everyday programs of data engineers, by PySpark and by glint.submit, which must print the same.

    python programs.py PYSPARK [NAME...]

PYSPARK is the directory of an installed PySpark 4.3.0; without Java only glint runs them. The last
line is `N passed, N failed`.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import heapq
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from operator import add, itemgetter
from typing import Any

TIMEOUT_S = 600
LOG = re.compile(r'(\S+) \[([^\]]+)\] "(\w+) (\S+)" (\d{3}) (\d+|-)')
RATE = 2


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True)
class City:
    name: str
    people: int = 0


class Outer:
    class Inner:
        def __init__(self, value: int) -> None:
            self.value = value

        def doubled(self) -> Outer.Inner:
            return Outer.Inner(self.value * 2)


def access_log(sc: Any, path: str) -> Any:
    with open(path, "w", encoding="utf-8") as file:
        for i in range(500):
            size = i * 31 % 5000 if i % 11 else "-"
            print("garbage" if i % 37 == 0 else f"10.0.0.{i % 17} [{i % 28 + 1:02d}/Jan/2024] "
                  f'"GET /page/{i * 7 % 13}" {(200, 301, 404)[i % 3]} {size}', file=file)
    bad = sc.accumulator(0)

    def parse(line: str) -> list[Any]:
        found = LOG.match(line)
        if found is None:
            bad.add(1)
            return []
        host, day, _, page, status, size = found.groups()
        date = datetime.datetime.strptime(day, "%d/%b/%Y").date()
        return [(host, date, page, int(status), 0 if size == "-" else int(size))]

    hits = sc.textFile(path).flatMap(parse).cache()
    by_host = hits.map(lambda r: (r[0], r[4])).reduceByKey(add)
    return (hits.count(), bad.value, by_host.takeOrdered(3, key=lambda kv: (-kv[1], kv[0])),
            sorted(hits.map(lambda r: (r[1], r[0])).distinct().countByKey().items())[:4],
            sorted(hits.filter(lambda r: r[3] > 400).map(itemgetter(2)).countByValue().items()))


def sessions(sc: Any, _: str) -> Any:
    def split(times: Any) -> list[Any]:
        out: list[list[int]] = []
        for time in sorted(times):
            if not out or time - out[-1][-1] > 1800:
                out.append([])
            out[-1].append(time)
        return [(part[0], part[-1], len(part)) for part in out]

    events = sc.parallelize([(f"u{i % 5}", i * i % 997 * 60) for i in range(200)], 4)
    parts = events.groupByKey().flatMapValues(split)
    means = parts.mapValues(itemgetter(2)).aggregateByKey(
        (0, 0), lambda a, v: (a[0] + v, a[1] + 1), lambda a, b: (a[0] + b[0], a[1] + b[1]))
    return sorted(parts.collect()), sorted(means.mapValues(lambda a: a[0] / a[1]).collect())


def top_of_groups(sc: Any, _: str) -> Any:
    def push(heap: list[Any], value: Any) -> list[Any]:
        heapq.heappush(heap, value)
        return heap if len(heap) <= 3 else heapq.heappop(heap) and heap

    rows = sc.parallelize([(f"c{i % 4}", (i * 37 % 101, f"item{i}")) for i in range(80)], 5)
    tops = rows.aggregateByKey([], push, lambda a, b: heapq.nlargest(3, a + b)).mapValues(sorted)
    return sorted(tops.collect()), sorted(rows.foldByKey((-1, ""), max).collect())


def windows(sc: Any, _: str) -> Any:
    numbers = sc.parallelize([i * i % 23 for i in range(30)], 4).zipWithIndex()
    near = numbers.flatMap(lambda vi: [(vi[1] + k, (vi[1], vi[0])) for k in range(3)])
    full = near.groupByKey().mapValues(lambda vs: [v for _, v in sorted(vs)]) \
        .filter(lambda kv: len(kv[1]) == 3)
    return full.sortByKey().mapValues(sum).collect(), numbers.map(lambda vi: vi[::-1]).lookup(7)


def joins(sc: Any, _: str) -> Any:
    users = sc.parallelize([(1, "ann"), (2, "bob"), (3, "cy"), (None, "dan")], 2)
    orders = sc.parallelize([(1, 10.0), (True, 5.5), (3.0, 7.25), (4, 1.0), (None, 99.0)], 3)
    towns = sc.parallelize([(1, "Ulm"), (2, "Bonn"), (3, "Ulm")], 1)
    groups = users.groupWith(orders, towns).mapValues(lambda v: [sorted(map(str, x)) for x in v])
    return [sorted(rdd.map(str).collect()) for rdd in (
        users.join(orders).join(towns), users.fullOuterJoin(orders), users.subtractByKey(orders),
        orders.leftOuterJoin(users), groups)]


def keys_of_all_kinds(sc: Any, _: str) -> Any:
    keys = [datetime.date(2024, 1, 2), decimal.Decimal("1.50"), decimal.Decimal("1.5"),
            City("Ulm", 5), City("Ulm", 5), (1, 2), Color.RED, Color.RED, Color.BLUE, 1, 1.0, True,
            frozenset([1, 2]), frozenset([2, 1]), None, 2**70, float(2**70), "x", b"x", "", ()]
    rdd = sc.parallelize([(key, 1) for key in keys], 4)
    return (sorted(rdd.reduceByKey(add).values().collect()), rdd.groupByKey(3).count(),
            rdd.lookup(City("Ulm", 5)), rdd.partitionBy(3).lookup(Color.RED), rdd.lookup(1),
            len(rdd.countByKey()), rdd.join(rdd, 2).count())


def json_lines(sc: Any, path: str) -> Any:
    def load(line: str) -> Any:
        try:
            yield json.loads(line)
        except ValueError:
            yield {"error": line}

    rows = [json.dumps({"id": i, "tags": ["a", "b"][: i % 3]}) for i in range(12)]
    sc.parallelize([*rows, "{broken", ""], 3).saveAsTextFile(
        path, "org.apache.hadoop.io.compress.GzipCodec")
    read = sc.textFile(path).flatMap(load)
    good = read.filter(lambda row: "error" not in row)
    return (read.map(len).sum(), good.map(itemgetter("id")).stats().asDict(),
            sorted(good.flatMap(itemgetter("tags")).countByValue().items()),
            sorted(name for name in os.listdir(path) if not name.startswith(".")))


def closures(sc: Any, _: str) -> Any:
    global RATE
    rdd, found = sc.parallelize([1, 2], 2), []
    for RATE in (10, 100):
        found.append(rdd.map(lambda x: x * RATE).collect())
    functions = [lambda x, i=i: x + i for i in range(3)]  # type: ignore[misc]

    def factorial(n: int) -> int:
        return 1 if n < 2 else n * factorial(n - 1)

    inner = rdd.map(Outer.Inner).map(Outer.Inner.doubled)
    return (found, [rdd.map(f).collect() for f in functions], rdd.map(factorial).map(
        lambda x: x << 100).sum(), inner.map(lambda x: x.value).collect())


def going_on_after_errors(sc: Any, _: str) -> Any:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-not-found,unused-ignore]

    rdd, found = sc.parallelize(range(4), 2), []
    for call in (lambda: rdd.map(lambda x: 6 // x).sum(), lambda: rdd.map(lambda x: x["a"]).count(),
                 lambda: rdd.filter(bool).map(lambda x: 6 // x).sum()):
        try:
            found.append(call())
        except Py4JJavaError as error:
            found.append(re.findall(r"\w+Error(?=: )", str(error))[-1:])
    return found


def jobs_of_threads(sc: Any, _: str) -> Any:
    def job(i: int) -> Any:
        sc.setJobGroup(f"group {i}", "some")
        return sc.parallelize(range(i + 1), 2).map(lambda x: x * i).sum()

    with ThreadPoolExecutor(3) as pool:
        sums = list(pool.map(job, range(6)))
    tracker = sc.statusTracker()
    return sums, [tracker.getJobInfo(tracker.getJobIdsForGroup(f"group {i}")[0]).status
                  for i in range(6)]


def partitions(sc: Any, _: str) -> Any:
    rows = sc.parallelize([((f"s{i % 3}", i * 7 % 10), i) for i in range(30)], 4)
    ordered = rows.repartitionAndSortWithinPartitions(3, lambda key: int(key[0][1]))
    return (ordered.glom().collect(), ordered.mapPartitions(lambda part: [
        (key, [v for _, v in group]) for key, group in itertools.groupby(part, lambda r: r[0][0])
    ]).collect(), rows.map(lambda kv: (kv[1], kv[0])).sortByKey(False, 3).glom().collect(),
        rows.coalesce(2).glom().map(len).collect())


def page_rank(sc: Any, _: str) -> Any:
    edges = [(i, (i * j + 1) % 20) for i in range(20) for j in range(1, 4)]
    links = sc.parallelize(edges, 3).distinct().groupByKey().cache()
    ranks = links.mapValues(lambda _: 1.0)
    for _ in range(6):
        ranks = links.join(ranks, 3).flatMap(lambda kv: [
            (to, kv[1][1] / len(kv[1][0])) for to in kv[1][0]]).reduceByKey(add) \
            .mapValues(lambda rank: 0.15 + 0.85 * rank)
    return ranks.mapValues(lambda rank: round(rank, 9)).sortBy(lambda kv: (-kv[1], kv[0])).take(5)


def tf_idf(sc: Any, _: str) -> Any:
    texts = sc.parallelize(enumerate(["a b c a", "b c d", "a d d d", "e"]), 2).mapValues(str.split)
    count = texts.count()
    found = sc.broadcast(texts.flatMap(lambda kv: [(w, 1) for w in set(kv[1])]).reduceByKey(add)
                         .collectAsMap())
    weights = texts.flatMap(lambda kv: [
        (kv[0], (round(n / len(kv[1]) * math.log(count / found.value[word]), 9), word))
        for word, n in collections.Counter(kv[1]).items()])
    return sorted(weights.groupByKey().mapValues(lambda v: sorted(v, reverse=True)[:2]).collect())


def shortest_paths(sc: Any, _: str) -> Any:
    graph = sc.parallelize([(i, [i * 2 % 16, (i * 3 + 1) % 16]) for i in range(16)], 2).cache()
    known = sc.parallelize([(0, 0)], 1)
    for step in range(20):
        more = graph.join(known, 2).flatMap(lambda kv: [(to, kv[1][1] + 1) for to in kv[1][0]]) \
            .union(known).reduceByKey(min, 2).cache()
        if more.count() == known.count():
            return step, sorted(more.collect())
        known = more
    return None


def time_series(sc: Any, _: str) -> Any:
    start = datetime.datetime(2024, 2, 28, 23)
    rows = sc.parallelize([(start + datetime.timedelta(minutes=17 * i), float(i % 9))
                           for i in range(100)], 4)
    days = rows.map(lambda t: (t[0].date(), t[1])).combineByKey(
        lambda v: (v, 1), lambda a, v: (a[0] + v, a[1] + 1),
        lambda a, b: (a[0] + b[0], a[1] + b[1]))
    return (days.mapValues(lambda a: a[0] / a[1]).sortByKey().collect(),
            rows.map(lambda t: (t[0].replace(minute=0), t[1])).reduceByKey(max).sortByKey(False)
            .take(3), rows.keys().max() - rows.keys().min(), rows.values().histogram([0, 3, 9]))


PROGRAMS = [access_log, sessions, top_of_groups, windows, joins, keys_of_all_kinds, json_lines,
            closures, going_on_after_errors, jobs_of_threads, partitions, page_rank, tf_idf,
            shortest_paths, time_series]


def run_all(only: list[str]) -> None:
    from pyspark import SparkContext

    sc = SparkContext("local[2]", "programs")
    sc.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as directory:
        for program in PROGRAMS:
            if not only or program.__name__ in only:
                path = os.path.join(directory, program.__name__)
                print(f"{program.__name__}: {program(sc, path)!r}", flush=True)
    sc.stop()


def outputs(words: list[str]) -> dict[str, str]:
    variables = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONHASHSEED": "0"}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False,
                          env=variables, timeout=TIMEOUT_S)
    if done.returncode != 0:
        print(f"{words} exited with {done.returncode}\n{done.stderr[-3000:]}")
    return {name: text for name, _, text in (line.partition(": ") for line in
                                             done.stdout.splitlines())}


def main() -> int:
    if sys.argv[1:2] == ["run"]:
        run_all(sys.argv[2:])
        return 0
    only, passed = sys.argv[2:], 0
    names = [program.__name__ for program in PROGRAMS if not only or program.__name__ in only]
    ours = outputs(["-m", "glint.submit", __file__, "run", *only])
    theirs = outputs([__file__, "run", *only]) if shutil.which("java") else ours
    for name in names:
        if name in ours and ours[name] == theirs.get(name):
            passed += 1
            print(f"passed: {name}")
        else:
            print(f"FAILED: {name}\n  PySpark: {theirs.get(name)}\n  glint:   {ours.get(name)}")
    print(f"{passed} passed, {len(names) - passed} failed")
    return 0 if passed == len(names) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
