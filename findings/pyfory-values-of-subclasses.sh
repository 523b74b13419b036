#!/usr/bin/env bash
# Version: PyPI pyfory 1.7.7 (Python 3.11). Source: run on 2026-11-30; https://fory.apache.org/docs/guide/python_guide/ (Python native mode: a replacement of pickle
# and cloudpickle, any object).
# Guess: what it takes comes back as it was, or is refused, as an integer of more than 64 bits is.
# Behaviour: of subclasses the attributes are written, not the value: one of str comes back as the empty text, of float as 0.0, of tuple as (), each of the
# right class; those of list and dict are right. A complex number is 0j. A datetime without a zone is taken for local time and comes back as UTC with a zone, in
# Rome two hours earlier; one with an offset loses it. There is no error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyfory==1.7.7
env/bin/python - <<'PY'
import datetime
import os
import time

import pyfory

os.environ["TZ"] = "Europe/Rome"
time.tzset()
Text, Number, Pair, Rows = (type(name, (base,), {}) for name, base in (("Text", str), ("Number", float), ("Pair", tuple), ("Rows", list)))
globals().update(Text=Text, Number=Number, Pair=Pair, Rows=Rows)
fory = pyfory.Fory(xlang=False, ref=True, strict=False)


def trip(value):
    back = fory.deserialize(fory.serialize(value))
    print(type(value).__name__, repr(value), "->", type(back).__name__, repr(back))
    return back


assert trip(Text("id-7")) == "" and trip(Number(1.5)) == 0.0 and trip(Pair((1, 2))) == ()
assert trip(Rows([1, 2])) == [1, 2] and trip(1 + 2j) == 0 and trip([1 + 2j, 3j]) == [0, 0]
assert trip(datetime.datetime(2020, 7, 1)) == datetime.datetime(2020, 6, 30, 22, tzinfo=datetime.timezone.utc)
east = datetime.timezone(datetime.timedelta(hours=5))
assert trip(datetime.datetime(2020, 1, 1, tzinfo=east)).utcoffset() == datetime.timedelta(0)
try:
    trip(2 ** 63)
    raise SystemExit("taken")
except OverflowError as error:
    print(error)
PY
