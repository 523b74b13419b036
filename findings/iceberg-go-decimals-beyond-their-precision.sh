#!/usr/bin/env bash
# Version: Go module apache/iceberg-go v0.7.0 (Go 1.26). Source: run on 2026-12-01; https://iceberg.apache.org/spec/#primitive-types (a decimal(9, 2) has nine digits at most).
# Guess: a literal for a column that cannot hold it is "above the maximum", as an integer is, or an error; a number is rounded one way.
# Behaviour: 2^31 and 2^63 - 1 become decimals of a decimal(9, 2) with all their digits, while 2^31 for an int is AboveMax and the text 1e20 for the decimal an error. NaN is -2^127 hundredths. 0.125 is 0.12 as a double and 0.13 as a text. -1 for
# a time is 23:59:59.999999, 2^63 - 1 is 04:00:54.775807.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"math"

	"github.com/apache/iceberg-go"
)

func main() {
	two, types := iceberg.DecimalTypeOf(9, 2), iceberg.PrimitiveTypes
	for _, row := range []struct {
		literal iceberg.Literal
		to      iceberg.Type
		want    string
	}{
		{iceberg.NewLiteral(int64(1) << 31), two, "2147483648.00"},
		{iceberg.NewLiteral(int64(math.MaxInt64)), two, "9223372036854775807.00"},
		{iceberg.NewLiteral("1e20"), two, "error"},
		{iceberg.NewLiteral(int64(1) << 31), types.Int32, "AboveMax"},
		{iceberg.NewLiteral(math.NaN()), two, "-1701411834604692317224639316790293299.20"},
		{iceberg.NewLiteral(0.125), two, "0.12"},
		{iceberg.NewLiteral("0.125"), two, "0.13"},
		{iceberg.NewLiteral(int64(-1)), types.Time, "23:59:59.999999"},
		{iceberg.NewLiteral(int64(math.MaxInt64)), types.Time, "04:00:54.775807"},
	} {
		result, err := row.literal.To(row.to)
		fmt.Println(row.literal, row.to, result, err)
		got := "error"
		if err == nil {
			got = result.String()
		}
		if got != row.want {
			panic("changed: " + row.want)
		}
	}
}
GO
go mod init finding 2>/dev/null
go get github.com/apache/iceberg-go@v0.7.0 2>/dev/null
go run .
