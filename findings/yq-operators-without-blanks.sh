#!/usr/bin/env bash
# Version: Go module mikefarah/yq/v4 v4.54.3 (Go 1.26). Source: run on 2026-12-01; https://mikefarah.gitbook.io/yq/operators/add, operators/compare, operators/multiply-merge (the examples have blanks around operators).
# Guess: .a+1 is .a + 1, as in jq, or an error of the syntax.
# Behaviour: without the blanks it is the path of a key named "a+1", and null: .a+1, .a*2, .a<.b, .a-1 and .a/2 of {"a": 7, "b": 9} are null, without an error, and with blanks numbers. .[] |= .+1 leaves all as it was, map(.+1) is empty, and with_entries(.value+=1)
# changes nothing, all with status 0. .a==.b alone is a comparison with and without.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
GOBIN=$dir go install github.com/mikefarah/yq/v4@v4.54.3 2>/dev/null
run() {
    got=$(printf '%s' "$2" | ./yq -p json -o json -I0 "$1" | tr '\n' ' ')
    echo "$2 | $1: $got"
    [ "$got" = "$3 " ]
}
row='{"a":7,"b":9}'
run '.a+1' "$row" null
run '.a + 1' "$row" 8
run '.a*2' "$row" null
run '.a * 2' "$row" 14
run '.a-1' "$row" null
run '.a/2' "$row" null
run '.a<.b' "$row" null
run '.a < .b' "$row" true
run '.a==.b' "$row" false
run '.a+1' '{"a":7,"a+1":"key"}' '"key"'
run '.[] |= .+1' '[1,2]' '[1,2]'
run '.[] |= . + 1' '[1,2]' '[2,3]'
run 'map(.+1)' '[1,2]' '[]'
run 'with_entries(.value+=1)' '{"a":1}' '{"a":1}'
run 'with_entries(.value += 1)' '{"a":1}' '{"a":2}'
