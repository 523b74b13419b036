#!/usr/bin/env bash
# Version: PyPI pulsar-client 3.13.0 with fastavro 1.13.1 (Python 3.11). Source: run on 2026-11-30; https://pulsar.apache.org/docs/client-libraries-python-use/ (Record: all fields are optional unless
# required=True; the schemas that it declares are unions with null).
# Guess: a null that another producer wrote is None, and is null again when it is sent on; what was never set is null.
# Behaviour: a null is read as the default of its field, 5, and as False in a Boolean without a default, by AvroSchema and JsonSchema alike, and goes out as that. A nested record that was
# not set goes out as a record of nulls, not as null. A default is one object for all: append to an Array(default=[]) of one record, and every later one begins with it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pulsar-client==3.13.0 fastavro==1.13.1
cat >finding.py <<'END'
import io
import json
import fastavro
from pulsar.schema import Array, AvroSchema, Boolean, Integer, JsonSchema, Record


class Row(Record):
    number = Integer(default=5)
    flag = Boolean()
    other = Integer()


class Inner(Record):
    number = Integer()


class Outer(Record):
    inner = Inner()
    numbers = Array(Integer(), default=[])


nulls = {"number": None, "flag": None, "other": None}
out = io.BytesIO()
fastavro.schemaless_writer(out, fastavro.parse_schema(Row.schema()), nulls)
for schema, message in ((AvroSchema, out.getvalue()), (JsonSchema, json.dumps(nulls).encode())):
    row = schema(Row).decode(message)
    again = schema(Row).encode(row)
    print(schema.__name__, "reads nulls as", row.number, row.flag, row.other, "and writes", again)
    assert (row.number, row.flag, row.other) == (5, False, None) and again != message
unset = json.loads(JsonSchema(Outer).encode(Outer()))
Outer().numbers.append(1)
later = Outer().numbers
print("nested record that was not set:", unset, "the next record's numbers:", later)
assert unset == {"inner": {"number": None}, "numbers": []} and later == [1]
assert AvroSchema(Outer).encode(Outer(inner=None, numbers=None)) != AvroSchema(Outer).encode(Outer(numbers=None))
END
env/bin/python finding.py
