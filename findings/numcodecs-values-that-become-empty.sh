#!/usr/bin/env bash
# Version: PyPI numcodecs 0.16.6, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://numcodecs.readthedocs.io/en/stable/vlen.html and
# https://numcodecs.readthedocs.io/en/stable/categorize.html.
# Guess: in a column of objects VLenUTF8 takes texts, perhaps None, and refuses all numbers; Categorize refuses a value that is none of its labels.
# Behaviour: VLenUTF8 and VLenBytes refuse 5, but 0, 0.0 and False are written as the empty text, as None is: a column of counts that was not cast
# loses its zeros, or fails if it has other numbers. Categorize writes every unknown value as the empty text, without an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install numcodecs==0.16.6
env/bin/pip -q install numpy==2.4.6
env/bin/python - <<'PY'
import numpy as np
from numcodecs import Categorize, VLenBytes, VLenUTF8


def written(codec, *values):
    try:
        return list(codec.decode(codec.encode(np.array(values, dtype=object))))
    except TypeError as error:
        return str(error)


zeros = written(VLenUTF8(), "a", 0, 0.0, False, None), written(VLenBytes(), b"a", 0, None)
five = written(VLenUTF8(), "a", 5)
labels = written(Categorize(["a", "b"], dtype=object), "a", "c", 5, None, "b")
print(zeros, five, labels)
assert zeros == (["a", "", "", "", ""], [b"a", b"", b""]) and five == "Expected str, got int"
assert labels == ["a", "", "", "", "b"]
PY
