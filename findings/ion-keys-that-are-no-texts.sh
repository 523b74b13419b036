#!/usr/bin/env bash
# Version: PyPI amazon.ion 0.15.0 (Python 3.11). Source: run on 2026-11-30; https://amazon-ion.github.io/ion-docs/docs/spec.html (field names are symbols) and
# https://amazon-ion.github.io/ion-docs/docs/symbols.html ($0 is the symbol of unknown text).
# Guess: a dict with a key that is no text is refused, as a date or a numpy number is, or the key becomes a text, as in JSON.
# Behaviour: as the first key it is written as $0, without an error: {7: "a"}, {True: "a"} and {b"k": "a"} are all {$0:"a"}, and read as {None: "a"}. As the second
# key it is refused, "IERR_INVALID_SYMBOL": {3: 2, "x": 1} is written, {"x": 1, 3: 2} is not. A time in an offset of 1:01:01 loses the second of the
# offset, and so is a second later.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install amazon.ion==0.15.0
env/bin/python - <<'PY'
import datetime

from amazon.ion import simpleion as ion
from amazon.ion.exceptions import IonException

for key in 7, True, 2.5, b"k", None:
    text, back = ion.dumps({key: "a"}, binary=False), list(ion.loads(ion.dumps({key: "a"})).items())
    print({key: "a"}, text, back)
    assert text == '$ion_1_0 {$0:"a"}' and back == [(None, "a")]
assert list(ion.loads(ion.dumps({3: 2, "x": 1})).items()) == [(None, 2), ("x", 1)]
refused = []
for value in {"x": 1, 3: 2}, {1: "a", 2: "b"}, {"d": datetime.date(2020, 1, 1)}:
    try:
        ion.dumps(value)
    except (IonException, TypeError) as error:
        refused.append(str(error).strip())
print(refused)
assert len(refused) == 3 and refused[0] == refused[1] == "IERR_INVALID_SYMBOL"
time = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(seconds=3661)))
moved = ion.loads(ion.dumps(time)) - time
print(time.isoformat(), "moved by", moved)
assert moved == datetime.timedelta(seconds=1)
PY
