#!/usr/bin/env bash
# Version: Go module vmihailenco/msgpack/v5 v5.4.1 (Go 1.26). Source: run on 2026-11-30; encoding/json of Go: a number that overflows the type is an
# UnmarshalTypeError.
# Guess: an integer that the variable's type cannot hold is an error, as a float for an integer is.
# Behaviour: it wraps without an error: 300 in an int8 is 44, -1 in a uint 2^64 - 1, 2^63 in an int64 -2^63; in structs, too. An integer is read into a
# float, 2^53 + 1 as 2^53, but 1.0 into an int, and a float of 64 bits into a float32, are errors. A map[int]string cannot be read into an `any`.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

func read(value, into any) error {
	bytes, err := msgpack.Marshal(value)
	if err != nil {
		panic(err)
	}
	return msgpack.Unmarshal(bytes, into)
}

func main() {
	var small int8
	var unsigned uint
	var signed int64
	var float float64
	var narrow float32
	var anything any
	row := struct{ Count int8 }{}
	errors := []error{read(300, &small), read(-1, &unsigned), read(uint64(1<<63), &signed), read(int64(1<<53+1), &float),
		read(map[string]int{"Count": 300}, &row)}
	fmt.Println(small, unsigned, signed, float, row.Count, errors)
	for _, err := range errors {
		if err != nil {
			panic("changed")
		}
	}
	if small != 44 || unsigned != 1<<64-1 || signed != -1<<63 || float != 1<<53 || row.Count != 44 {
		panic("changed")
	}
	errors = []error{read(1.0, &signed), read(0.5, &narrow), read(map[int]string{1: "a"}, &anything)}
	fmt.Println(errors)
	for _, err := range errors {
		if err == nil {
			panic("changed")
		}
	}
}
END
go mod init finding 2>/dev/null
go get github.com/vmihailenco/msgpack/v5@v5.4.1 2>/dev/null
go run .
