#!/usr/bin/env bash
# Version: Go module RoaringBitmap/roaring/v2 v2.30.0, packages BitSliceIndexing and roaring64 (Go 1.26). Source: run on 2026-11-30;
# https://github.com/RoaringBitmap/roaring/blob/master/BitSliceIndexing/bsi.go: indexes of signed integers, both of them.
# Guess: negative numbers are compared as numbers by all operations, since GetValue, sums, bounds, LE and GE have the sign.
# Behaviour: in BitSliceIndexing EQ of 5 and of -5 each find both, GT of -5 does not find 5, LT of 5 does not find -5, and RANGE from 1 to 5 finds
# -1, too. With positive numbers alone all is right, and so is roaring64's index with negative ones.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"

	bsi "github.com/RoaringBitmap/roaring/v2/BitSliceIndexing"
	wide "github.com/RoaringBitmap/roaring/v2/roaring64"
)

func main() {
	values := []int64{-10, -5, -1, 0, 1, 5, 10}
	narrow, other := bsi.NewDefaultBSI(), wide.NewDefaultBSI()
	for row, value := range values {
		narrow.SetValue(uint64(row), value)
		other.SetValue(uint64(row), value)
	}
	show := func(contains func(row int) bool) string {
		found := []int64{}
		for row, value := range values {
			if contains(row) {
				found = append(found, value)
			}
		}
		return fmt.Sprint(found)
	}
	check := func(name string, operation bsi.Operation, from, to int64, want, right string) {
		rows := narrow.CompareValue(0, operation, from, to, nil)
		rows64 := other.CompareValue(0, wide.Operation(operation), from, to, nil)
		got := show(func(row int) bool { return rows.Contains(uint32(row)) })
		got64 := show(func(row int) bool { return rows64.Contains(uint64(row)) })
		fmt.Println(name, got, "| roaring64:", got64)
		if got != want || got64 != right {
			panic("changed")
		}
	}
	check("= -5", bsi.EQ, -5, 0, "[-5 5]", "[-5]")
	check("= 5", bsi.EQ, 5, 0, "[-5 5]", "[5]")
	check("> -5", bsi.GT, -5, 0, "[-1 0 1 10]", "[-1 0 1 5 10]")
	check("< 5", bsi.LT, 5, 0, "[-10 -1 0 1]", "[-10 -5 -1 0 1]")
	check("1 to 5", bsi.RANGE, 1, 5, "[-1 1 5]", "[1 5]")
	check("<= -5", bsi.LE, -5, 0, "[-10 -5]", "[-10 -5]")
	check(">= -5", bsi.GE, -5, 0, "[-5 -1 0 1 5 10]", "[-5 -1 0 1 5 10]")
}
END
go mod init finding 2>/dev/null
go get github.com/RoaringBitmap/roaring/v2@v2.30.0 2>/dev/null
go run .
