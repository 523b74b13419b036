#!/usr/bin/env bash
# Version: PyPI datafusion 55.0.0, duckdb 1.4.1, pyarrow 25.0.1 (Python 3.11). Source: run on 2026-12-01; SQL:2016 (SIMILAR TO matches the whole text, with the wildcards % and _).
# Guess: SIMILAR TO matches the whole text, as in PostgreSQL, with % for any text; intervals compare by their length, with months of 30 days and days of 24 hours.
# Behaviour: SIMILAR TO finds a regular expression anywhere: 'xb' is similar to 'b', 'abc' is not similar to 'a%', whose % is an ordinary character. Intervals compare by months, then days, then the rest:
# 1 month is more than 40 days and 1 day more than 2000 hours, so MAX and ORDER BY follow that, and 1 day is not 24 hours. No error says so. DuckDB has what the standard says.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install datafusion==55.0.0 duckdb==1.4.1 pyarrow==25.0.1
env/bin/python - <<'PY'
import datafusion, duckdb

context = datafusion.SessionContext()
found = {
    "'xb' SIMILAR TO 'b'": (True, False),
    "'abc' SIMILAR TO 'b|x'": (True, False),
    "INTERVAL '1 month' > INTERVAL '40 days'": (True, False),
    "INTERVAL '1 day' > INTERVAL '2000 hours'": (True, False),
    "INTERVAL '1 day' = INTERVAL '24 hours'": (False, True),
}
for condition, expected in found.items():
    query = f"SELECT {condition} AS x"
    values = context.sql(query).to_pydict()["x"][0], duckdb.sql(query).fetchone()[0]
    print(condition, "DataFusion, DuckDB:", values)
    assert values == expected
percent = [context.sql(f"SELECT '{text}' SIMILAR TO 'a%' AS x").to_pydict()["x"][0] for text in ("abc", "a%")]
longest = context.sql("SELECT max(x) AS x FROM (VALUES (INTERVAL '1 month'), (INTERVAL '40 days'), (INTERVAL '2000 hours')) t(x)").to_pydict()["x"][0]
print("'abc' and 'a%' similar to 'a%':", percent, "; the longest:", longest)
assert percent == [False, True] and longest.months == 1
PY
