#!/usr/bin/env bash
# Version: PyPI ibis-framework 12.0.0 with duckdb 1.4.4, polars 1.37.1 and datafusion 50.1.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30;
# https://ibis-project.org/reference/expression-numeric (an expression has a type of its own, whatever runs it).
# Guess: an expression of Ibis is computed in the type that Ibis says it has: of an int8, x * x and x + 100 are int16, x ** 2 is float64.
# Behaviour: Polars computes in the narrow type and casts then: 100 ** 2 is 16.0, 2 ** 7 of a literal 2 -128.0, and 100 ** 10 of an int64 7.77e18 for 1e20. 100 * 100 is 16 as an int16 in Polars and DataFusion, and
# DuckDB refuses it; 100 + 100 is -56, 200 and refused. right(0) is the whole text in Polars and empty elsewhere, length() counts its bytes, and 100.5 is rounded to 100, elsewhere to 101.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install "ibis-framework[datafusion,duckdb,polars]==12.0.0" duckdb==1.4.4 polars==1.37.1 datafusion==50.1.0 pandas==2.3.3 pyarrow==26.0.1
env/bin/python -W ignore - <<'PY'
import ibis
import pyarrow as pa

table = ibis.memtable(pa.table({"x": pa.array([100], pa.int8()), "y": pa.array([100]), "n": pa.array([7]), "s": ["naïve"]}))
backends = {"duckdb": ibis.duckdb.connect(), "polars": ibis.polars.connect(), "datafusion": ibis.datafusion.connect()}


def ask(name, expression):
    got = []
    for connection in backends.values():
        try:
            got.append(connection.execute(expression)[0])
        except Exception as error:
            got.append(type(error).__name__)
    print(name, expression.type(), dict(zip(backends, got)))
    return str(expression.type()), got


x, y, s = table.x, table.y, table.s
assert ask("x ** 2", x ** 2) == ("float64", [10000.0, 16.0, 10000.0])
assert ask("2 ** n", ibis.literal(2) ** table.n) == ("float64", [128.0, -128.0, 128.0])
kind, got = ask("y ** 10", y ** 10)
assert kind == "float64" and got[0] == 1e20 and got[1] == float(100 ** 10 % 2 ** 64) and got[2] == "Exception"
assert ask("x * x", x * x) == ("int16", ["OutOfRangeException", 16, 16])
assert ask("x + 100", x + 100) == ("int16", ["OutOfRangeException", -56, 200])
assert ask("right", s.right(0)) == ("string", ["", "naïve", ""])
assert ask("length", s.length()) == ("int32", [5, 6, 5])
assert ask("round", (y + 0.5).round())[1] == [101, 100, 101]
PY
