#!/usr/bin/env bash
# Version: Go module dgryski/go-minhash v0.0.0-20170608043002-7fe510aff544, with cespare/xxhash/v2 v2.3.0 (Go 1.26). Source: run on 2026-11-30;
# https://pkg.go.dev/github.com/dgryski/go-minhash (BottomK and MinWise: estimates of the similarity and the cardinality of two sets).
# Guess: a set is the same when its ids are added again, and both classes estimate the same coefficient of Jaccard.
# Behaviour: BottomK keeps each copy of an id: 10,000 ids that are added three times are about 30,000, and are only a third similar to the same ids added once. Of two sets with
# a third in common it says 0.5 and MinWise 0.34, as the ids in the sketches are compared, not the least ones of both sets together. MinWise counts 10,000 each time.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"math"
	"os"

	"github.com/cespare/xxhash/v2"
	"github.com/dgryski/go-minhash"
)

type sketch interface {
	Push([]byte)
	Cardinality() int
}

func first(id []byte) uint64 { return xxhash.Sum64(id) }

func second(id []byte) uint64 { return xxhash.Sum64(append([]byte("second "), id...)) }

func add(to sketch, from, times int) {
	for ; times > 0; times-- {
		for i := from; i < from+10000; i++ {
			to.Push([]byte(fmt.Sprint("id-", i)))
		}
	}
}

func near(got, want float64) {
	if math.Abs(got-want) > 0.15*want {
		fmt.Println("changed:", got, want)
		os.Exit(1)
	}
}

func main() {
	a, b, c := minhash.NewBottomK(first, 1000), minhash.NewBottomK(first, 1000), minhash.NewBottomK(first, 1000)
	d, e, f := minhash.NewMinWise(first, second, 1000), minhash.NewMinWise(first, second, 1000), minhash.NewMinWise(first, second, 1000)
	for _, sketches := range [][]sketch{{a, b, c}, {d, e, f}} {
		add(sketches[0], 0, 1)
		add(sketches[1], 0, 3)
		add(sketches[2], 5000, 1)
	}
	fmt.Println("BottomK: once", a.Cardinality(), "three times", b.Cardinality(), "similar to each other", a.Similarity(b), "to a set with a third", a.Similarity(c))
	fmt.Println("MinWise: once", d.Cardinality(), "three times", e.Cardinality(), "similar to each other", d.Similarity(e), "to a set with a third", d.Similarity(f))
	near(float64(a.Cardinality()), 10000)
	near(float64(b.Cardinality()), 30000)
	near(a.Similarity(b), 1.0/3)
	near(a.Similarity(c), 0.5)
	near(float64(e.Cardinality()), 10000)
	near(d.Similarity(e), 1)
	near(d.Similarity(f), 1.0/3)
}
END
go mod init finding 2>/dev/null
go get github.com/dgryski/go-minhash@v0.0.0-20170608043002-7fe510aff544 github.com/cespare/xxhash/v2@v2.3.0 2>/dev/null
go run .
