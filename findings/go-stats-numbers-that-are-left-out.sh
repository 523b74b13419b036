#!/usr/bin/env bash
# Version: Go module montanaflynn/stats v0.14.0 (Go 1.26). Source: run on 2026-11-30; https://pkg.go.dev/github.com/montanaflynn/stats (LoadRawData "parses and converts a slice of mixed data types to floats").
# Guess: numbers of all of Go's types become floats, texts with spaces around a number do or all are left out, and a map gives its values.
# Behaviour: without an error a slice of mixed types loses each int8, uint64 and float32, while ints, float64, bools and durations stay; " 2" and "3 " are left out of texts, and the text
# "1, 2, 3" is the number 3 alone. The map {1: 10, 3: 30} becomes 0 and 10: its keys are taken as places in a list of its length. In the same library the
# first quartile of 1, 2, 3, 4 is 1.5 by Quartile and 1.75 by Percentile and Describe.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/montanaflynn/stats"
)

func main() {
	same := true
	for _, row := range []struct {
		data any
		want string
	}{
		{[]any{1, 2.5, "3", true, time.Duration(4), int8(5), uint64(6), float32(7)}, "[1 2.5 3 1 4]"},
		{[]string{"1", " 2", "3 ", "4"}, "[1 4]"},
		{"1 2 3", "[1 2 3]"},
		{"1, 2, 3", "[3]"},
		{map[int]int{0: 10, 1: 30}, "[10 30]"},
		{map[int]int{1: 10, 3: 30}, "[0 10]"},
	} {
		got := fmt.Sprint(stats.LoadRawData(row.data))
		fmt.Printf("%T %v is %s\n", row.data, row.data, got)
		same = same && got == row.want
	}
	values := stats.Float64Data{1, 2, 3, 4}
	quartiles, _ := stats.Quartile(values)
	percentile, _ := stats.Percentile(values, 25)
	fmt.Println("first quartile of 1 to 4 by Quartile", quartiles.Q1, "by Percentile", percentile)
	if !same || quartiles.Q1 != 1.5 || percentile != 1.75 {
		fmt.Println("changed")
		os.Exit(1)
	}
}
END
go mod init finding 2>/dev/null
go get github.com/montanaflynn/stats@v0.14.0 2>/dev/null
go run .
