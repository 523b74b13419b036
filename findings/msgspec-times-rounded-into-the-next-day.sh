#!/usr/bin/env bash
# Version: PyPI msgspec 0.23.0, pydantic 2.14.4 (Python 3.11). Source: run on 2026-11-30; https://jcristharif.com/msgspec/supported-types.html (datetime:
# RFC 3339).
# Guess: digits beyond microseconds are cut off, as by datetime.fromisoformat and pydantic, so that the day of a time stays.
# Behaviour: msgspec rounds to the nearest microsecond: 2019-12-31T23:59:59.9999995Z is 2020-01-01T00:00:00, in another partition by year, month and day
# than for the other two; the time of day 23:59:59.9999999 becomes 00:00:00, the first instant of the day, without a carry. 9999-12-31T23:59:59.9999999Z
# is an error for msgspec alone.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install msgspec==0.23.0 pydantic==2.14.4
env/bin/python - <<'PY'
import datetime

import msgspec
import pydantic

late, clock, last = "2019-12-31T23:59:59.9999995Z", "23:59:59.9999999", "9999-12-31T23:59:59.9999999Z"


def read(text, kind):
    """The time that msgspec, pydantic and Python read."""
    answers = []
    for reader in (lambda: msgspec.convert(text, kind), lambda: pydantic.TypeAdapter(kind).validate_python(text),
                   lambda: kind.fromisoformat(text)):
        try:
            answers.append(reader().replace(tzinfo=None).isoformat())
        except msgspec.ValidationError:
            answers.append("error")
    print(text, answers)
    return answers


assert read(late, datetime.datetime) == ["2020-01-01T00:00:00"] + ["2019-12-31T23:59:59.999999"] * 2
assert read(clock, datetime.time) == ["00:00:00"] + ["23:59:59.999999"] * 2
assert read(last, datetime.datetime) == ["error"] + ["9999-12-31T23:59:59.999999"] * 2
PY
