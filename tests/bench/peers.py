"""The same work by well-known programs, in the fastest form found for each. Each runs in a separate
process, and its start-up counts; nothing is installed here."""

import importlib.util
import sys

from harness import Failure, Result, say

COUNT = {
    "duckdb": """
import duckdb, sys
duckdb.execute("set threads = 2")
print(duckdb.sql(f\"\"\"select floor(column1 + 0.5) r, count(*) from read_csv('{sys.argv[1]}',
    delim='\\t', header=false, columns={{'column0': 'varchar', 'column1': 'double',
    'column2': 'bigint'}}) group by r order by r\"\"\").fetchall())
""",
    "polars": """
import os, sys
os.environ["POLARS_MAX_THREADS"] = "2"
import polars as pl
rows = pl.scan_csv(sys.argv[1], separator="\\t", has_header=False, quote_char=None,
                   schema={"id": pl.String, "rating": pl.Float64, "votes": pl.Int64})
print(rows.group_by((pl.col("rating") + 0.5).floor()).len().collect())
""",
}

# The papers' four steps, with one filter per rating. Filters are filled on the map side and united:
# concatenating lists of indexes, as the papers do, is quadratic in Python for the large ratings.
PYSPARK = """
import math, os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
import mmh3
from pyspark import SparkContext
sc = SparkContext("local[2]", "ratings")
lines = sc.textFile(sys.argv[1])
header = lines.first()
rows = lines.filter(lambda l: l != header).map(lambda l: l.split("\\t"))
rows = rows.map(lambda c: (math.floor(float(c[1]) + 0.5), c[0]))
train, test = rows.randomSplit([0.6, 0.4], 1)
counts = dict(train.mapValues(lambda _: 1).reduceByKey(lambda a, b: a + b).collect())
k = math.ceil(-math.log(0.01) / math.log(2))
size = {r: math.ceil(-n * math.log(0.01) / math.log(2) ** 2) for r, n in counts.items()}
def indexes(row):
    return [mmh3.hash(row[1], i) % size[row[0]] for i in range(k)]
def add(bits, row):
    if not bits: bits = bytearray(size[row[0]])
    for i in indexes(row): bits[i] = 1
    return bits
def union(a, b):
    if not a or not b: return a or b
    return bytearray((int.from_bytes(a, "big") | int.from_bytes(b, "big")).to_bytes(len(a), "big"))
filters = dict(train.map(lambda r: (r[0], r)).aggregateByKey(bytearray(), add, union).collect())
shared = sc.broadcast(filters)
hits = test.map(lambda r: (r[0], (all(shared.value[r[0]][i] for i in indexes(r)), 1)))
print(sorted(hits.reduceByKey(lambda a, b: (a[0] + b[0], a[1] + b[1])).collect()))
"""


def missing(*packages):
    absent = [p for p in packages if importlib.util.find_spec(p) is None]
    if absent:
        say(f"skipped: {packages[0]} (pip install {' '.join(absent)})")
    return bool(absent)


def measured(bench, name, what, script, table, size):
    say(f"{name}: {what}")
    try:
        samples = bench.alternate(
            {name: lambda: bench.measure([sys.executable, "-c", script, table], cpus=["-"])[0]})
    except Failure as failure:
        say(f"{name} failed: {str(failure).splitlines()[-1]}")
        return []
    bench.peers[name] = samples[name].seconds
    ns = samples[name].seconds / bench.rows[size] * 1e9
    return [Result(f"peer-{name}", what, "ns/row", "-", note=f"{name} {ns:.1f} ns/row, "
                   f"{samples[name].seconds:.2f} s", samples=samples)]


def run(bench):
    results = []
    for name, script in COUNT.items():
        if not missing(name):
            results += measured(bench, name, f"{name}: rating counts, large, 2 threads", script,
                                bench.table("large"), "large")
    if not missing("pyspark", "mmh3"):
        results += measured(bench, "pyspark", "PySpark: split, count, build, test, small, local[2]",
                            PYSPARK, bench.headed("small"), "small")
    return results
