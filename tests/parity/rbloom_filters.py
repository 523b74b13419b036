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


def sizes(numbers):
    """m and k of the class."""
    for n, p in zip(numbers[::2], numbers[1::2]):
        data = Bloom(int(n), float(p), HASH).save_bytes()
        print((len(data) - 8) * 8, int.from_bytes(data[:8], "little"))


def exchange(ids, queries, out, p, _m, _k, *files):
    ids = lines(ids)
    made = Bloom(len(ids), float(p), HASH)
    made.update(ids)
    made.save(os.path.join(out, "made.rbloom"))
    queries = lines(queries)
    for path in files:
        name = os.path.join(out, os.path.basename(path))
        bloom = Bloom.load(path, HASH)
        write(name + ".admitted", b"".join(id + b"\n" for id in queries if id in bloom))
        write(name + ".again", bloom.save_bytes())


def main(_format, ids, *rest):
    if ids == "sizes":
        sizes(rest)
    else:
        exchange(ids, *rest)


if __name__ == "__main__":
    main(*sys.argv[1:])
