#!/usr/bin/env bash
# Version: pyxorfilter 1.1.2, pyfusefilter 1.3.0, xxhash 4.1.0 and 3.8.2 (Python 3.11). Source: run on 2026-11-30.
# Guess: what pip installs for these packages builds filters of integers and texts, as their README shows; an id that does not
# fit is an error.
# Behaviour: they name no version of xxhash, and pip installs 4.1.0, which takes no text; both hash every id as a text, so that
# no id at all, an integer neither, can be added: TypeError. With xxhash 3.8.2 all is well, but populate() of more ids than
# the size of the constructor returns False, without an error, and the filter forgets nearly all of them.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >finding.py <<'END'
import pyfusefilter
import pyxorfilter
import xxhash

got = {}
for name, build in {"pyxorfilter": lambda ids: pyxorfilter.Fuse8(len(ids)).populate(ids),
                    "pyfusefilter": lambda ids: all(pyfusefilter.Fuse8(ids).contains(id) for id in ids)}.items():
    for ids in ([1, 2, 3], ["a", "b"]):
        try:
            got[name, type(ids[0]).__name__] = build(ids)
        except TypeError as error:
            got[name, type(ids[0]).__name__] = str(error)
print("xxhash", xxhash.VERSION, got)
if xxhash.VERSION.startswith("4."):
    assert set(got.values()) == {"Strings must be encoded before hashing"}
else:
    small = pyxorfilter.Fuse8(10)
    populated, found = small.populate(list(range(1000))), sum(small.contains(id) for id in range(1000))
    print("1,000 ids in a filter for 10:", populated, "found:", found)
    assert set(got.values()) == {True} and populated is False and found < 50
END
python3 -m venv env
env/bin/pip -q install pyxorfilter==1.1.2 pyfusefilter==1.3.0 xxhash==4.1.0
env/bin/python finding.py
env/bin/pip -q install xxhash==3.8.2
env/bin/python finding.py
