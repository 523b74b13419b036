#!/usr/bin/env bash
# Version: Go module hamba/avro/v2 v2.31.0 (Go 1.26). Source: run on 2026-11-30; its README: time.Time is the Go type of timestamp-millis and
# timestamp-micros, and of date.
# Guess: in a union of null, timestamp-millis and date a time.Time takes the first branch that it can be; an int that is too large is an error, as an
# int64 is for an int.
# Behaviour: it takes the date, wherever that is in the union, so that the time of day is lost without an error; without a date in the
# union the time is kept. A Go int of 2^31 as an Avro int is written as -2^31.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"time"

	"github.com/hamba/avro/v2"
)

func through(schema string, value any) string {
	parsed := avro.MustParse(schema)
	bytes, err := avro.Marshal(parsed, value)
	if err != nil {
		return err.Error()
	}
	var result any
	if err := avro.Unmarshal(parsed, bytes, &result); err != nil {
		panic(err)
	}
	if moment, ok := result.(time.Time); ok {
		return moment.Format(time.RFC3339)
	}
	return fmt.Sprint(result)
}

func main() {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	millis, date := `{"type": "long", "logicalType": "timestamp-millis"}`, `{"type": "int", "logicalType": "date"}`
	got := []string{
		through(`["null", `+millis+`, `+date+`]`, noon), through(`["null", `+date+`, `+millis+`]`, noon), through(`["null", `+millis+`]`, noon),
		through(`"int"`, 1<<31), through(`"int"`, int64(1<<31)),
	}
	want := []string{"2026-11-30T00:00:00Z", "2026-11-30T00:00:00Z", "2026-11-30T12:00:00Z",
		"-2147483648", "avro: int64 is unsupported for Avro int"}
	for i := range got {
		fmt.Println(got[i])
		if got[i] != want[i] {
			panic("changed")
		}
	}
}
END
go mod init finding 2>/dev/null
go get github.com/hamba/avro/v2@v2.31.0 2>/dev/null
go run .
