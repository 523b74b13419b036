#!/usr/bin/env bash
# Version: PyPI thriftpy2 0.7.1 (Python 3.11). Source: run on 2026-12-01; https://github.com/Thriftpy/thriftpy2 (binary, compact and JSON protocols of one IDL), https://thrift.apache.org/docs/types (a set has no duplicates).
# Guess: one struct is written and read back alike by the three protocols, and what one refuses the others do, too; a set has each element once.
# Behaviour: JSON takes 128 for an i8 and 2^63 for an i64 and gives them back, where the others are errors; b"ab" in a string is "ab" by two and the text "b'ab'" by JSON, "5" is the i32 5 in JSON alone. 1.9 for an i32 is 1 by binary and JSON and an error by
# compact, and a key 1.5 becomes 1. A set of ["a", "a"] has both, by all. Bytes that are no UTF-8 in a string come back as bytes by two.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install thriftpy2==0.7.1
cat >a.thrift <<'IDL'
struct S { 1: i8 small, 2: i32 number, 3: i64 large, 4: string text, 5: map<i32, string> names, 6: set<string> words }
IDL
env/bin/python - <<'PY'
import thriftpy2
from thriftpy2.protocol import TBinaryProtocolFactory, TCompactProtocolFactory
from thriftpy2.protocol.json import TJSONProtocolFactory
from thriftpy2.utils import deserialize, serialize

module = thriftpy2.load("a.thrift", module_name="a_thrift")
factories = TBinaryProtocolFactory(), TCompactProtocolFactory(), TJSONProtocolFactory()


def through(factory, name, value):
    try:
        return getattr(deserialize(module.S(), serialize(module.S(**{name: value}), factory), factory), name)
    except Exception:
        return "error"


for name, value, *want in (
        ("small", 128, "error", "error", 128), ("large", 2 ** 63, "error", "error", 2 ** 63), ("number", "5", "error", "error", 5),
        ("number", 1.9, 1, "error", 1), ("names", {1.5: "a"}, {1: "a"}, "error", {1: "a"}), ("text", b"ab", "ab", "ab", "b'ab'"),
        ("text", b"\xff", b"\xff", b"\xff", "b'\\xff'"), ("words", ["a", "a"], ["a", "a"], ["a", "a"], ["a", "a"])):
    got = [through(factory, name, value) for factory in factories]
    print(name, repr(value), got)
    assert got == want
PY
