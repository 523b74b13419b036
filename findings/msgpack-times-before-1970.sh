#!/usr/bin/env bash
# Version: PyPI msgpack 1.1.2 (Python 3.11). Source: run on 2026-11-30; msgpack's specification: a timestamp's nanoseconds are added to
# its seconds, also to negative ones.
# Guess: packb(time, datetime=True) gives the same bytes with and without its C extension (PyPy, MSGPACK_PUREPYTHON).
# Behaviour: before 1970 a time with a fraction of a second is a second later without the extension, and in
# Timestamp.from_datetime() always; from_unix() and the extension are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" -q install msgpack==1.1.2
cat >"$dir/times.py" <<'PY'
import datetime
import os
import msgpack

utc = datetime.timezone.utc
pure = "MSGPACK_PUREPYTHON" in os.environ
for time, late in ((datetime.datetime(1969, 12, 31, 23, 59, 58, 250000, utc), 1),
                   (datetime.datetime(1969, 12, 31, 23, 59, 58, 0, utc), 0),
                   (datetime.datetime(1970, 1, 1, 0, 0, 1, 250000, utc), 0)):
    back = msgpack.unpackb(msgpack.packb(time, datetime=True), timestamp=3)
    print(f"{'without' if pure else 'with'} the extension: {time} -> {back}")
    assert back - time == datetime.timedelta(seconds=late if pure else 0)
    assert msgpack.Timestamp.from_datetime(time).to_datetime() - time == datetime.timedelta(seconds=late)
assert msgpack.Timestamp.from_unix(-1.75) == msgpack.Timestamp(-2, 250000000)
PY
"$dir/venv/bin/python" "$dir/times.py"
MSGPACK_PUREPYTHON=1 "$dir/venv/bin/python" "$dir/times.py"
