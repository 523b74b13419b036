#!/usr/bin/env bash
# Version: PyPI apache-beam 2.77.0 (Python 3.11). Source: run on 2026-11-30; https://beam.apache.org/releases/pydoc/current/apache_beam.utils.timestamp.html (Timestamp: "seconds
# or micros", "can be initialized with a float", microsecond precision).
# Guess: Timestamp(1.001) is 1,001,000 microseconds, and a time is the same behind a shuffle; a window has the bounds that it was given.
# Behaviour: Timestamp(1.001) is 1,000,999, cut from the float below it, and its coder keeps milliseconds: behind a shuffle it is 1.000, a millisecond less than was
# written; -0.000001 is -0.001. Of the times 0.000 to 9.999 188 are so. A window from 0.0001 to 0.0005 is [0, 0), which has no time at all.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install apache-beam==2.77.0
env/bin/python - <<'PY'
from apache_beam import coders
from apache_beam.transforms.window import IntervalWindow
from apache_beam.utils.timestamp import Timestamp


def trip(value, coder):
    return coder.decode(coder.encode(value))


times = [Timestamp(milliseconds / 1000) for milliseconds in range(10_000)]
less = sum(trip(time, coders.TimestampCoder()).micros != milliseconds * 1000 for milliseconds, time in enumerate(times))
one, window = Timestamp(1.001), IntervalWindow(Timestamp(micros=100), Timestamp(micros=500))
print("of 10,000 times", less, "are a millisecond less;", one.micros, trip(one, coders.TimestampCoder()), trip(window, coders.coders.IntervalWindowCoder()))
assert one.micros == 1_000_999 and trip(one, coders.TimestampCoder()).micros == 1_000_000
assert trip(Timestamp(micros=-1), coders.TimestampCoder()).micros == -1000
window = trip(window, coders.coders.IntervalWindowCoder())
assert window.start == window.end == Timestamp(0) and less == 188
PY
