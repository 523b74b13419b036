#!/usr/bin/env bash
# Version: crates.io fastbloom 0.17.0. Source: run on 2026-11-29.
# Guess: the bytes of an id are hashed, whatever type it has; and k is near log2(1/p), whatever n is.
# Behaviour: a &str is hashed with a byte of 0xff behind it, a slice with its length before it, an array without it: of
# 1,000 ids inserted as &str next to none are found as bytes. One id at p = 0.01 has 44 hashes: k follows from the 64 bits
# that are allocated.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cargo init --quiet --vcs none --name finding .
printf 'fastbloom = "=0.17.0"\n' >>Cargo.toml
cat >src/main.rs <<'END'
use fastbloom::BloomFilter;

fn main() {
    let mut filter = BloomFilter::with_false_pos(0.01).seed(&0).expected_items(1000);
    let ids: Vec<String> = (0..1000).map(|i| format!("tt{i:07}")).collect();
    for id in &ids {
        filter.insert(id.as_str());
    }
    let strings = ids.iter().filter(|id| filter.contains(id.as_str())).count();
    let slices = ids.iter().filter(|id| filter.contains(id.as_bytes())).count();
    println!("of 1,000 ids inserted as &str, found as &str: {strings}, as &[u8]: {slices}");
    assert!(strings == 1000 && slices < 50);
    let one = BloomFilter::with_false_pos(0.01).seed(&0).expected_items(1);
    println!("for one id and 0.01: {} bits, {} hashes", one.num_bits(), one.num_hashes());
    assert!(one.num_bits() == 64 && one.num_hashes() == 44);
}
END
cargo run --quiet --release
