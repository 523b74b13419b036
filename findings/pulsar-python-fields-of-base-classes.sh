#!/usr/bin/env bash
# Version: PyPI pulsar-client 3.13.0 with fastavro 1.13.1 (Python 3.11). Source: run on 2026-11-30; https://pulsar.apache.org/docs/client-libraries-python-use/ (a schema is a class derived from Record).
# Guess: a class derived from such a class has the fields of both; an enum is its name in JSON, as it is in Avro and in Java's JSON.
# Behaviour: the fields of the base are not in the schema; the constructor takes them without an error and drops them, in Avro and in JSON, while setting one afterwards is an error. An
# enum goes into JSON as its number, so that a reader whose enum has other numbers gets another member; the declared schema says a name.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pulsar-client==3.13.0 fastavro==1.13.1
cat >finding.py <<'END'
import enum
import json
from pulsar.schema import AvroSchema, CustomEnum, Integer, JsonSchema, Record


class Base(Record):
    a = Integer()


class Derived(Base):
    b = Integer()


class Color(enum.Enum):
    red = 1
    green = 2


class OtherColor(enum.Enum):
    green = 1
    red = 2


class Row(Record):
    color = CustomEnum(Color)


class OtherRow(Record):
    color = CustomEnum(OtherColor)


row = Derived(a=1, b=2)
text, fields = json.loads(JsonSchema(Derived).encode(row)), [field["name"] for field in Derived.schema()["fields"]]
print("Derived(a=1, b=2) is", text, "in JSON,", AvroSchema(Derived).encode(row), "in Avro; fields of its schema:", fields)
assert text == {"b": 2} and fields == ["b"] and AvroSchema(Derived).encode(row) == b"\x02\x04"
try:
    row.a = 1
    raise SystemExit("changed")
except AttributeError as error:
    print(error)
message = JsonSchema(Row).encode(Row(color=Color.green))
print("green is", json.loads(message), "and is read as", JsonSchema(OtherRow).decode(message).color)
assert json.loads(message) == {"color": 2} and JsonSchema(OtherRow).decode(message).color == OtherColor.red
END
env/bin/python finding.py
