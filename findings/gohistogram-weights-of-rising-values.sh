#!/usr/bin/env bash
# Version: Go module VividCortex/gohistogram v1.0.0 (Go 1.26). Source: run on 2026-11-30; https://pkg.go.dev/github.com/VividCortex/gohistogram (WeightedHistogram: counts that are exponentially weighted
# moving averages, alpha 2 / (N + 1); "a 60-second window with an average age of 30 seconds would yield an alpha of 0.064516129").
# Guess: with this alpha about the last 30 values count, so that the median of a long random series is in the middle, and of 0 to 999 in turn near 980.
# Behaviour: in a random series all quantiles are the last value, and the count is 1.07: each value multiplies the older ones by alpha, not by 1 - alpha. A value that is greater
# than all before makes nothing older, so that of 0 to 999 in turn all have the same weight, the mean is 499.5 and the count 1000; from 999 down both are those of the last.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"math"
	"math/rand"
	"os"

	"github.com/VividCortex/gohistogram"
)

func check(right bool) {
	if !right {
		fmt.Println("changed")
		os.Exit(1)
	}
}

func of(values []int) *gohistogram.WeightedHistogram {
	histogram := gohistogram.NewWeightedHistogram(40, 0.064516129)
	for _, value := range values {
		histogram.Add(float64(value))
	}
	return histogram
}

func main() {
	random := rand.New(rand.NewSource(1)).Perm(1000)
	upwards, downwards := make([]int, 1000), make([]int, 1000)
	for i := range upwards {
		upwards[i], downwards[i] = i, 999-i
	}
	last := float64(random[999])
	a, b, c := of(random), of(upwards), of(downwards)
	fmt.Println("random: quantiles", a.Quantile(0.1), a.Quantile(0.5), a.Quantile(0.9), "last value", last, "count", a.Count())
	fmt.Println("upwards: mean", b.Mean(), "count", b.Count(), "downwards: mean", c.Mean(), "count", c.Count())
	check(math.Abs(a.Quantile(0.1)-last) < 1 && math.Abs(a.Quantile(0.9)-last) < 1 && a.Count() < 1.1)
	check(b.Mean() > 499 && b.Mean() < 500 && b.Count() == 1000 && c.Mean() < 2 && c.Count() < 1.1)
}
END
go mod init finding 2>/dev/null
go get github.com/VividCortex/gohistogram@v1.0.0 2>/dev/null
go run .
