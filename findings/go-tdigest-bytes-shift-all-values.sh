#!/usr/bin/env bash
# Version: Go module caio/go-tdigest/v4 v4.1.0 (Go 1.26). Source: run on 2026-11-30; https://pkg.go.dev/github.com/caio/go-tdigest/v4 (AsBytes: "serializes the digest so that it can be saved to disk or
# sent over the wire").
# Guess: a digest that was written and read gives the same quantiles, or each value is rounded for itself, to half of the distance between two floats.
# Behaviour: the bytes have the first value and then the distances, as floats of 32 bits, so that the error of the first shifts all: times in milliseconds from 1600000000000 on come back
# 32,768 lower, the quantiles with them, and the CDF of the median is 1. Ids from 16777217 on are 1 lower; the distances are exact. Clone and Merge keep all bits.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"bytes"
	"fmt"
	"os"

	tdigest "github.com/caio/go-tdigest/v4"
)

func check(right bool) {
	if !right {
		fmt.Println("changed")
		os.Exit(1)
	}
}

func main() {
	for _, first := range []float64{1, 16777217, 1600000000000} {
		digest, _ := tdigest.New()
		for i := 0; i < 10000; i++ {
			check(digest.Add(first+float64(i)) == nil)
		}
		data, _ := digest.AsBytes()
		read, err := tdigest.FromBytes(bytes.NewReader(data))
		check(err == nil && read.Count() == 10000)
		shift, median := read.Quantile(0)-digest.Quantile(0), read.Quantile(0.5)-digest.Quantile(0.5)
		cdf := read.CDF(first + 5000)
		fmt.Printf("from %.0f on: shift of the least %.0f, of the median %.3f, CDF of the median %.2f\n", first, shift, median, cdf)
		clone := digest.Clone()
		check(clone.Quantile(0.5) == digest.Quantile(0.5))
		switch first {
		case 1:
			check(shift == 0 && median > -0.1 && median < 0.1 && cdf > 0.49 && cdf < 0.51)
		case 16777217:
			check(shift == -1 && median > -1.1 && median < -0.9)
		default:
			check(shift == -32768 && median > -32769 && median < -32767 && cdf == 1)
		}
	}
}
END
go mod init finding 2>/dev/null
go get github.com/caio/go-tdigest/v4@v4.1.0 2>/dev/null
go mod tidy 2>/dev/null
go run .
