#!/usr/bin/env bash
# Version: Go modules tidwall/gjson v1.20.3, valyala/fastjson v1.6.10, buger/jsonparser v1.6.1 (Go 1.26). Source: run on 2026-11-30; RFC 8259 (1.0 and 1e3 are numbers as 1 and 1000).
# Guess: 1.0 and 1e3 are the integers 1 and 1000 in all; 2^63 is an error or wraps; a query for true finds true alone.
# Behaviour: 1.0 and 1e3 are 1 and 1000 in gjson, 0 without an error in fastjson, and in jsonparser an error that says that the value has no end. 2^63 is 2^63 - 1, 0 and an error, -1.9 is -1, 0 and
# an error; null as an integer 0, 0 and an error. gjson's query [true, 1, "true", null, 0] for true finds true, "true" and 0, not 1; one for 9007199254740992 finds 9007199254740993 too,
# though Int() tells them apart.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/buger/jsonparser"
	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"
)

func main() {
	same := true
	for _, row := range [][2]string{
		{"1", "1 1 1 <nil>"}, {"1.0", "1 0 0 error"}, {"1e3", "1000 0 0 error"}, {"-1.9", "-1 0 0 error"}, {"null", "0 0 0 error"},
		{"9007199254740993", "9007199254740993 9007199254740993 9007199254740993 <nil>"}, {"9223372036854775808", "9223372036854775807 0 0 error"},
	} {
		text := `{"a": ` + row[0] + `}`
		value, err := fastjson.Parse(text)
		if err != nil {
			panic(err)
		}
		third, err := jsonparser.GetInt([]byte(text), "a")
		failed := "<nil>"
		if err != nil {
			failed = "error"
		}
		got := fmt.Sprint(gjson.Get(text, "a").Int(), " ", value.GetInt64("a"), " ", third, " ", failed)
		fmt.Println(row[0], "by gjson, fastjson, jsonparser:", got, err)
		same = same && got == row[1]
	}
	found := gjson.Get(`[true, 1, "true", null, 0]`, "#(==true)#").String()
	both := gjson.Get("[9007199254740993,9007199254740992]", "#(==9007199254740992)#").String()
	fmt.Println("found for true:", found, "for 9007199254740992:", both)
	if !same || found != `[true,"true",0]` || both != "[9007199254740993,9007199254740992]" {
		fmt.Println("changed")
		os.Exit(1)
	}
}
END
go mod init finding 2>/dev/null
go get github.com/tidwall/gjson@v1.20.3 github.com/valyala/fastjson@v1.6.10 github.com/buger/jsonparser@v1.6.1 2>/dev/null
go run .
