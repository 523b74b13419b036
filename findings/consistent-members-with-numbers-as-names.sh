#!/usr/bin/env bash
# Version: Go module stathat/consistent v1.0.0 (Go 1.26). Source: run on 2026-11-30; https://pkg.go.dev/stathat.com/c/consistent (20 points on the circle for each element).
# Guess: a member that is added and removed leaves the circle as it was, and the order in which members are added does not matter.
# Behaviour: so with names as "a" and "b", not with ports or numbers: a point is the hash of its index and the name, written together, so that point 1 of "18080" and point 11 of "8080"
# are both 118080. The later one takes it, and its removal takes it from both: 8080 loses keys until it is added again, and two processes that add 0 to 99 in
# another order send 5 % of the keys elsewhere.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/stathat/consistent"
)

func of(names ...string) *consistent.Consistent {
	circle := consistent.New()
	for _, name := range names {
		circle.Add(name)
	}
	return circle
}

func differences(a, b *consistent.Consistent) int {
	count := 0
	for i := 0; i < 10000; i++ {
		one, _ := a.Get(fmt.Sprint("key", i))
		other, _ := b.Get(fmt.Sprint("key", i))
		if one != other {
			count++
		}
	}
	return count
}

func main() {
	changed := of("8080", "other")
	changed.Add("18080")
	changed.Remove("18080")
	added := differences(changed, of("8080", "other"))
	letters := of("a", "b")
	letters.Add("c")
	letters.Remove("c")
	var upwards, downwards, up, down []string
	for i := 0; i < 100; i++ {
		upwards, downwards = append(upwards, fmt.Sprint(i)), append(downwards, fmt.Sprint(99-i))
		up, down = append(up, fmt.Sprint("node-", i)), append(down, fmt.Sprint("node-", 99-i))
	}
	order, other := differences(of(upwards...), of(downwards...)), differences(of(up...), of(down...))
	fmt.Println("of 10,000 keys elsewhere after 18080 came and went:", added, "after c:", differences(letters, of("a", "b")))
	fmt.Println("in a circle of 0 to 99 and one of 99 to 0:", order, "of node-0 to node-99:", other)
	if added < 300 || differences(letters, of("a", "b")) != 0 || order < 400 || other != 0 {
		fmt.Println("changed")
		os.Exit(1)
	}
}
END
go mod init finding 2>/dev/null
go get github.com/stathat/consistent@v1.0.0 2>/dev/null
go run .
