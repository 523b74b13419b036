#!/usr/bin/env bash
# Version: Go module xitongsys/parquet-go v1.6.2, package types (Go 1.26). Source: run on 2026-11-30;
# https://github.com/xitongsys/parquet-go#type (its functions that convert DECIMAL, INT96 and TIMESTAMP).
# Guess: the text of a negative decimal is the number with its sign, from an integer as from bytes, and a time of any year fits into milliseconds.
# Behaviour: an integer -128 of scale 2 is "-1.-28" and -5 "0.-5"; the bytes ff80, big-endian, are "654.08", and of ffffff80, which its own StrIntToBinary
# makes of -128, "42949671.68". TimeToTIMESTAMP_MILLIS of the year 2300 is one in 1715, and of a nanosecond after 1960-01-01 the next millisecond.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"time"

	"github.com/xitongsys/parquet-go/types"
)

func main() {
	texts := []string{types.DECIMAL_INT_ToString(128, 9, 2), types.DECIMAL_INT_ToString(-128, 9, 2), types.DECIMAL_INT_ToString(-5, 9, 2),
		types.DECIMAL_BYTE_ARRAY_ToString([]byte{0xff, 0x80}, 9, 2),
		types.DECIMAL_BYTE_ARRAY_ToString([]byte(types.StrIntToBinary("-128", "BigEndian", 4, true)), 9, 2)}
	far := time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	after := time.Date(1960, 1, 1, 0, 0, 0, 1, time.UTC)
	year := time.UnixMilli(types.TimeToTIMESTAMP_MILLIS(far, true)).UTC().Year()
	shift := types.TimeToTIMESTAMP_MILLIS(after, true) - after.Truncate(time.Millisecond).UnixMilli()
	fmt.Println("decimals", texts, "2300 is", year, "1 ns after 1960 is", shift, "ms after it")
	if fmt.Sprint(texts) != "[1.28 -1.-28 0.-5 654.08 42949671.68]" || year != 1715 || shift != 1 {
		panic("changed")
	}
}
END
go mod init finding 2>/dev/null
go get github.com/xitongsys/parquet-go/types@v1.6.2 2>/dev/null
go run .
