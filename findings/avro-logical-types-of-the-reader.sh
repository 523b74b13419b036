#!/usr/bin/env bash
# Version: fastavro 1.13.1, avro 1.12.2 (Python 3.11). Source: run on 2026-11-30.
# Guess: with a schema of its own a reader gets the types of that schema: a plain long of an old file as the time that it is now,
# and a decimal of another scale is an error, as the specification has it.
# Behaviour: the logical type is that of the file, in both libraries: a new timestamp-millis gives integers, a reader who asks for plain long
# gets datetimes, date stays a date for a timestamp, and a decimal of scale 2 is read as such by one who asks for scale 3.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install fastavro==1.13.1 avro==1.12.2
cat >finding.py <<'END'
import datetime as dt
import decimal
import io
import json
import avro.datafile
import avro.io
import avro.schema
import fastavro


def schema(type_):
    return {"type": "record", "name": "r", "fields": [{"name": "x", "type": type_}]}


def check(written, asked, value, want):
    data = io.BytesIO()
    fastavro.writer(data, schema(written), [{"x": value}])
    fast = next(fastavro.reader(io.BytesIO(data.getvalue()), schema(asked)))["x"]
    reader = avro.io.DatumReader(None, avro.schema.parse(json.dumps(schema(asked))))
    slow = next(avro.datafile.DataFileReader(io.BytesIO(data.getvalue()), reader))["x"]
    print(json.dumps(written), "as", json.dumps(asked), "->", repr(fast))
    assert fast == slow == want and type(fast) is type(slow) is type(want)


def decimals(scale):
    return {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale}


time = {"type": "long", "logicalType": "timestamp-millis"}
day = {"type": "int", "logicalType": "date"}
noon = dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone.utc)
check("long", time, 1577880000000, 1577880000000)
check(time, "long", noon, noon)
check(day, time, dt.date(2020, 1, 1), dt.date(2020, 1, 1))
check(decimals(2), decimals(3), decimal.Decimal("1.50"), decimal.Decimal("1.50"))
END
env/bin/python finding.py
