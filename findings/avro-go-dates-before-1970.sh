#!/usr/bin/env bash
# Version: Go modules hamba/avro/v2 v2.31.0, linkedin/goavro/v2 v2.15.0 (Go 1.26). Source: run on 2026-11-30;
# https://avro.apache.org/docs/1.12.0/specification/ (Date: days from the epoch).
# Guess: a time.Time in a column of dates is the day that it is in, as its Date() says.
# Behaviour: in both libraries it is cut towards 1970: noon of 1969-12-31 is written as 1970-01-01, 23:00 of 1960-01-01 as 1960-01-02; after
# 1970 it is the day. Timestamps of milliseconds are right, also before 1970.
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
	"github.com/linkedin/goavro/v2"
)

const schema = `{"type": "int", "logicalType": "date"}`

func through(moment time.Time) (string, string) {
	parsed := avro.MustParse(schema)
	bytes, err := avro.Marshal(parsed, moment)
	if err != nil {
		panic(err)
	}
	var one any
	if err := avro.Unmarshal(parsed, bytes, &one); err != nil {
		panic(err)
	}
	codec, _ := goavro.NewCodec(schema)
	bytes, err = codec.BinaryFromNative(nil, moment)
	if err != nil {
		panic(err)
	}
	two, _, _ := codec.NativeFromBinary(bytes)
	return one.(time.Time).Format(time.DateOnly), two.(time.Time).Format(time.DateOnly)
}

func main() {
	for _, pair := range [][2]string{{"1969-12-31T12:00:00Z", "1970-01-01"}, {"1960-01-01T23:00:00Z", "1960-01-02"},
		{"1960-01-01T00:00:00Z", "1960-01-01"}, {"1970-01-02T23:00:00Z", "1970-01-02"}} {
		moment, _ := time.Parse(time.RFC3339, pair[0])
		hamba, goavro := through(moment)
		fmt.Println(pair[0], "hamba/avro", hamba, "goavro", goavro)
		if hamba != pair[1] || goavro != pair[1] {
			panic("changed")
		}
	}
}
END
go mod init finding 2>/dev/null
go get github.com/hamba/avro/v2@v2.31.0 github.com/linkedin/goavro/v2@v2.15.0 2>/dev/null
go run .
