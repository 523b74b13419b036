#!/usr/bin/env bash
# Version: PyPI tantivy 0.27.0 (Python 3.11). Source: run on 2026-11-30; https://docs.rs/tantivy/latest/tantivy/schema/struct.DateOptions.html
# Guess: f:0 finds 0.0 and -0.0 and a range above 0 has no NaN; a date, which is stored with its microseconds, is found
# by them; a document takes what from_dict takes.
# Behaviour: f:0 does not find -0.0, which f:[* TO 0} does, and {0 TO *} finds NaN. A date with microseconds is stored whole and found by every
# fraction of its second: .999999 finds .123456. A document made with keywords is refused for an unsigned field, from_dict with the schema takes it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install tantivy==0.27.0
cat >finding.py <<'END'
import datetime
import tantivy

builder = tantivy.SchemaBuilder()
builder.add_float_field("f", stored=True, indexed=True)
builder.add_date_field("d", stored=True, indexed=True)
builder.add_unsigned_field("u", stored=True, indexed=True)
schema = builder.build()
index = tantivy.Index(schema)
writer = index.writer(15_000_000, 1)
day = datetime.datetime(2020, 1, 1)
rows = [(0.0, day), (-0.0, day.replace(microsecond=123456)), (float("nan"), day.replace(microsecond=999999)), (1.0, day.replace(second=1))]
for number, date in rows:
    writer.add_document(tantivy.Document.from_dict({"f": number, "d": date, "u": 1}, schema))
writer.commit()
writer.wait_merging_threads()
index.reload()
searcher = index.searcher()

def find(query):
    return sorted(address.doc for _, address in searcher.search(index.parse_query(query), 10).hits)

got = {query: find(query) for query in ("f:0", "f:[* TO 0}", "f:{0 TO *}", 'd:"2020-01-01T00:00:00.999999Z"', "u:1")}
stored = searcher.doc(tantivy.DocAddress(0, 1)).to_dict()["d"][0]
print(got, stored)
assert list(got.values()) == [[0], [1], [2, 3], [0, 1, 2], [0, 1, 2, 3]] and stored.microsecond == 123456
another = index.writer(15_000_000, 1)
try:
    another.add_document(tantivy.Document(u=1))
    another.commit()
except ValueError as error:
    print(error)
else:
    raise AssertionError
END
env/bin/python finding.py
