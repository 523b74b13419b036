"""Queries a filter that glint built with rbloom, Bloom filters for Python.

    pip install rbloom mmh3
    glint generate ratings --rows 1000000 ratings.tsv
    glint submit count-keys --header ratings.tsv counts
    glint submit bloom-build --header --format rbloom 0.01 ratings.tsv counts filters
    glint filter export --format rbloom --output files filters
    python query_filter.py files/7.rbloom tt0000001 tt0000002

rbloom leaves the hash to its caller: glint's is MurmurHash3_x64_128 as a signed number, of the id's bytes (mmh3 encodes
a str as UTF-8). Filters of other formats are queried with glint's own package: glint.load_filters (extras/python).
"""
import functools
import sys

import mmh3
from rbloom import Bloom

HASH = functools.partial(mmh3.hash128, signed=True)


def main(path, *ids):
    bloom = Bloom.load(path, HASH)
    for id in ids:
        print(id, "maybe" if id in bloom else "no", sep="\t")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: query_filter.py FILE ID...")
    main(*sys.argv[1:])
