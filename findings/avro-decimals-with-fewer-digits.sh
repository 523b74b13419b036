#!/usr/bin/env bash
# Version: avro 1.12.2, fastavro 1.13.1 (Python 3.11). Source: run on 2026-11-29; Avro's decimal is the unscaled integer,
# with the scale of the schema.
# Guess: a Decimal with fewer digits behind the point than the scale is padded, one that is too long is an error.
# Behaviour: Apache's avro saves the digits that the Decimal happens to have: 1.2 of scale 2 is read as 0.12, by fastavro
# too, and 1E+3 as 0.01. A value with too many digits, 123.45 of precision 4, is saved as 12345 and read by avro as 123.4.
# Only a longer fraction is an error. fastavro writes 1.20 and 1000.00, and refuses the third.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install avro==1.12.2 fastavro==1.13.1
venv/bin/python - <<'PY'
import io, json
from decimal import Decimal
import avro.io, avro.schema, fastavro

def by_avro(schema, value):
    buffer, parsed = io.BytesIO(), avro.schema.parse(json.dumps(schema))
    avro.io.DatumWriter(parsed).write(value, avro.io.BinaryEncoder(buffer))
    buffer.seek(0)
    read = avro.io.DatumReader(parsed, parsed).read(avro.io.BinaryDecoder(buffer))
    buffer.seek(0)
    return str(read), str(fastavro.schemaless_reader(buffer, schema, schema))

def by_fastavro(schema, value):
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema, value)
    buffer.seek(0)
    return str(fastavro.schemaless_reader(buffer, schema, schema))

seen = {}
for text, precision in (("1.2", 4), ("1E+3", 10), ("123.45", 4)):
    schema = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}
    try:
        other = by_fastavro(schema, Decimal(text))
    except ValueError:
        other = "ValueError"
    seen[text] = by_avro(schema, Decimal(text)), other
    print(text, "written by avro, read by avro and fastavro:", seen[text][0], "| by fastavro:", other)
assert seen["1.2"] == (("0.12", "0.12"), "1.20") and seen["1E+3"] == (("0.01", "0.01"), "1000.00")
assert seen["123.45"][0][0] == "123.4" and seen["123.45"][1] == "ValueError"
PY
