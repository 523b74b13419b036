#!/usr/bin/env bash
# Version: PyPI chdb 4.4.0 (ClickHouse 26.9), datafusion 55.0.0, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30.
# Guess: `x = 0` finds -0.0, and so does every condition that has it as an alternative: `x = 0 OR x = 7`, `x IN (0, 7)`, however long it is.
# Behaviour: ClickHouse finds -0.0 with one and two alternatives and loses it with the third: it makes them an IN, which compares bits.
# So does DataFusion with the fourth, where `x NOT IN` gives -0.0, too, and `x <> 0 AND ...` does not. ClickHouse's hash join does not
# meet 0.0 and -0.0, its merge join does; DataFusion groups them together, but a window has a partition of each.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install chdb==4.4.0 datafusion==55.0.0 pyarrow==26.0.1
cat >finding.py <<'END'
import datafusion
import pyarrow as pa
from chdb import session

house = session.Session()
house.query("create table t (i Int64, x Float64) engine=Memory")
house.query("insert into t values (1, 0.0), (2, -0.0), (3, 1.0)")
fusion = datafusion.SessionContext()
fusion.register_record_batches("t", [pa.table({"i": [1, 2, 3], "x": [0.0, -0.0, 1.0]}).to_batches()])


def by_house(sql):
    return [tuple(int(part) for part in line.split(",")) for line in str(house.query(sql, "CSV")).split()]


def by_fusion(sql):
    return [tuple(row.values()) for batch in fusion.sql(sql).collect() for row in batch.to_pylist()]


both, zero = [(1,), (2,)], [(1,)]
for run, longest in ((by_house, 2), (by_fusion, 3)):
    for n in range(1, 7):
        numbers = ["0.0"] + [f"{k}.5" for k in range(n - 1)]
        found = run("select i from t where " + " or ".join(f"x = {number}" for number in numbers) + " order by i")
        print(run.__name__, n, found)
        assert found == (both if n <= longest else zero)

assert by_house("select i from t where x in (0.0)") == zero
four = by_fusion("select i from t where x not in (0.0, 0.5, 1.5, 2.5) order by i")
apart = by_fusion("select i from t where x <> 0.0 and x <> 0.5 and x <> 1.5 and x <> 2.5 order by i")
print("DataFusion, not in", four, "and", apart)
assert four == [(2,), (3,)] and apart == [(3,)]

join = "select a.i, b.i from t a join t b on a.x = b.x where a.i < 3 order by a.i, b.i"
joins = by_house(join), by_house(join + " settings join_algorithm='full_sorting_merge'")
print("ClickHouse, joins", joins)
assert joins == ([(1, 1), (2, 2)], [(1, 1), (1, 2), (2, 1), (2, 2)])
groups = by_fusion("select x, count(*) from t group by x order by x")
windows = by_fusion("select i, count(*) over (partition by x) from t order by i")
print("DataFusion", groups, windows)
assert groups == [(0.0, 2), (1.0, 1)] and windows == [(1, 1), (2, 1), (3, 1)]
END
env/bin/python finding.py
