#!/usr/bin/env bash
# Version: the crate farmhash 1.1.5; Go module dgryski/go-farm v0.0.0-20240924180020-3414d57e47da (Go 1.26); PyPI pyfarmhash 0.5.1, which has Google's C++ (Python 3.11). Source: run on 2026-11-30;
# https://github.com/google/farmhash (Hash64WithSeed may differ between platforms; the three run on one).
# Guess: the ports follow the C++ of one of its variants, so that two of the three agree, for all lengths or for none.
# Behaviour: up to 64 bytes all are equal for all seeds; from 65 bytes on there are three hashes of one text and seed. Only with the seed 0 Rust and Go agree, except for 128 bytes and further
# multiples of 64. Without a seed, hash64, Go and C++ are equal for all lengths. Tests with short ids show nothing.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyfarmhash==0.5.1
mkdir -p rust/src go
cat >rust/Cargo.toml <<'END'
[package]
name = "finding"
version = "0.1.0"
edition = "2021"
[dependencies]
farmhash = "=1.1.5"
END
cat >rust/src/main.rs <<'END'
fn main() {
    for n in 0..=300 {
        let text = "x".repeat(n);
        let text = text.as_bytes();
        println!("{n} {} {}", farmhash::hash64_with_seed(text, 0), farmhash::hash64_with_seed(text, 7));
    }
}
END
(cd rust && cargo -q run 2>/dev/null) >rust.txt
cat >go/main.go <<'END'
package main

import (
	"fmt"
	"strings"

	"github.com/dgryski/go-farm"
)

func main() {
	for n := 0; n <= 300; n++ {
		text := []byte(strings.Repeat("x", n))
		fmt.Println(n, farm.Hash64WithSeed(text, 0), farm.Hash64WithSeed(text, 7), farm.Hash64(text))
	}
}
END
(cd go && go mod init finding && go get github.com/dgryski/go-farm@v0.0.0-20240924180020-3414d57e47da) 2>/dev/null
(cd go && go run .) >go.txt
cat >finding.py <<'END'
import farmhash

rust, go = ([[int(word) for word in line.split()] for line in open(name)] for name in ("rust.txt", "go.txt"))
counts, zero = {}, []
for n in range(301):
    text = "x" * n
    hashes = {rust[n][2], go[n][2], farmhash.hash64withseed(text, 7)}
    counts.setdefault(len(hashes), []).append(n)
    assert go[n][3] == farmhash.hash64(text)
    if rust[n][1] != go[n][1]:
        zero.append(n)
for count, lengths in sorted(counts.items()):
    print(count, "hashes for lengths from", lengths[0], "to", lengths[-1], "all:", len(lengths))
print("with the seed 0 Rust and Go differ for", zero)
assert counts == {1: list(range(65)), 3: list(range(65, 301))} and zero == [128, 192, 256]
END
env/bin/python finding.py
