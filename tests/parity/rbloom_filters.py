"""Reads, builds and queries filters with rbloom, for tests/parity/formats: the arguments of OtherFilters.java."""
import functools
import os
import sys

import mmh3
from rbloom import Bloom

HASH = functools.partial(mmh3.hash128, signed=True)


def lines(path):
    with open(path, "rb") as file:
        return file.read().split(b"\n")[:-1]


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def main(_format, ids, queries, out, _p, m, k, *files):
    """rbloom rounds k down, so a filter is created with M bits and K hashes: an empty file of this size is loaded."""
    made = Bloom.load_bytes(int(k).to_bytes(8, "little") + bytes(int(m) // 8), HASH)
    made.update(lines(ids))
    made.save(os.path.join(out, "made.rbloom"))
    queries = lines(queries)
    for path in files:
        name = os.path.join(out, os.path.basename(path))
        bloom = Bloom.load(path, HASH)
        write(name + ".admitted", b"".join(id + b"\n" for id in queries if id in bloom))
        write(name + ".again", bloom.save_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
