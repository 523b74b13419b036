#!/usr/bin/env bash
# Version: PyPI datasets 5.0.1, pyarrow 26.0.1, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://huggingface.co/docs/datasets/use_with_numpy
# and https://huggingface.co/docs/datasets/package_reference/main_classes (class_encode_column: values are first cast to strings).
# Guess: with_format("numpy") gives integers with a null as float64, as pandas does; classes made of the integers 0 to 10 have those numbers.
# Behaviour: integers with a null are float32: the ids 16777216 and 16777217 are equal, and are not without the null, where they are int64. Classes are
# in the order of texts: of 0 to 10 the class of 2 is 3, that of 10 is 2, and the column is as integer as before; a null stays a null.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install datasets==5.0.1 pyarrow==26.0.1 numpy==2.4.6
cat >finding.py <<'END'
import datasets
from datasets import Dataset

datasets.disable_progress_bars()
ids = [16777216, 16777217]
whole, holed = (Dataset.from_dict({"id": values}).with_format("numpy")[:]["id"] for values in (ids, ids + [None]))
classes = Dataset.from_dict({"c": list(range(11)) + [None]}).class_encode_column("c")["c"][:]
print(whole, whole.dtype, holed, holed.dtype, classes)
assert whole.dtype == "int64" and whole.tolist() == ids
assert holed.dtype == "float32" and holed[0] == holed[1]
assert classes == [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 2, None]
END
HF_HUB_OFFLINE=1 HF_HOME="$dir" env/bin/python -W ignore finding.py
