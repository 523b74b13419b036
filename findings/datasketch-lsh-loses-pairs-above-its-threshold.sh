#!/usr/bin/env bash
# Version: PyPI datasketch 2.0.0 (Python 3.11). Source: run on 2026-11-30; https://ekzhu.com/datasketch/lsh.html (finds sets whose Jaccard coefficient is
# above the threshold, with errors of both kinds).
# Guess: with a threshold of 0.9 most sets above it are found, and more of them the closer the threshold is to 1, or with more permutations.
# Behaviour: of pairs with 0.905 less than half is found, of 0.95 about 80 %; of threshold 0.5 it is over half at once, 99.9 % at 0.75. The bands are chosen by the
# area of both errors, and what is above a high threshold has little area: 5 bands of 25 rows. 512 permutations find as few at 0.905; 0.99 is refused with
# 128, "number of bands are too small". With weights=(0.1, 0.9) most of 0.905 are found.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install datasketch==2.0.0
cat >finding.py <<'END'
from datasketch import MinHash, MinHashLSH


def found(same, **options):
    """The coefficient of two sets of 200 with `same` common ids, and the part of 100 such pairs that is found."""
    hits = 0
    for pair in range(100):
        index, one, other = MinHashLSH(**options), MinHash(options["num_perm"]), MinHash(options["num_perm"])
        ids = [b"%d %d" % (pair, number) for number in range(200)]
        one.update_batch(ids)
        other.update_batch(ids[:same] + [b"other %d %d" % (pair, number) for number in range(200 - same)])
        index.insert("one", one)
        hits += "one" in index.query(other)
    return round(same / (400 - same), 3), hits / 100


high = {"threshold": 0.9, "num_perm": 128}
got = [found(190, **high), found(195, **high), found(172, threshold=0.5, num_perm=128), found(190, **high, weights=(0.1, 0.9)),
       found(190, threshold=0.9, num_perm=512)]
refused = ""
try:
    MinHashLSH(threshold=0.99, num_perm=128)
except ValueError as error:
    refused = str(error)
print(got, repr(refused))
assert 0.25 < got[0][1] < 0.5 and 0.7 < got[1][1] < 0.9 and got[2][1] > 0.98 and got[3][1] > 0.75 and got[4][1] < 0.6
assert refused
END
env/bin/python finding.py
