#!/usr/bin/env bash
# Version: cloudpickle 3.1.3 (Python 3.11). Source: run on 2026-11-29.
# Guess: functions of a script are pickled by value, whatever decorator of functools they have.
# Behaviour: one with functools.lru_cache or functools.cache is pickled by its name: dumps succeeds, also of a lambda that
# calls it, and loads in another process fails, "Can't get attribute". With functools.singledispatch dumps fails;
# functools.wraps works.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install cloudpickle==3.1.3
venv/bin/python - <<'PY'
import subprocess, sys

SCRIPT = """
import cloudpickle, functools, sys
@functools.lru_cache(None)
def cached(x): return x + 1
@functools.singledispatch
def dispatched(x): return x + 1
@functools.wraps(len)
def wrapped(x): return x + 1
try:
    f = NAME
    sys.stdout.buffer.write(cloudpickle.dumps(lambda x: f(x)))
except TypeError as error:
    sys.exit(str(error))
"""
LOAD = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read())(1))"
seen = {}
for name in ("wrapped", "cached", "dispatched"):
    dump = subprocess.run([sys.executable, "-c", SCRIPT.replace("NAME", name)], capture_output=True)
    load = subprocess.run([sys.executable, "-c", LOAD], input=dump.stdout, capture_output=True)
    error = (dump.stderr or load.stderr).decode().strip().split("\n")[-1]
    seen[name] = dump.returncode, load.stdout.decode().strip(), error
    print(name, "| dumps:", "fails" if dump.returncode else "works", "| loads and calls:", seen[name][1] or error)
assert seen["wrapped"][:2] == (0, "2") and seen["cached"][0] == 0 and "Can't get attribute 'cached'" in seen["cached"][2]
assert seen["dispatched"][0] == 1 and "cannot pickle" in seen["dispatched"][2]
PY
