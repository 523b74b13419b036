#!/usr/bin/env bash
# Version: Go module mikefarah/yq/v4 v4.54.3 (Go 1.26). Source: run on 2026-12-01; https://mikefarah.gitbook.io/yq/operators/equals (a text on the right may have wildcards), operators/unique, operators/group-by.
# Guess: apart from the wildcards, == is the equality of JSON's values, as in jq; unique and group_by take for equal what == does.
# Behaviour: 1 == "1" and true == "true" are true, null == "null" is false. [1] == [1] and {"a":1} == {"a":1} are false. unique of 1, "1", true, "true", null and "null" drops the three texts, null's too, and group_by has one group for 1 and "1" and one
# for null and what is missing; `-` of arrays tells 1 from "1". "abc" == "a*" is true and "a*" == "abc" false, and != follows. length of 12345 is 5, of -5 is 2.
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
run '.[0] == .[1]' '[1,"1"]' true
run '.[0] == .[1]' '[true,"true"]' true
run '.[0] == .[1]' '[null,"null"]' false
run '.[0] == .[1]' '[[1],[1]]' false
run '.[0] == .[1]' '[{"a":1},{"a":1}]' false
run '.[0] == .[1]' '["abc","a*"]' true
run '.[0] == .[1]' '["a*","abc"]' false
run '.[0] != .[1]' '["abc","a*"]' false
run 'unique' '[1,"1",true,"true",null,"null"]' '[1,true,null]'
run 'group_by(.k)' '[{"k":1},{"k":"1"},{"k":null},{}]' '[[{"k":1},{"k":"1"}],[{"k":null},{}]]'
run '. - [1]' '[1,"1",2]' '["1",2]'
run 'length' 12345 5
run 'length' -5 2
