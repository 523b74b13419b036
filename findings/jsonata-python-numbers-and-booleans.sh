#!/usr/bin/env bash
# Version: PyPI jsonata-python 0.7.1 (Python 3.11), npm jsonata 2.2.2 (Node 20). Source: run on 2026-11-30; https://pypi.org/project/jsonata-python/ (an implementation in pure Python that passes the tests of
# the reference in JavaScript); https://docs.jsonata.org/.
# Guess: one expression has one value in both, apart from numbers that no double holds.
# Behaviour: 5.5 % 2 is 1 in Python and 1.5 in JavaScript: only the whole part is left. $distinct loses a value, since 1 and true are one to it, inside of objects too, while 1 = true is
# false in both; 1 in [true] is true in Python only. $formatNumber rounds 2.5 to 3 and -1.5 to -1 in Python, to 2 and -2 in JavaScript; the index -0.5 is the first and the last element.
# $number("1_000") is 1000 in Python and an error in JavaScript, and $base64encode of é is that of UTF-8 and of Latin 1.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install jsonata-python==0.7.1
npm install --silent --no-audit --no-fund jsonata@2.2.2
cat >cases.json <<'END'
[["5.5 % 2", 1, 1.5], ["0.3 % 0.1 > 0.05", false, true], ["$count($distinct([1, true]))", 1, 2], ["$distinct([0, false, \"0\"])", [0, "0"], [0, false, "0"]],
 ["$count($distinct([{\"a\": 1}, {\"a\": true}]))", 1, 2], ["1 = true", false, false], ["1 in [true]", true, false], ["$formatNumber(2.5, \"0\")", "3", "2"],
 ["$formatNumber(-1.5, \"0\")", "-1", "-2"], ["$formatNumber(0.125, \"0.00\")", "0.13", "0.12"], ["[1, 2, 3][-0.5]", 1, 3], ["$number(\"1_000\")", 1000, "error"],
 ["$base64encode(\"é\")", "w6k=", "6Q=="]]
END
cat >finding.mjs <<'END'
import assert from "assert";
import fs from "fs";
import jsonata from "jsonata";
for (const [expression, , want] of JSON.parse(fs.readFileSync("cases.json"))) {
    let got = "error";
    try {
        got = await jsonata(expression).evaluate(null);
    } catch (error) {
        assert(error.code);
    }
    assert.deepStrictEqual(JSON.parse(JSON.stringify(got)), want);
}
END
cat >finding.py <<'END'
import json
import jsonata

for expression, want, other in json.load(open("cases.json")):
    got = jsonata.Jsonata(expression).evaluate(None)
    print(expression, "Python:", json.dumps(got), "JavaScript:", json.dumps(other))
    assert json.dumps(got) == json.dumps(want)
END
node finding.mjs
env/bin/python finding.py
