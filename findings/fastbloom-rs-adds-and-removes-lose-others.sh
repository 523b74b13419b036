#!/usr/bin/env bash
# Version: PyPI fastbloom-rs 0.5.10 (Python 3.11). Source: run on 2026-11-30; https://github.com/yankun1992/fastbloom (CountingBloomFilter: counters of 4 bits, estimate_count, repeated inserts by default).
# Guess: a counter that is full stays full, as in the paper on summary caches (Fan and others, 2000), so that ids may stay too long but none is lost.
# Behaviour: a full counter goes down with every removal: an id that was added 16 times is gone after 15 removals, and one that was added and removed 20 times, in balance, takes other
# ids with it, about 4 of 1,000 in a filter for 1,000. At 15 adds all is right. estimate_count says 15 for 300 adds.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install fastbloom-rs==0.5.10
cat >finding.py <<'END'
import fastbloom_rs


def after(adds, removals):
    """Whether an id is found after these, and how many of 1,000 others are not."""
    filter = fastbloom_rs.FilterBuilder(1000, 0.01).build_counting_bloom_filter()
    for number in range(1000):
        filter.add(f"k{number}")
    for _ in range(adds):
        filter.add("hot")
    for _ in range(removals):
        filter.remove("hot")
    return filter.contains("hot"), sum(not filter.contains(f"k{number}") for number in range(1000))


alone = fastbloom_rs.FilterBuilder(1000, 0.01).build_counting_bloom_filter()
for _ in range(16):
    alone.add("id")
for _ in range(15):
    alone.remove("id")
print("added 16 times, removed 15 times, found:", alone.contains("id"))
assert not alone.contains("id")
few, many = after(10, 10), after(20, 20)
print("10 adds and removals: found, others lost", few, "20 of each:", many)
assert few[1] == 0 and many[1] >= 2 and not many[0]
END
env/bin/python finding.py
