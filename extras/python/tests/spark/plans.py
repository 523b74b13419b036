"""Runs random plans with functions of Python on PySpark and on glint.pyspark, and compares results.

    python plans.py PYSPARK [--plans N] [--seed N]

PYSPARK is the directory of an installed PySpark 4.3.0, which needs Java. A plan is a line of
Python; elements and keys have mixed types. Results are equal as multisets, in order where Spark
promises one, by Python's ==; an exception is one of the same class. The last line is
`N passed, N failed`.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import re
import sys
import time
import warnings
from typing import Any, NamedTuple, Optional

ELEMENTS = ["None", "True", "False", "0", "1", "1.0", "-0.0", "2", "-7", "2.5", "1 << 70", "'a'",
            "'b'", "'é'", "''", "b'a'", "b''", "(1, 'a')", "(1.0, 'a')", "()", "((2,), None)",
            "frozenset([1, 2])", "10 ** 30 + 1", "'a b'", "float('inf')"]
NUMBERS = ["0", "1", "2", "-3", "2.5", "True", "1 << 65", "7", "-0.5", "1e300"]


class Rdd(NamedTuple):
    text: str
    kind: str  # of elements: any, number, pair (of any key and a number)
    ordered: bool  # Spark promises the order
    placed: bool  # and how many elements each partition has


def data(rand: random.Random, kind: str) -> str:
    count = rand.choice([0, 1, 2, 5, 12, 30])
    if kind == "pair":
        keys = rand.sample(ELEMENTS, rand.randint(1, 8))
        return "[%s]" % ", ".join(f"({rand.choice(keys)}, {rand.choice(NUMBERS)})"
                                  for _ in range(count))
    return "[%s]" % ", ".join(rand.choice(NUMBERS if kind == "number" else ELEMENTS)
                              for _ in range(count))


def source(rand: random.Random, kind: Optional[str] = None) -> Rdd:
    kind = kind or rand.choice(["any", "number", "pair", "pair"])
    return Rdd(f"sc.parallelize({data(rand, kind)}, {rand.randint(1, 4)})", kind, True, True)


# Of each kind: the method, the kind that it gives, and whether the order stays (True), is made (2)
# or is lost (False). R is another RDD of the same kind, N a number of partitions.
STEPS: dict[str, list[tuple[str, str, Any]]] = {
    "any": [
        ("map(lambda x: (x, 1))", "pair", True), ("map(repr)", "any", True),
        ("map(lambda x: (type(x).__name__, len(repr(x))))", "pair", True),
        ("filter(lambda x: x)", "any", True), ("filter(lambda x: x is not None)", "any", True),
        ("flatMap(lambda x: [x] * (len(repr(x)) % 3))", "any", True),
        ("flatMap(lambda x: x if isinstance(x, (str, tuple)) else [])", "any", True),
        ("mapPartitions(lambda items: [len(list(items))])", "number", True),
        ("mapPartitionsWithIndex(lambda i, items: ((i, 1) for _ in items))", "pair", True),
        ("distinct(N)", "any", False), ("union(R)", "any", True), ("coalesce(N)", "any", True),
        ("repartition(N)", "any", False), ("keyBy(lambda x: len(repr(x)))", "any", True),
        ("zipWithIndex()", "pair", True), ("glom().map(len)", "number", True),
        ("sortBy(repr, numPartitions=N)", "any", 2),
        ("sortBy(lambda x: (len(repr(x)), repr(x)), ascending=False)", "any", 2),
        ("groupBy(repr, N).mapValues(len)", "pair", False),
        ("subtract(R, N)", "any", False), ("intersection(R)", "any", False),
        ("cartesian(R).filter(lambda ab: ab[0] == ab[1])", "any", False),
        ("zip(sc.parallelize(range(1000), 1)) if False else P", "any", True),
        ("sample(False, 0.5, 7)", "any", True), ("sample(True, 0.7, 3)", "any", True),
        ("cache()", "any", True), ("persist(StorageLevel.DISK_ONLY)", "any", True)],
    "number": [
        ("map(lambda x: x * 3)", "number", True), ("map(lambda x: x + 1)", "number", True),
        ("map(lambda x: (x, x))", "pair", True), ("map(lambda x: (x % 3, x))", "pair", True),
        ("map(lambda x: -x)", "number", True), ("filter(lambda x: x > 1)", "number", True),
        ("map(str)", "any", True), ("sortBy(lambda x: x, numPartitions=N)", "number", 2),
        ("distinct(N)", "number", False), ("union(R)", "number", True),
        ("map(lambda x: 12 // x)", "number", True)],
    "pair": [
        ("mapValues(lambda v: v + 1)", "pair", True), ("mapValues(lambda v: v)", "pair", True),
        ("map(lambda kv: (kv[1], kv[0]))", "any", True), ("keys()", "any", True),
        ("values()", "number", True), ("flatMapValues(lambda v: [v] * 2)", "pair", True),
        ("reduceByKey(lambda a, b: a if repr(a) < repr(b) else b, N)", "pair", False),
        ("reduceByKey(max, N)", "pair", False), ("reduceByKey(min)", "pair", False),
        ("groupByKey(N).mapValues(lambda vs: len(list(vs)))", "pair", False),
        ("groupByKey(N).mapValues(lambda vs: sorted(vs)[0])", "pair", False),
        ("foldByKey(0, max, N)", "pair", False),
        ("aggregateByKey(0, lambda n, v: n + 1, lambda a, b: a + b, N)", "pair", False),
        ("combineByKey(lambda v: 1, lambda n, v: n + 1, lambda a, b: a + b, N)", "pair", False),
        ("join(R, N).mapValues(lambda ab: ab[0])", "pair", False),
        ("join(R)", "any", False), ("leftOuterJoin(R, N)", "any", False),
        ("rightOuterJoin(R)", "any", False), ("fullOuterJoin(R, N)", "any", False),
        ("cogroup(R, N).mapValues(lambda g: len(list(g[0])) - len(list(g[1])))", "pair", False),
        ("groupWith(R, R).mapValues(lambda g: [len(list(x)) for x in g])", "any", False),
        ("subtractByKey(R, N)", "pair", False), ("partitionBy(N)", "pair", False),
        # In one partition: PySpark compares keys with what keyfunc gives for others.
        ("sortByKey(numPartitions=1, keyfunc=repr)", "pair", False),
        ("sortByKey(False, 1, lambda k: (len(repr(k)), repr(k)))", "pair", False),
        ("union(R)", "pair", True), ("distinct()", "pair", False),
        ("repartitionAndSortWithinPartitions(N, lambda k: hash(repr(k)) * 0, True, repr)", "pair",
         False),
        ("sampleByKey(False, collections.defaultdict(lambda: 0.5), 5)", "pair", True),
        ("reduceByKey(lambda a, b: a + b, N)", "pair", False),
        ("filter(lambda kv: kv[1])", "pair", True)]}
ACTIONS = {
    "any": ["collect()", "collect()", "count()", "countByValue()", "isEmpty()", "max(repr)",
            "min(key=repr)", "takeOrdered(4, repr)", "top(3, repr)",
            "map(lambda x: 1).fold(0, lambda a, b: a + b)",
            "aggregate((), lambda a, x: a + (repr(x),), lambda a, b: a + b)",
            "glom().map(len).collect()", "getNumPartitions()"],
    "number": ["collect()", "sum()", "max()", "min()", "count()", "reduce(max)",
               "reduce(lambda a, b: a if a > b else b)", "takeOrdered(5)", "top(2)",
               "treeReduce(max)", "treeAggregate(0, lambda a, x: a + 1, lambda a, b: a + b)",
               "map(lambda x: min(max(float(x), -9), 9)).stats().count()",
               "map(lambda x: min(max(float(x), -9), 9)).histogram([-9, 0, 1, 9])"],
    "pair": ["collect()", "collect()", "collectAsMap().__len__()", "countByKey()", "count()",
             "lookup(KEY)", "reduceByKeyLocally(max)", "keys().distinct().count()"]}
PLACED = ("ample", "glom", "zipWith", "mapPartitions", "aggregate((", "coalesce")
ORDERED_ACTIONS = ["take(3)", "first()", "zipWithUniqueId().collect()"]


def plan(rand: random.Random) -> tuple[str, bool]:
    """The line, and whether its result is a list in a promised order."""
    rdd = source(rand)
    for _ in range(rand.randint(0, 5)):
        step, kind, order = rand.choice(STEPS[rdd.kind])
        other = rdd.text if rand.random() < 0.2 else source(rand, rdd.kind).text
        step = step.replace("R,", other + ",").replace("R)", other + ")")
        step = re.sub(r"\bN\b", str(rand.randint(1, 5)), step)
        if "if False else P" in step:
            step = f"zip({rdd.text}).map(lambda ab: ab[0])"
        if not rdd.placed and any(word in step for word in PLACED):
            continue
        rdd = Rdd(f"{rdd.text}.{step}", kind, order == 2 or (order and rdd.ordered),
                  order is True and rdd.placed)
    actions = ACTIONS[rdd.kind] + (ORDERED_ACTIONS if rdd.ordered else [])
    action = rand.choice(actions).replace("KEY", rand.choice(ELEMENTS))
    if not rdd.placed and any(word in action for word in PLACED):
        action = "collect()"
    return f"{rdd.text}.{action}", rdd.ordered


# ---- Results


def cause_of(error: BaseException) -> str:
    """The class of what a function raised, or of the exception itself."""
    found = re.findall(r"^(?:\S+\.)?(\w+(?:Error|Exception)): ", str(error), re.MULTILINE)
    if type(error).__name__ in ("PythonException", "Py4JJavaError") and found:
        return str(found[-1])
    name = type(error).__name__
    return "PySparkRuntimeError" if name == "Py4JJavaError" else name  # of the JVM


def run(text: str, names: dict[str, Any]) -> Any:
    try:
        result = eval(text, names)
    except Exception as error:
        return ("raised", cause_of(error))
    if isinstance(result, (collections.defaultdict, dict)):
        return list(result.items())
    return result


def equal(a: Any, b: Any, ordered: bool) -> bool:
    if not isinstance(a, list) or not isinstance(b, list):
        return type(a) is type(b) and bool(a == b)
    if ordered or len(a) != len(b):
        return a == b
    left = list(b)
    for item in a:
        if item not in left:
            return False
        left.remove(item)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pyspark")
    parser.add_argument("--plans", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    sys.path.insert(0, os.path.dirname(arguments.pyspark.rstrip("/")))
    warnings.simplefilter("ignore")
    if os.environ.get("PYTHONHASHSEED") != "0":  # PySpark's lookup hashes keys in this process
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import glint.pyspark
    import pyspark

    # Small jobs, so that compiling and collecting in threads costs more than it gains.
    conf = pyspark.SparkConf().setMaster("local[2]").setAll([
        ("spark.ui.enabled", "false"), ("spark.ui.showConsoleProgress", "false"),
        ("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")])
    theirs = pyspark.SparkContext(conf=conf)
    theirs.setLogLevel("OFF")
    ours = glint.pyspark.SparkContext("local[2]")
    failed, seconds = 0, [0.0, 0.0]
    for number in range(arguments.plans):
        text, ordered = plan(random.Random(arguments.seed * 1000003 + number))
        results = []
        for side, sc, level in ((0, theirs, pyspark.StorageLevel),
                                (1, ours, glint.pyspark.StorageLevel)):
            began = time.monotonic()
            names = {"sc": sc, "collections": collections, "StorageLevel": level}
            results.append(run(text, names))
            seconds[side] += time.monotonic() - began
        if not equal(*results, ordered):
            failed += 1
            print(f"FAILED: --seed {arguments.seed}, plan {number}\n  {text}\n"
                  f"  PySpark: {results[0]!r}\n  glint:   {results[1]!r}", flush=True)
    ours.stop()
    theirs.stop()
    print(f"seconds: {seconds[0]:.1f} PySpark, {seconds[1]:.1f} glint")
    print(f"{arguments.plans - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
