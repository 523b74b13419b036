#!/usr/bin/env bash
# Version: PyPI obstore 0.12.1 (the Rust crate object_store; Python 3.11). Source: run on 2026-12-01; https://developmentseed.org/obstore/latest/api/rename/ ("move an object from one path to another in the same object store").
# Guess: renaming an object to its own path leaves it as it is, in memory as in files; what one store does with a path that is not there the other does, too.
# Behaviour: in MemoryStore the object is gone, without an error; in LocalStore it is kept. delete() of what is not there is an error in LocalStore alone. A range that is cut at the end is given short, and one that starts at the end is an
# error, as is any of no bytes, even of an object of none. A name with // cannot be put, and "z/" is put as "z".
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install obstore==0.12.1
mkdir files
env/bin/python - <<'PY'
from obstore.store import LocalStore, MemoryStore


def run(function, *arguments, **options):
    try:
        function(*arguments, **options)
        return "done"
    except Exception as error:
        return type(error).__name__


def listed(store):
    return sorted(meta["path"] for chunk in store.list() for meta in chunk)


got = {}
for name, store in (("memory", MemoryStore()), ("local", LocalStore("files"))):
    store.put("a", b"hello")
    renamed, left = run(store.rename, "a", "a"), listed(store)
    store.put("r", b"hello")
    store.put("empty", b"")
    cut = bytes(store.get_range("r", start=3, end=100))
    ranges = [run(store.get_range, "r", start=5, end=6), run(store.get_range, "r", start=2, end=2), run(store.get_range, "empty", start=0, end=0)]
    got[name] = [renamed, left, run(store.delete, "nope"), cut, ranges, run(store.put, "c//d", b""), run(store.put, "z/", b""), "z" in listed(store)]
    print(name, got[name])
rest = [b"lo", ["GenericError", "ValueError", "ValueError"]]
assert got["memory"][:3] == ["done", [], "done"] and got["local"][:3] == ["done", ["a"], "FileNotFoundError"]
assert all(row[3:5] == rest and row[5] != "done" and row[6:] == ["done", True] for row in got.values())
PY
