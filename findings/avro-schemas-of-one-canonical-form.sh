#!/usr/bin/env bash
# Version: fastavro 1.13.1, avro 1.12.2 (Python 3.11). Source: run on 2026-11-29; Avro's parsing canonical form writes a
# primitive type as its name alone, and drops all attributes that do not matter for reading, such as logicalType.
# Guess: two libraries give a schema the same fingerprint, by which single-object encoding finds it.
# Behaviour: so without logical types. A timestamp-millis is "long" for fastavro and {"type":"long"} for Apache's avro, so
# that the fingerprints of every schema with one differ; avro's differs from that of the same schema with a plain long,
# too.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install fastavro==1.13.1 avro==1.12.2
venv/bin/python - <<'PY'
import json, avro.schema, fastavro.schema as fast

def both(kind):
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}
    parsed, form = avro.schema.parse(json.dumps(schema)), fast.to_parsing_canonical_form(schema)
    print(json.dumps(kind), "| avro:", parsed.canonical_form, "| fastavro:", form)
    return parsed.fingerprint().hex(), fast.fingerprint(form, "CRC-64-AVRO")

plain, stamp = both("long"), both({"type": "long", "logicalType": "timestamp-millis"})
print("fingerprints of avro and fastavro:", plain, stamp)
assert plain[0] == plain[1] == stamp[1] and stamp[0] != plain[0]
PY
