#!/usr/bin/env bash
# Version: pybloom-live 3.1.0 and 4.0.0 (Python 3.11). Source: run on 2026-11-28.
# Guess: 4.0.0 reads files of 3.1.0, or refuses them.
# Behaviour: it reads them without an error and finds next to none of the ids: the hash is another one, and the file
# has no version.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
for version in 3.1.0 4.0.0; do
    python3 -m venv "venv-$version"
    "venv-$version/bin/pip" -q install "pybloom-live==$version"
done
venv-3.1.0/bin/python - <<'PY'
from pybloom_live import BloomFilter

filter_ = BloomFilter(1000, 0.01)
for i in range(1000):
    filter_.add(f"tt{i:07}")
filter_.tofile(open("filter", "wb"))
PY
venv-4.0.0/bin/python - <<'PY'
from pybloom_live import BloomFilter

filter_ = BloomFilter.fromfile(open("filter", "rb"))
found = sum(f"tt{i:07}" in filter_ for i in range(1000))
print(f"a filter of 1,000 ids by pybloom-live 3.1.0: 4.0.0 reads it and finds {found}")
assert found < 30
PY
