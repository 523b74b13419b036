#!/usr/bin/env bash
# Version: Go module mikefarah/yq/v4 v4.54.3 (Go 1.26). Source: run on 2026-12-01; https://mikefarah.gitbook.io/yq/usage/convert (JSON is a subset of YAML; -p json and -p yaml).
# Guess: a file of JSON is the same value for the reader of JSON and for the one of YAML; integers of 64 bits are exact in both or in neither.
# Behaviour: 9007199254740993 is 9007199254740992 by -p json and itself by -p yaml, so that the integers 2^53 and 2^53 + 1 are equal, unique has one and < is false by the one. 1.0 is 1, 1e3 1000, 1.10 1.1 and -0 0 by json, and by yaml they stay, -0 as -0.0. 2^63 - 1 plus 1 is a float by json
# and an error by yaml. 1 == 1.0 is true by json and false by yaml. The result of the same program of one file depends on its name's ending.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
GOBIN=$dir go install github.com/mikefarah/yq/v4@v4.54.3 2>/dev/null
check() {
    local program=$1 value=$2 want
    shift 2
    for format in json yaml; do
        want=$1
        shift
        printf '%s' "$value" >"a.$format"
        got=$(./yq -o json -I0 "$program" "a.$format" 2>&1 | cut -d: -f1 || true)
        echo "$value | $program, as $format: $got"
        [ "$got" = "$want" ]
    done
}
check . '[9007199254740993,1.0,1e3,1.10,-0]' '[9007199254740992,1,1000,1.1,0]' '[9007199254740993,1.0,1e3,1.10,-0.0]'
check '.[0] == .[1]' '[9007199254740992,9007199254740993]' true false
check '.[0] < .[1]' '[9007199254740992,9007199254740993]' false true
check unique '[9007199254740992,9007199254740993]' '[9007199254740992]' '[9007199254740992,9007199254740993]'
check '.[0] + 1' '[9223372036854775807]' 9.223372036854776e+18 Error
check '.[0] == .[1]' '[1,1.0]' true false
