#!/usr/bin/env bash
# Version: duckdb 2.0.1, polars 2.1.0, pyarrow 26.0.1, orjson 3.13.0, pysimdjson 7.0.2 (Python 3.11). Source: run on
# 2026-11-28; RFC 8259 sets no range for numbers.
# Guess: integers of 65 to 127 bits are exact where the library has a type for them; numbers beyond a double are
# an error everywhere, or infinity everywhere.
# Behaviour: 2^64 is a rounded double in duckdb, though it has HUGEINT and uses it for 2^64 - 1; polars reads it as
# Int128. pyarrow refuses 1e400, but reads 1.7976931348623157e309 as infinity; duckdb reads both as infinity; polars
# and orjson refuse both. simdjson names two different errors for 2^64 and -2^63 - 1.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 orjson==3.13.0 pysimdjson==7.0.2
cd "$dir"
venv/bin/python - <<'PY'
import duckdb, orjson, polars as pl, pyarrow.json, simdjson

readers = {
    "duckdb": lambda text: duckdb.sql("select a from read_json('a.jsonl')").fetchall()[0][0],
    "polars": lambda text: pl.read_ndjson("a.jsonl")["a"][0],
    "pyarrow": lambda text: pyarrow.json.read_json("a.jsonl")["a"][0].as_py(),
    "orjson": orjson.loads,
    "simdjson": simdjson.loads,
}
texts = ["18446744073709551615", "18446744073709551616", "-9223372036854775809", "1e400", "1.7976931348623157e309"]
found = {}
for name, read in readers.items():
    for text in texts:
        with open("a.jsonl", "w") as file:
            file.write('{"a":%s}\n' % text)
        try:
            value = repr(read(text))
        except Exception as error:
            value = str(error).split(":")[0] if name == "simdjson" else "error"
        found.setdefault(name, []).append(value)
    print(f"{name}: {dict(zip(texts, found[name]))}")
double = "1.8446744073709552e+19"
assert found["duckdb"] == [texts[0], double, "-9.223372036854776e+18", "inf", "inf"]
assert found["polars"] == [*texts[:3], "error", "error"]
assert found["pyarrow"] == [double, double, "-9.223372036854776e+18", "error", "inf"]
assert found["orjson"] == [texts[0], double, "-9.223372036854776e+18", "error", "error"]
assert found["simdjson"] == [texts[0], "NUMBER_ERROR", "BIGINT_ERROR", "NUMBER_ERROR", "NUMBER_ERROR"]
PY
