#!/usr/bin/env bash
# Version: Go modules gocarina/gocsv v0.0.0-20240520201108-78e41c74b4b1, jszwec/csvutil v1.10.0 (Go 1.26). Source: run on 2026-12-01.
# Guess: a field that is no value of the struct's type is an error, as in csvutil; an empty field of a pointer is nil; "1,234" as float64 is an error, or 1234.
# Behaviour: gocsv makes 300 as int8 44 and 1.9 as int 1; "1,234" as float64 is 1.234, "yes" as bool true, 0x10 as int 16; an empty field is 0, also behind a pointer, where nil would be told from 0.
# csvutil refuses all of these, and makes the empty field nil.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/gocarina/gocsv"
	"github.com/jszwec/csvutil"
)

type narrow struct{ X int8 `csv:"x"` }
type integer struct{ X int `csv:"x"` }
type float struct{ X float64 `csv:"x"` }
type boolean struct{ X bool `csv:"x"` }
type pointer struct{ X *int `csv:"x"`; Y int `csv:"y"` }

func show(err error, count int, value func() any) string {
	if err != nil || count != 1 {
		return "error"
	}
	return fmt.Sprint(value())
}

func read[T any](text string, value func(T) any) string {
	var first, second []T
	err := gocsv.UnmarshalString(text, &first)
	left := show(err, len(first), func() any { return value(first[0]) })
	err = csvutil.Unmarshal([]byte(text), &second)
	return left + " " + show(err, len(second), func() any { return value(second[0]) })
}

func main() {
	isNil := func(row pointer) any { return row.X == nil }
	same := true
	for _, row := range [][3]string{
		{"int8 300", read("x\n300\n", func(row narrow) any { return row.X }), "44 error"}, {"int 1.9", read("x\n1.9\n", func(row integer) any { return row.X }), "1 error"},
		{"int 0x10", read("x\n0x10\n", func(row integer) any { return row.X }), "16 error"}, {"float64 1,234", read("x\n\"1,234\"\n", func(row float) any { return row.X }), "1.234 error"},
		{"bool yes", read("x\nyes\n", func(row boolean) any { return row.X }), "true error"}, {"empty *int is nil", read("x,y\n,1\n", isNil), "false true"},
	} {
		fmt.Println(row[0], "in gocsv and csvutil:", row[1])
		same = same && row[1] == row[2]
	}
	if !same {
		fmt.Println("changed")
		os.Exit(1)
	}
}
GO
go mod init finding 2>/dev/null
go get github.com/gocarina/gocsv@v0.0.0-20240520201108-78e41c74b4b1 github.com/jszwec/csvutil@v1.10.0 2>/dev/null
go run .
