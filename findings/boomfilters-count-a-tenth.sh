#!/usr/bin/env bash
# Version: Go module tylertreat/BoomFilters v0.0.0-20251001182300-5b3723cc64ae, axiomhq/hyperloglog v0.3.0 (Go 1.26). Source: run on 2026-11-30;
# https://github.com/tylertreat/BoomFilters (HyperLogLog: FNV-1 of 32 bits; NewDefaultHyperLogLog(0.01) is to be within 1 %).
# Guess: of the ids user-0 to user-9999 it counts about 10,000, and of ten ids exactly 10, as other HyperLogLogs do.
# Behaviour: it counts a tenth: 10 ids are 1, 100 are 10, 1,000 are 100 and 10,000 about 850. The register is taken from the first bits of the
# hash, which the last byte of an id does not reach, so that ids that differ in their last digit are one. axiomhq's counts are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"math"

	"github.com/axiomhq/hyperloglog"
	boom "github.com/tylertreat/BoomFilters"
)

func main() {
	for _, n := range []int{10, 100, 1000, 10000} {
		other := hyperloglog.New()
		sketch, err := boom.NewDefaultHyperLogLog(0.01)
		if err != nil {
			panic(err)
		}
		for i := 0; i < n; i++ {
			id := []byte(fmt.Sprintf("user-%d", i))
			sketch.Add(id)
			other.Insert(id)
		}
		fmt.Println(n, "ids: BoomFilters", sketch.Count(), "axiomhq", other.Estimate())
		tenth := float64(n) / 10
		if math.Abs(float64(sketch.Count())-tenth) > 0.2*tenth || math.Abs(float64(other.Estimate())-float64(n)) > 0.02*float64(n) {
			panic("changed")
		}
	}
}
END
go mod init finding 2>/dev/null
go get github.com/tylertreat/BoomFilters@v0.0.0-20251001182300-5b3723cc64ae github.com/axiomhq/hyperloglog@v0.3.0 2>/dev/null
go run .
