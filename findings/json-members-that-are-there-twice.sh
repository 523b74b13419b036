#!/usr/bin/env bash
# Version: PyPI pysimdjson 7.0.2, orjson 3.13.0, msgspec 0.23.0, polars 2.1.0, duckdb 2.0.1, datafusion 55.0.0, pyarrow 25.0.1 (Python 3.11). Source: run on
# 2026-11-30; https://www.rfc-editor.org/rfc/rfc8259#section-4 (names SHOULD be unique; many implementations report the last pair only).
# Guess: the last member of a name wins, as in Python, JavaScript and Go, or it is an error; one library answers one way.
# Behaviour: of {"a":1,"b":2,"a":3} a is 3 for orjson, msgspec and DataFusion. Polars' read_ndjson and json_decode have 1, its json_path_match has 3. pysimdjson's
# doc["a"] and dict(doc) have 1, as_dict() and loads() have 3. DuckDB's -> and json_transform have 1, its read_json refuses the file, as pyarrow does.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pysimdjson==7.0.2 orjson==3.13.0 msgspec==0.23.0 polars==2.1.0 duckdb==2.0.1 datafusion==55.0.0 pyarrow==25.0.1 pandas==3.1.1
env/bin/python - <<'PY'
import duckdb
import msgspec
import orjson
import polars
import pyarrow.json
import simdjson
from datafusion import SessionContext

line = b'{"a":1,"b":2,"a":3}'
open("rows.json", "wb").write(line + b"\n")
text = polars.Series([line.decode()])
node = simdjson.Parser().parse(line)
last = {"orjson": orjson.loads(line)["a"], "msgspec": msgspec.json.decode(line)["a"], "simdjson as_dict": node.as_dict()["a"],
        "simdjson loads": simdjson.loads(line)["a"], "polars path": int(text.str.json_path_match("$.a")[0]),
        "datafusion": SessionContext().read_json("rows.json").to_pylist()[0]["a"]}
schema = polars.Struct({"a": polars.Int64, "b": polars.Int64})
duck = duckdb.sql(f"select ('{line.decode()}'::json->'a')::int, json_transform('{line.decode()}', '{{\"a\": \"int\"}}').a").fetchall()[0]
first = {"simdjson doc[]": node["a"], "simdjson dict": dict(node)["a"], "polars read_ndjson": polars.read_ndjson("rows.json")["a"][0],
         "polars json_decode": text.str.json_decode(schema)[0]["a"], "duckdb ->": duck[0], "duckdb transform": duck[1]}
refused = []
for name, read in ("duckdb", lambda: duckdb.sql("select * from read_json('rows.json')").fetchall()), ("pyarrow", lambda: pyarrow.json.read_json("rows.json")):
    try:
        read()
    except (duckdb.Error, pyarrow.ArrowInvalid):
        refused.append(name)
print("last", last, "first", first, "refused", refused)
assert set(last.values()) == {3} and set(first.values()) == {1} and refused == ["duckdb", "pyarrow"]
PY
