#!/usr/bin/env bash
# Version: PyPI datasets 5.0.1, pyarrow 26.0.1 (Python 3.11). Source: run on 2026-11-30; https://huggingface.co/docs/datasets/process#map (map adds the
# columns that the function returns).
# Guess: a key that map's function returns for some rows only is null for the others, as in from_list; a column that is replaced has the new type.
# Behaviour: the first row decides: if it lacks the key, the whole column is dropped without an error; if it has it, a later row without it is a KeyError.
# Replaced integers that become texts are integers again: str(1) is 1 and "007" is 7; an integer in a column of booleans is true. But texts replaced by
# integers are integers, and integers by fractions doubles.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install datasets==5.0.1 pyarrow==26.0.1
cat >finding.py <<'END'
import datasets
from datasets import Dataset

datasets.disable_progress_bars()


def mapped(values, function):
    try:
        return Dataset.from_dict({"a": values}).map(function)[:]
    except KeyError as error:
        return str(error)


late = mapped([1, 2, 3], lambda row: {"b": row["a"]} if row["a"] > 1 else {})
early = mapped([1, 2, 3], lambda row: {"b": row["a"]} if row["a"] < 2 else {})
texts = mapped([7, 8], lambda row: {"a": "%03d" % row["a"]})["a"]
flags, numbers = mapped([True, False], lambda row: {"a": 5})["a"], mapped(["7", "8"], lambda row: {"a": int(row["a"])})["a"]
halves = mapped([7, 8], lambda row: {"a": row["a"] / 2})["a"]
print(late, early, texts, flags, numbers, halves, Dataset.from_list([{"a": 1}, {"a": 2, "b": 2}])[:])
assert late == {"a": [1, 2, 3]} and early == "'b'" and texts == [7, 8] and flags == [True, True]
assert numbers == [7, 8] and halves == [3.5, 4.0]
END
HF_HUB_OFFLINE=1 HF_HOME="$dir" env/bin/python -W ignore finding.py
