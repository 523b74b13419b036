#!/usr/bin/env bash
# Version: PyPI pyspark 4.3.0 (Python 3.11). Source: run on 2026-11-30; pyspark/statcounter.py, whose docstring shows
# the values, but does not say which they are.
# Guess: stats().asDict() has the variance of stats().variance(), and asDict(sample=True) that of a sample.
# Behaviour: it is the other way round: asDict() divides by n - 1, asDict(sample=True) by n.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip -q install pyspark==4.3.0
venv/bin/python - <<'PY'
from pyspark.statcounter import StatCounter  # RDD.stats() returns one

stats = StatCounter([1.0, 2.0, 3.0, 4.0])
print("variance", stats.variance(), "asDict", stats.asDict()["variance"], "sample=True",
      stats.asDict(sample=True)["variance"])
assert stats.asDict()["variance"] == stats.sampleVariance() == 5 / 3
assert stats.asDict(sample=True)["variance"] == stats.variance() == 1.25
assert stats.asDict(sample=True)["stdev"] == stats.stdev()
PY
