#!/usr/bin/env bash
# Version: PyPI uproot 5.7.7, awkward 2.14.0, numpy 2.4.6 (Python 3.11). Source: run on 2026-11-30; https://uproot.readthedocs.io/en/stable/basic.html (ROOT files;
# arrays(cut=): "cut" drops the entries that do not pass) and its RNTuple, which file["name"] = {...} writes by default.
# Guess: cut= gives the rows that fulfil it, from an RNTuple as from a TTree, or says that it cannot.
# Behaviour: from an RNTuple it is not looked at: x > 0 gives all five rows, by arrays(), uproot.concatenate and uproot.iterate, and so does a cut that is no
# expression at all. From a TTree with the same columns it gives the two rows, and the second is a SyntaxError. So a file that is written again by the same
# program loses its filter, without a word.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install uproot==5.7.7 awkward==2.14.0 numpy==2.4.6
env/bin/python - <<'PY'
import numpy as np
import uproot

x = np.array([-7, -4, -1, 2, 5])
with uproot.recreate("a.root") as file:
    file["default"] = {"x": x}
    tree = file.mktree("tree", {"x": np.int64})
    tree.extend({"x": x})
with uproot.open("a.root") as file:
    default, tree = file["default"], file["tree"]
    rows = default.arrays(cut="x > 0")["x"].tolist()
    wrong = default.arrays(cut="no expression ===")["x"].tolist()
    joined = uproot.concatenate("a.root:default", cut="x > 0")["x"].tolist()
    right = tree.arrays(cut="x > 0")["x"].tolist()
    try:
        tree.arrays(cut="no expression ===")
        refused = ""
    except SyntaxError as error:
        refused = type(error).__name__
    kinds = type(default).__name__, type(tree).__name__
print(kinds, rows, wrong, joined, right, refused)
assert "RNTuple" in kinds[0] and "TTree" in kinds[1]
assert rows == wrong == joined == x.tolist() and right == [2, 5] and refused == "SyntaxError"
PY
