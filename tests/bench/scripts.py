"""The programs of programs.py as scripts for DuckDB, Polars and PySpark, in the fastest form found for
each. Arguments are the input and the output; two threads."""

_DUCKDB = """
import duckdb, sys
duckdb.execute("set threads = 2")
def table(delimiter, **columns):
    return f\"\"\"read_csv('{sys.argv[1]}', delim='{delimiter}', header=false, quote='', escape='',
        columns={columns})\"\"\"
def save(query):
    duckdb.execute(f\"\"\"copy ({query}) to '{sys.argv[2]}'
        (delimiter '\\t', header false, quote '', escape '')\"\"\")
"""

_POLARS = """
import os, sys
os.environ["POLARS_MAX_THREADS"] = "2"
import polars as pl
def table(separator, **schema):
    return pl.scan_csv(sys.argv[1], separator=separator, has_header=False, quote_char=None,
                       schema=schema)
def save(frame):
    frame.sink_csv(sys.argv[2], separator="\\t", include_header=False, quote_style="never")
"""

# No line has a tab; no two keys are equal.
SORT = {
    "duckdb": _DUCKDB + "save('select line from ' + table('\\t', line='varchar') + "
                        "' order by substr(line, 1, 10)')\n",
    "polars": _POLARS + "save(table('\\t', line=pl.String).sort('line'))\n",
}

STATIONS = {
    "duckdb": _DUCKDB + "save('select s, min(t), avg(t), max(t) from ' + "
                        "table(';', s='varchar', t='double') + ' group by s')\n",
    "polars": _POLARS + """
t = pl.col("t")
save(table(";", s=pl.String, t=pl.Float64).group_by("s")
     .agg(t.min().alias("a"), t.mean().alias("b"), t.max().alias("c")))
""",
}

WORDS = {
    "duckdb": _DUCKDB + """
save('''select w, count(*) from (select unnest(string_split(line, ' ')) w from '''
     + table('\\t', line='varchar') + ") where w <> '' group by w")
""",
    "polars": _POLARS + """
words = table("\\t", line=pl.String).select(pl.col("line").str.split(" ").explode().alias("w"))
save(words.filter(pl.col("w") != "").group_by("w").len())
""",
}

PAGERANK = {
    "duckdb": _DUCKDB + """
duckdb.execute("create table links as select distinct f, t from " +
               table(' ', f='varchar', t='varchar'))
duckdb.execute("create table degrees as select f, count(*) n from links group by f")
duckdb.execute("create table ranks as select f page, 1.0::double r from degrees")
for _ in range(10):
    duckdb.execute('''create or replace table ranks as
        select t page, 0.15 + 0.85 * sum(share) r from links join
        (select f, r / n share from degrees join ranks on f = page) using (f) group by t''')
save("select page, r from ranks")
""",
}

_PYSPARK = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark import SparkContext
sc = SparkContext("local[2]", "bench")
lines = sc.textFile(sys.argv[1])
"""

# The programs of Spark's own examples, with the semantics of examples/programs.
PYSPARK = {
    "words": _PYSPARK + """
lines.flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(lambda a, b: a + b) \\
    .map(lambda p: f"{p[0]}\\t{p[1]}").saveAsTextFile(sys.argv[2])
""",
    "pagerank": _PYSPARK + """
links = lines.map(lambda line: tuple(line.split(" "))).distinct().groupByKey().mapValues(list)
links = links.cache()
ranks = links.mapValues(lambda _: 1.0)
for _ in range(10):
    shares = links.join(ranks).flatMap(lambda p: [(to, p[1][1] / len(p[1][0])) for to in p[1][0]])
    ranks = shares.reduceByKey(lambda a, b: a + b).mapValues(lambda s: 0.15 + 0.85 * s)
ranks.map(lambda p: f"{p[0]}\\t{p[1]!r}").saveAsTextFile(sys.argv[2])
""",
    "kmeans": _PYSPARK + """
import numpy as np
points = lines.map(lambda line: np.array(line.split(" "), dtype=float)).cache()
centers = points.take(20)
for _ in range(10):
    at = np.array(centers)
    sums = points.map(lambda p: (int(np.argmin(((at - p) ** 2).sum(axis=1))), (p, 1))) \\
        .reduceByKey(lambda a, b: (a[0] + b[0], a[1] + b[1])).collect()
    for c, (total, count) in sums:
        centers[c] = total / count
sc.parallelize([" ".join(map(repr, map(float, c))) for c in centers], 1) \\
    .saveAsTextFile(sys.argv[2])
""",
}
