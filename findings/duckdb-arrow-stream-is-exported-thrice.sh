#!/usr/bin/env bash
# Version: duckdb 2.0.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-29.
# Guess: `from object` calls the object's __arrow_c_stream__ once, in the thread of the caller.
# Behaviour: it is called three times for one query whose result is fetched, the last time in a thread of DuckDB. If the object
# has __arrow_c_schema__, too, that is called in the caller's thread instead, and the stream is taken once, in the other thread. So
# an object that computes its stream should have both and keep the result in between.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install duckdb==2.0.1 pyarrow==26.0.1
cat >finding.py <<'END'
import threading
import duckdb
import pyarrow

table, calls = pyarrow.table({"x": [1, 2, 3]}), []


class Stream:
    def __arrow_c_stream__(self, requested_schema=None):
        calls.append(("stream", threading.current_thread() is threading.main_thread()))
        return table.__arrow_c_stream__(requested_schema)


class WithSchema(Stream):
    def __arrow_c_schema__(self):
        calls.append(("schema", threading.current_thread() is threading.main_thread()))
        return table.schema.__arrow_c_schema__()


def calls_of(source):
    calls.clear()
    assert duckdb.sql("from source").fetchall() == [(1,), (2,), (3,)]
    print(type(source).__name__, "calls, and whether in the caller's thread:", calls)
    return list(calls)


assert calls_of(Stream()) == [("stream", True), ("stream", True), ("stream", False)]
assert calls_of(WithSchema()) == [("schema", True), ("schema", True), ("stream", False)]
END
env/bin/python finding.py
