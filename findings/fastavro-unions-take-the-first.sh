#!/usr/bin/env bash
# Version: fastavro 1.13.1, avro 1.12.2 (Python 3.11). Source: run on 2026-11-29; Avro leaves the choice of a union's
# branch to the writer.
# Guess: a value takes the branch of its own type: an integer the long, a datetime the timestamp.
# Behaviour: fastavro takes the first branch that can hold it somehow: 2^53 + 1 in [double, long] is the double 2^53,
# 16,777,217 in [float, long] is 16,777,216.0, and a datetime in [date, timestamp-millis] loses its time of day, all
# without a word. Apache's avro keeps them. Without a union, 2^31 in an int and 5.7 in a long are accepted, too, as 2^31
# and 5; avro refuses both.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install fastavro==1.13.1 avro==1.12.2
venv/bin/python - <<'PY'
import datetime as dt, io, json
import avro.errors, avro.io, avro.schema, fastavro

def by_fastavro(schema, value):
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema, value)
    buffer.seek(0)
    return fastavro.schemaless_reader(buffer, schema, schema)

def by_avro(schema, value):
    buffer, parsed = io.BytesIO(), avro.schema.parse(json.dumps(schema))
    try:
        avro.io.DatumWriter(parsed).write(value, avro.io.BinaryEncoder(buffer))
    except avro.errors.AvroTypeException:
        return "refused"
    buffer.seek(0)
    return avro.io.DatumReader(parsed, parsed).read(avro.io.BinaryDecoder(buffer))

date, stamp = {"type": "int", "logicalType": "date"}, {"type": "long", "logicalType": "timestamp-millis"}
noon = dt.datetime(2026, 11, 29, 12, tzinfo=dt.timezone.utc)
cases = [(["double", "long"], 2**53 + 1, 2.0**53, 2**53 + 1), (["float", "long"], 2**24 + 1, 2.0**24, 2**24 + 1),
         ([date, stamp], noon, noon.date(), noon), ("int", 2**31, 2**31, "refused"), ("long", 5.7, 5, "refused")]
for schema, value, fast, apache in cases:
    seen = by_fastavro(schema, value), by_avro(schema, value)
    print(json.dumps(schema), value, "| fastavro:", seen[0], "| avro:", seen[1])
    assert seen == (fast, apache) and type(seen[0]) is type(fast), seen
PY
