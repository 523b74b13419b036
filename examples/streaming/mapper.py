#!/usr/bin/env python3
"""Word count, the mapper: prints WORD TAB 1 for each word."""
import sys

for line in sys.stdin.buffer:
    for word in line.split():
        sys.stdout.buffer.write(word + b"\t1\n")
print("reporter:counter:words,mappers,1", file=sys.stderr)
