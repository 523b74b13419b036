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
