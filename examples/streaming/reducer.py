#!/usr/bin/env python3
"""Word count, the reducer and combiner: prints WORD TAB SUM. All lines of a word are adjacent."""
import itertools
import sys

pairs = (line.rstrip(b"\n").split(b"\t", 1) for line in sys.stdin.buffer)
for word, group in itertools.groupby(pairs, key=lambda pair: pair[0]):
    sys.stdout.buffer.write(word + b"\t%d\n" % sum(int(count) for _, count in group))
