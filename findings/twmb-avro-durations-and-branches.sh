#!/usr/bin/env bash
# Version: Go module twmb/avro v1.8.0 (Go 1.26). Source: run on 2026-12-01; https://pkg.go.dev/github.com/twmb/avro (time.Time and time.Duration for logical types; "EncodeJSON is schema-aware and handles unions").
# Guess: a time.Duration is the time of day of a time-millis, and for a timestamp or a date it is refused; what Decode gives for a union EncodeJSON writes in the branch that it came from.
# Behaviour: 1.5 ms is 1 for time-millis; for timestamp-millis it is its nanoseconds as milliseconds, 00:25:00 of 1970, and for a date as days, the year 6076. Of [null, date, timestamp-millis] the moment 5 ms is written as one and read as one, and EncodeJSON makes 0
# of it, a date; an int32 5 goes into the second branch, an int 5 into the third. A time in [null, string, timestamp-micros] is a text. 2^24 + 1 in [float, double] is the float 2^24. 1e300 as a float is infinity, while 2^63 as a
# long is an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"time"

	"github.com/twmb/avro"
)

const (
	millis = `{"type": "long", "logicalType": "timestamp-millis"}`
	micros = `{"type": "long", "logicalType": "timestamp-micros"}`
	date   = `{"type": "int", "logicalType": "date"}`
	clock  = `{"type": "int", "logicalType": "time-millis"}`
)

func check(schema string, value any, want string) {
	parsed := avro.MustParse(schema)
	got := "error"
	if bytes, err := parsed.Encode(value); err == nil {
		var result any
		if _, err := parsed.Decode(bytes, &result); err != nil {
			panic(err)
		}
		text, err := parsed.EncodeJSON(result)
		if err != nil {
			panic(err)
		}
		got = fmt.Sprintf("%v %s", result, text)
	}
	fmt.Println(schema, value, got)
	if got != want {
		panic("changed: " + want)
	}
}

func main() {
	check(clock, 1500*time.Microsecond, "1ms 1")
	check(millis, 1500*time.Microsecond, "1970-01-01 00:25:00 +0000 UTC 1500000")
	check(date, 1500*time.Microsecond, "6076-11-10 00:00:00 +0000 UTC 1500000")
	three := `["null", ` + date + `, ` + millis + `]`
	check(three, int64(1)<<40, "2004-11-03 19:53:47.776 +0000 UTC 12725")
	check(three, 5, "1970-01-01 00:00:00.005 +0000 UTC 0")
	check(three, int32(5), "1970-01-06 00:00:00 +0000 UTC 5")
	check(`["null", "string", `+micros+`]`, time.Unix(0, 0).UTC(), `1970-01-01T00:00:00Z "1970-01-01T00:00:00Z"`)
	check(`["float", "double"]`, 1<<24+1, "1.6777216e+07 1.6777216e+07")
	check(`"float"`, 1e300, `+Inf "Infinity"`)
	check(`"long"`, uint64(1)<<63, "error")
}
GO
go mod init finding 2>/dev/null
go get github.com/twmb/avro@v1.8.0 2>/dev/null
go run .
