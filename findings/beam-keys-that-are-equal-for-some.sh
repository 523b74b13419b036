#!/usr/bin/env bash
# Version: PyPI apache-beam 2.77.0 (Python 3.11). Source: run on 2026-11-30; https://beam.apache.org/documentation/programming-guide/#groupbykey (keys are compared by
# their encoded form, which has to be deterministic).
# Guess: 1, 1.0 and True are three keys for every transform, as their encoded bytes differ, or one, as in Python's dicts; so are 0.0 and -0.0.
# Behaviour: for GroupByKey they are three, and 0.0 and -0.0 two. Transforms that combine do so by a dict before the shuffle: Count.PerElement counts (1, 3), Distinct
# has one of the three and one of the two zeros, and Mean.PerKey of 10, 20 and 60 is 30, while the means of GroupByKey's groups are 10, 20 and 60. So a
# rewrite of one by the other changes the result.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install apache-beam==2.77.0
env/bin/python - <<'PY'
import logging

import apache_beam as beam

logging.disable(logging.CRITICAL)


def run(elements, transform):
    with beam.Pipeline("DirectRunner") as pipeline:
        pipeline | beam.Create(elements) | transform | beam.Map(repr) | beam.io.WriteToText("out", shard_name_template="")
    got = sorted(open("out").read().split())
    print(got)
    return got


ones, zeros = [1, 1.0, True], [0.0, -0.0]
assert len(run([(key, "x") for key in ones + zeros], beam.GroupByKey() | beam.Keys())) == 5
assert run(ones, beam.combiners.Count.PerElement() | beam.Map(lambda pair: pair[1])) == ["3"]
assert run(ones, beam.Distinct()) == ["1"] and len(run(zeros, beam.Distinct())) == 1
pairs = [(1, 10), (1.0, 20), (True, 60)]
assert run(pairs, beam.combiners.Mean.PerKey() | beam.Values()) == ["30.0"]
assert run(pairs, beam.GroupByKey() | beam.MapTuple(lambda key, rows: sum(list(rows)))) == ["10", "20", "60"]
PY
