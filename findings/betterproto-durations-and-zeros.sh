#!/usr/bin/env bash
# Version: PyPI betterproto 1.2.5, protobuf 7.36.2 (Python 3.11). Source: run on 2026-11-30; https://protobuf.dev/reference/protobuf/google.protobuf/#duration
# (seconds and nanos have the same sign) and https://protobuf.dev/programming-guides/encoding/ (-0.0 is no default: its bits are not all zero).
# Guess: a timedelta and a double come back as they were, and a number that an int32 or a uint32 cannot hold is refused, as protobuf refuses it.
# Behaviour: -1.5 s is written as -1 s and +0.5 s and read as -0.5 s, by its JSON, too; 10^6 days and a microsecond lose the microsecond. -0.0 is not written and
# read as 0.0. int32 2^40 is read as 0 and 2^31 as -2^31; uint32 -1 is read back as 2^64 - 1, and as 2^32 - 1 by protobuf. There is no error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install betterproto==1.2.5 protobuf==7.36.2
env/bin/python - <<'PY'
import dataclasses
import datetime
import math

import betterproto
from google.protobuf import wrappers_pb2
from google.protobuf.duration_pb2 import Duration


@dataclasses.dataclass
class Row(betterproto.Message):
    value: int = betterproto.uint32_field(1)
    small: int = betterproto.int32_field(2)
    real: float = betterproto.double_field(4)
    time: datetime.timedelta = betterproto.message_field(8)


def trip(**fields):
    return Row().parse(bytes(Row(**fields)))


times = [datetime.timedelta(seconds=-1.5), datetime.timedelta(days=10 ** 6, microseconds=1)]
got = [trip(time=time).time for time in times]
inner = bytes(Row(time=times[0]))[2:]
parts = Duration.FromString(inner)
print(times, "->", got, "seconds", parts.seconds, "nanos", parts.nanos, Row(time=times[0]).to_json(), trip(time=times[0]).to_json())
assert got == [datetime.timedelta(seconds=-0.5), datetime.timedelta(days=10 ** 6)]
assert (parts.seconds, parts.nanos) == (-1, 500_000_000)
assert bytes(Row(real=-0.0)) == b"" and wrappers_pb2.DoubleValue(value=-0.0).SerializeToString() != b""
assert math.copysign(1, trip(real=-0.0).real) == 1
numbers = [trip(small=2 ** 40).small, trip(small=2 ** 31).small, trip(value=-1).value]
other = wrappers_pb2.UInt32Value.FromString(bytes(Row(value=-1))).value
print(numbers, other)
assert numbers == [0, -2 ** 31, 2 ** 64 - 1] and other == 2 ** 32 - 1
PY
