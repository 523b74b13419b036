#!/usr/bin/env bash
# Version: Go modules hamba/avro/v2 v2.31.0, linkedin/goavro/v2 v2.15.0 (Go 1.26). Source: run on 2026-11-30;
# https://avro.apache.org/docs/1.12.0/specification/ (Decimal: precision is the greatest number of digits, scale those behind the point).
# Guess: a decimal with too many digits is an error, before the point and behind it; one that fits is written.
# Behaviour: behind the point both round down without an error: in scale 2, 1.005 is 1.00, -1.005 is -1.01, and -1/1000 is -0.01. Before the point
# hamba/avro refuses; goavro writes 123456789.12 with precision 9 as bytes, and as fixed of 4 bytes it writes 0; the value 0, which fits, is refused
# as fixed: "datum size ought to equal schema size: 1 != 4".
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"math/big"

	"github.com/hamba/avro/v2"
	"github.com/linkedin/goavro/v2"
)

const (
	bytes = `{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}`
	fixed = `{"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}`
)

func hamba(schema string, value *big.Rat) string {
	parsed := avro.MustParse(schema)
	encoded, err := avro.Marshal(parsed, value)
	if err != nil {
		return "error"
	}
	var decoded any
	if err := avro.Unmarshal(parsed, encoded, &decoded); err != nil {
		return "error"
	}
	return decoded.(*big.Rat).FloatString(2)
}

func linkedin(schema string, value *big.Rat) string {
	codec, err := goavro.NewCodec(schema)
	if err != nil {
		panic(err)
	}
	encoded, err := codec.BinaryFromNative(nil, value)
	if err != nil {
		return "error"
	}
	decoded, _, err := codec.NativeFromBinary(encoded)
	if err != nil {
		return "error"
	}
	return decoded.(*big.Rat).FloatString(2)
}

func main() {
	for _, row := range [][5]string{
		{"1.005", "1.00", "1.00", "1.00", "1.00"},
		{"-1.005", "-1.01", "-1.01", "-1.01", "-1.01"},
		{"-1/1000", "-0.01", "-0.01", "-0.01", "-0.01"},
		{"123456789.12", "error", "error", "123456789.12", "0.00"},
		{"0", "0.00", "0.00", "0.00", "error"},
		{"-327.68", "-327.68", "-327.68", "-327.68", "-327.68"},
	} {
		value, _ := new(big.Rat).SetString(row[0])
		got := [5]string{row[0], hamba(bytes, value), hamba(fixed, value), linkedin(bytes, value), linkedin(fixed, value)}
		fmt.Println(got[0], "hamba/avro:", got[1], got[2], "goavro:", got[3], got[4])
		if got != row {
			panic("changed")
		}
	}
}
END
go mod init finding 2>/dev/null
go get github.com/hamba/avro/v2@v2.31.0 github.com/linkedin/goavro/v2@v2.15.0 2>/dev/null
go run .
