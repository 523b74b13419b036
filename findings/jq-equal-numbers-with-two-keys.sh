#!/usr/bin/env bash
# Version: PyPI jq 1.13.0 (Python 3.11; it has jq 1.8 with decNumber). Source: run on 2026-11-30; https://jqlang.org/manual/v1.8/ (number literals keep their digits as long as
# nothing changes them; conversions to doubles happen in arithmetic).
# Guess: numbers that == calls equal are one key in unique_by, group_by and INDEX alike, and numbers that are printed alike are equal.
# Behaviour: 1, 1.0 and 1.00, or 100 and 1e2, are equal and one row of unique_by, but several keys of INDEX(.id), of tostring, join and @csv, where 1e2 is 1E+2. Doubles that
# are the same and are printed as 0.1 both, 0.1 and 0.10000000000000001, are two rows of unique, as are 1e-400 and 0; after + 0 they are one, so that the sum
# of a value and nothing is equal to two values that are not equal to each other. An integer of 54 bits is whole in tostring and == but the value that comes out in Python is rounded.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install jq==1.13.0
cat >finding.py <<'END'
import jq


def run(program, text):
    result = jq.compile(program).input_text(text).first()
    print(f"{program} of {text}: {result!r}")
    return result


ids = '[{"id": 1}, {"id": 1.0}, {"id": 1.00}]'
assert run("unique_by(.id) | length", ids) == 1
assert run("group_by(.id) | length", ids) == 1
assert run("INDEX(.id) | keys", ids) == ["1", "1.0", "1.00"]
assert run("map(.id) | join(\",\")", '[{"id": 100}, {"id": 1e2}]') == "100,1E+2"
assert run("[.[0] == .[1], .[0] + 0 == .[0], .[0] + 0 == .[1], (unique | length), (map(. + 0) | unique | length)]",
           "[0.1, 0.10000000000000001]") == [False, True, True, 2, 1]
assert run("unique | length", "[1e-400, 0, 0.0]") == 2
assert run("[., tostring, . == 9007199254740992]", "9007199254740993") == [9007199254740992, "9007199254740993", False]
END
env/bin/python finding.py
