#!/usr/bin/env bash
# Version: PyPI opteryx 0.26.8, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-12-01; the logic of three values of SQL (null OR true is true, null AND false is false), and COUNT(DISTINCT x), which
# leaves null out.
# Guess: as `SELECT NULL OR TRUE` is true and `SELECT NULL AND FALSE` false there, conditions on columns are so, too; COUNT(DISTINCT x) counts values.
# Behaviour: `k = 1 OR k IS NULL` loses the rows without k, and `k IS NULL OR k = 1` has them; NOT (k = 1 AND v = 1) loses k null and v 2. In CASE the same condition is wrong, too. COUNT(DISTINCT v) counts null as one, in
# the whole table, and with GROUP BY it does not. POWER(2, 63) is -2^63, POWER(2, 64) 0, as doubles; the average of twice 2^63 - 1 is -1.0. CAST(2 AS BOOLEAN) is
# false for a literal and true for a column.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install opteryx==0.26.8 pyarrow==26.0.1
env/bin/python -W ignore - <<'PY'
import opteryx

rows = "(VALUES (1, 1), (NULL, 2), (NULL, 3), (1, NULL)) AS t(k, v)"


def run(query, *want):
    got = [row[0] if len(row) == 1 else tuple(row) for row in (tuple(row.values()) for row in opteryx.query(query).arrow().to_pylist())]
    print(query, got)
    assert got == list(want)


run("SELECT NULL OR TRUE", True)
run("SELECT NULL AND FALSE", False)
run(f"SELECT v FROM {rows} WHERE k = 1 OR k IS NULL", 1, None)
run(f"SELECT v FROM {rows} WHERE k IS NULL OR k = 1", 1, 2, 3, None)
run(f"SELECT v FROM {rows} WHERE k = 1 OR v = 3", 1, None)
run(f"SELECT v FROM {rows} WHERE NOT (k = 1 AND v = 1)", None)
run(f"SELECT v, CASE WHEN k = 1 OR v = 3 THEN 'y' ELSE 'n' END FROM {rows}", (1, "y"), (2, "n"), (3, "n"), (None, "y"))
run(f"SELECT COUNT(DISTINCT v) FROM {rows}", 4)
run(f"SELECT k, COUNT(DISTINCT v) FROM {rows} GROUP BY k", (1, 1), (None, 2))
run("SELECT POWER(2, 62), POWER(2, 63), POWER(2, 64), POWER(2.0, 64)", (2.0 ** 62, -2.0 ** 63, 0.0, 2.0 ** 64))
run("SELECT AVG(v) FROM (VALUES (9223372036854775807), (9223372036854775807)) AS t(v)", -1.0)
run("SELECT CAST(2 AS BOOLEAN)", False)
run("SELECT CAST(v AS BOOLEAN) FROM (VALUES (0), (2)) AS t(v)", False, True)
PY
