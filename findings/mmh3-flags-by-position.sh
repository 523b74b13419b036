#!/usr/bin/env bash
# Version: PyPI mmh3 5.3.1 (Python 3.11). Source: run on 2026-11-30; https://mmh3.readthedocs.io/en/v5.3.1/ (hash64(key, seed=0, x64arch=True, signed=True), and
# hash128 with signed=False).
# Guess: arguments mean the same by position and by name, as all four have names and places in the signature.
# Behaviour: with four arguments hash64 and hash128 read the third twice, as x64arch and as signed, and drop the fourth. hash64(key, seed, True, False) gives numbers with a
# sign, about half of them negative, and (key, seed, False, True) none. By name, with three arguments, or where both flags are the same, all is right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install mmh3==5.3.1
cat >finding.py <<'END'
import itertools
import mmh3

keys = [b"%d" % number for number in range(100)]
for name in ("hash64", "hash128"):
    function = getattr(mmh3, name)
    for x64arch, signed in itertools.product((True, False), repeat=2):
        by_name = [function(key, 5, x64arch=x64arch, signed=signed) for key in keys]
        as_read = [function(key, 5, x64arch=x64arch, signed=x64arch) for key in keys]
        by_place = [function(key, 5, x64arch, signed) for key in keys]
        equal = sum(one == other for one, other in zip(by_name, by_place))
        print(f"{name}(key, 5, {x64arch}, {signed}) equals the call by name for {equal} of 100 keys")
        assert by_place == as_read and (equal == 100) == (x64arch == signed)
    assert all(function(key, 5, x64arch) == function(key, 5, x64arch=x64arch) for key in keys for x64arch in (True, False))
assert all(mmh3.hash(key, 5, False) == mmh3.hash(key, 5, signed=False) for key in keys)
END
env/bin/python finding.py
