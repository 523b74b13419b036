#!/usr/bin/env bash
# Version: Go module tylertreat/BoomFilters v0.0.0-20251001182300-5b3723cc64ae (Go 1.26). Source: run on 2026-11-30; its README: MinHash is
# "a probabilistic algorithm for computing the similarity between two sets", an estimate of their Jaccard coefficient.
# Guess: sets without a common element have about 0, equal ones 1, and a half in common is about 1/3.
# Behaviour: it is (1 + J) / 2 of the coefficient J: 0.5 of disjoint sets, 0.67 of sets with half in common, 1 of equal ones, so that a threshold
# of 0.5 takes about half of all pairs without a common element for similar.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"

	boom "github.com/tylertreat/BoomFilters"
)

func set(name string, size int) []string {
	var bag []string
	for i := 0; i < size; i++ {
		bag = append(bag, fmt.Sprintf("%s%d", name, i))
	}
	return bag
}

func mean(a, b []string) float64 {
	sum := float32(0)
	for i := 0; i < 50; i++ {
		sum += boom.MinHash(a, b)
	}
	return float64(sum) / 50
}

func main() {
	for _, size := range []int{20, 40} {
		a, b := set("a", size), set("b", size)
		half := append(append([]string{}, a[:size/2]...), b[size/2:]...)
		same, third, none := mean(a, a), mean(a, half), mean(a, b)
		fmt.Printf("sets of %d: equal %.3f, half in common %.3f, disjoint %.3f\n", size, same, third, none)
		if same != 1 || third < 0.62 || third > 0.72 || none < 0.46 || none > 0.54 {
			panic("changed")
		}
	}
}
END
go mod init finding 2>/dev/null
go get github.com/tylertreat/BoomFilters@v0.0.0-20251001182300-5b3723cc64ae 2>/dev/null
go run .
