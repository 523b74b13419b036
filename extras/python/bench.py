"""Measures contains_many beside other packages for Bloom filters.

    pip install pyarrow numpy rbloom pybloomfiltermmap3 fastbloom-rs abloom simplebloom
    taskset -c 0 python extras/python/bench.py [--ids 10000000] [--held 500000] [--rounds 5]

The same ids, of the form tt0123456, are looked up in filters that hold a part of them, on one core.
Rounds are interleaved, and the medians are printed, in million ids per second. A package is asked
in the fastest way that it has: in bulk if it can, else in a list comprehension over str or bytes.
"""

import argparse
import statistics
import time

import numpy
import pyarrow

import glint


def glint_rows(options, ids):
    """Pairs of name and function that looks up all ids; and the filter."""
    arrow, fixed = pyarrow.array(ids), numpy.array(ids, "S")
    views = arrow.cast(pyarrow.string_view())
    for layout in ("split-block", "block512", "classic"):
        bloom = glint.Bloom(options.held, options.p, layout=layout)
        bloom.add_many(ids[: options.held])
        yield f"glint {layout}, Arrow", len(ids), lambda f=bloom: f.contains_many(arrow)
        if layout == "split-block":
            yield f"glint {layout}, views", len(ids), lambda f=bloom: f.contains_many(views)
            yield f"glint {layout}, NumPy S", len(ids), lambda f=bloom: f.contains_many(fixed)
            some = ids[: options.few]
            yield f"glint {layout}, list", len(some), lambda f=bloom: f.contains_many(some)
            yield f"glint {layout}, in", len(some), lambda f=bloom: [x in f for x in some]


def rbloom_rows(options, some):
    import rbloom

    bloom = rbloom.Bloom(options.held, options.p)
    bloom.update(some[: options.held])
    yield "rbloom", lambda: [x in bloom for x in some]


def pybloomfilter_rows(options, some):
    import pybloomfilter

    bloom = pybloomfilter.BloomFilter(options.held, options.p)
    bloom.update(some[: options.held])
    yield "pybloomfiltermmap3", lambda: [x in bloom for x in some]


def fastbloom_rows(options, some):
    import fastbloom_rs

    bloom = fastbloom_rs.BloomFilter(options.held, options.p)
    bloom.add_str_batch(some[: options.held])
    yield "fastbloom-rs, batch", lambda: bloom.contains_str_batch(some)


def abloom_rows(options, some):
    import abloom

    bloom = abloom.BloomFilter(options.held, options.p)
    bloom.update(some[: options.held])
    yield "abloom", lambda: [x in bloom for x in some]


def simplebloom_rows(options, some):
    import simplebloom

    bloom = simplebloom.BloomFilter(options.held, options.p)
    for value in some[: options.held]:
        bloom += value
    yield "simplebloom", lambda: [x in bloom for x in some]


PEERS = [rbloom_rows, pybloomfilter_rows, fastbloom_rows, abloom_rows, simplebloom_rows]


def measured(rows, rounds):
    """Rates of each row, in ids per second; one look-up before the first round is not counted."""
    rates = {name: [] for name, _, _ in rows}
    for number in range(rounds + 1):
        for name, count, look_up in rows:
            begin = time.perf_counter()
            look_up()
            if number > 0:
                rates[name].append(count / (time.perf_counter() - begin))
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ids", type=int, default=10_000_000, help="ids in arrays")
    parser.add_argument("--few", type=int, default=1_000_000, help="ids in lists")
    parser.add_argument("--held", type=int, default=500_000, help="ids in a filter")
    parser.add_argument("--p", type=float, default=0.01)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ids = [f"tt{i:07d}" for i in range(options.ids)]
    rows = list(glint_rows(options, ids))
    for peer in PEERS:
        try:
            found = list(peer(options, ids[: options.few]))
        except ImportError as error:
            print(f"not installed: {error.name}")
            continue
        rows += [(name, options.few, look_up) for name, look_up in found]
    rates = {name: statistics.median(all_) for name, all_ in measured(rows, options.rounds).items()}
    for name, rate in rates.items():
        print(f"{name:32} {rate / 1e6:8.1f} M ids/s")
    peers = {name: rate for name, rate in rates.items() if not name.startswith("glint")}
    if peers:
        best = max(peers, key=peers.__getitem__)
        ours = rates["glint split-block, Arrow"]
        print(f"glint split-block, Arrow: {ours / peers[best]:.1f} times {best}")


if __name__ == "__main__":
    main()
