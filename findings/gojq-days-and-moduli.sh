#!/usr/bin/env bash
# Version: Go module itchyny/gojq v0.12.17 (Go 1.26); PyPI jq 1.13.0 (Python 3.11; it has jq 1.8). Source: run on 2026-11-30; https://github.com/itchyny/gojq
# (differences to jq: no keys_unsorted, integers of any size, input files, ...).
# Guess: apart from the differences that its README lists both give the same for the same program.
# Behaviour: strptime of a year, a month or a time of day starts a day earlier in jq: "2020-03" is 2020-02-29, "10:20" is a time of 1899-12-31; in gojq 2020-03-01 and 1900-01-01. jq
# ignores an offset that %z reads, gojq subtracts it. mktime drops fractions in jq and keeps them in gojq. gamma is the logarithm in jq and the value in gojq: 3 | gamma is 0.69
# and 2. [1.5:3.5] has three elements in jq and two in gojq. fmin(nan; 1) is 1 and nan.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install jq==1.13.0
GOBIN=$dir go install github.com/itchyny/gojq/cmd/gojq@v0.12.17 2>/dev/null
cat >finding.py <<'END'
import json
import subprocess
import jq

for program, *want in (
        ('"2020-03" | strptime("%Y-%m") | mktime | todate', "2020-02-29T00:00:00Z", "2020-03-01T00:00:00Z"),
        ('"2020" | strptime("%Y") | mktime | todate', "2019-12-31T00:00:00Z", "2020-01-01T00:00:00Z"),
        ('"10:20" | strptime("%H:%M") | todate', "1899-12-31T10:20:00Z", "1900-01-01T10:20:00Z"),
        ('"2015-03-05T23:51:47+0200" | strptime("%Y-%m-%dT%H:%M:%S%z") | mktime', 1425599507, 1425592307),
        ('1.5 | gmtime | mktime', 1, 1.5),
        ('3 | gamma * 1000 | floor', 693, 2000),
        ('[range(5)][1.5:3.5]', [1, 2, 3], [1, 2]),
        ('"abcdef"[1.5:3.5]', "bcd", "bc"),
        ('fmin(nan; 1)', 1, None)):
    got = [jq.compile(program).input_value(None).first(),
           json.loads(subprocess.run(["./gojq", "-n", program], stdout=subprocess.PIPE, check=True).stdout)]
    print(program, "jq:", got[0], "gojq:", got[1])
    assert got == want
END
env/bin/python finding.py
