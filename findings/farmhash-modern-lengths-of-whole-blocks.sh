#!/usr/bin/env bash
# Version: npm farmhash-modern 1.1.0 (Node 20), the crate farmhash 1.1.5 that it is made of; Go module dgryski/go-farm v0.0.0-20240924180020-3414d57e47da (Go 1.26);
# PyPI pyfarmhash 0.5.1. Source: run on 2026-11-30; https://github.com/google/farmhash (fingerprints are the same on all platforms, forever; BigQuery's FARM_FINGERPRINT is
# Fingerprint64).
# Guess: one text has one fingerprint64 in all of them, or in a wrong port none of more than 64 bytes is right.
# Behaviour: texts of 128, 192, 256 and all further multiples of 64 bytes have others in Rust and Node, those of all other lengths are equal: the loop over blocks of 64 bytes takes the last
# whole block too, where the reference leaves 1 to 64 bytes. 64 bytes are right, and fingerprint32 always.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install pyfarmhash==0.5.1
npm install --silent --no-audit --no-fund farmhash-modern@1.1.0
cat >finding.cjs <<'END'
const { fingerprint32, fingerprint64 } = require("farmhash-modern");
for (let n = 0; n <= 700; n++) console.log(n, String(fingerprint64("x".repeat(n))), fingerprint32("x".repeat(n)));
END
node finding.cjs >node.txt
mkdir rust go
cat >rust/Cargo.toml <<'END'
[package]
name = "finding"
version = "0.1.0"
edition = "2021"
[dependencies]
farmhash = "=1.1.5"
END
mkdir rust/src
cat >rust/src/main.rs <<'END'
fn main() {
    for n in 0..=700 {
        let text = "x".repeat(n);
        println!("{n} {} {}", farmhash::fingerprint64(text.as_bytes()), farmhash::fingerprint32(text.as_bytes()));
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
	for n := 0; n <= 700; n++ {
		text := []byte(strings.Repeat("x", n))
		fmt.Println(n, farm.Fingerprint64(text), farm.Fingerprint32(text))
	}
}
END
(cd go && go mod init finding && go get github.com/dgryski/go-farm@v0.0.0-20240924180020-3414d57e47da) 2>/dev/null
(cd go && go run .) >go.txt
cat >finding.py <<'END'
import farmhash

reference = [f"{n} {farmhash.fingerprint64('x' * n)} {farmhash.fingerprint32('x' * n)}".split() for n in range(701)]
for name in ("go", "rust", "node"):
    rows = [line.split() for line in open(name + ".txt")]
    others = [int(want[0]) for row, want in zip(rows, reference, strict=True) if row != want]
    print(f"{name}: texts with another fingerprint64 than in Python have", others, "bytes")
    assert others == ([] if name == "go" else list(range(128, 701, 64)))
    assert all(row[2] == want[2] for row, want in zip(rows, reference))
END
env/bin/python finding.py
