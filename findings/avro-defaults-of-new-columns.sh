#!/usr/bin/env bash
# Version: fastavro 1.13.1, avro 1.12.2 (Python 3.11). Source: run on 2026-11-30; the specification: a field that the writer did not have
# takes the default of the reader's schema; of bytes the default is a text whose code points 0 to 255 are the bytes.
# Guess: such a field has the same value in both libraries, of the type that a written one has.
# Behaviour: default "\u00ff" of bytes is the text "\u00ff" in fastavro and the two bytes c3 bf, its UTF-8, in avro; neither
# gives b"\xff". Decimals and times have the raw default, no Decimal or datetime. A record with the default {} whose field has
# the default 4 is {} in fastavro and {"a": 4} in avro. A list is one object for all rows of fastavro, that of the schema:
# appending to it in one row changes all, and later reads.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install fastavro==1.13.1 avro==1.12.2
cat >finding.py <<'END'
import io
import json
import avro.datafile
import avro.io
import avro.schema
import fastavro

data = io.BytesIO()
old = {"type": "record", "name": "r", "fields": [{"name": "y", "type": "long"}]}
fastavro.writer(data, old, [{"y": 1}, {"y": 2}])


def read(type_, default):
    new = {"type": "record", "name": "r", "fields": [{"name": "x", "type": type_, "default": default}]}
    data.seek(0)
    fast = list(fastavro.reader(io.BytesIO(data.getvalue()), new))
    reader = avro.io.DatumReader(None, avro.schema.parse(json.dumps(new)))
    slow = list(avro.datafile.DataFileReader(io.BytesIO(data.getvalue()), reader))
    print(type_, repr(default), "fastavro", fast[0]["x"], "avro", slow[0]["x"])
    return fast, slow


def values(type_, default):
    return [rows[0]["x"] for rows in read(type_, default)]


assert values("bytes", "\u00ff") == ["\u00ff", b"\xc3\xbf"]
decimals = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
assert values(decimals, "\u0096") == ["\u0096", b"\xc2\x96"]
assert values({"type": "long", "logicalType": "timestamp-millis"}, 0) == [0, 0]
record = {"type": "record", "name": "q", "fields": [{"name": "a", "type": "long", "default": 4}]}
assert values(record, {}) == [{}, {"a": 4}]
shared, single = read({"type": "array", "items": "long"}, [])
for rows in shared, single:
    rows[0]["x"].append(7)
assert shared[1]["x"] == [7] and single[1]["x"] == []
END
env/bin/python finding.py
