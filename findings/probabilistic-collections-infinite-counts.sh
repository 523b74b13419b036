#!/usr/bin/env bash
# Version: crates.io probabilistic-collections 0.7.0 (Rust 1.95). Source: run on 2026-11-30; its documentation of HyperLogLog: the error probability
# sets the number of registers; the paper (Flajolet and others, 2007) has an error of 1.04 / sqrt(registers) for all counts.
# Guess: HyperLogLog::new(0.016) counts 10,000 ids within some per cent, as it does 1,000.
# Behaviour: it counts 10 to 1,000 within some per cent, 20,000 and a million are infinite; with new(0.05) 1,000 are, too. The estimate is inverted, so
# that it is always small and empty registers are counted for any number of ids, which is infinite when none is empty.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir src
cat >Cargo.toml <<'END'
[package]
name = "finding"
version = "0.1.0"
edition = "2021"
[dependencies]
probabilistic-collections = "=0.7.0"
END
cat >src/main.rs <<'END'
use probabilistic_collections::hyperloglog::HyperLogLog;

fn main() {
    for error in [0.016, 0.05] {
        let counts = [10u32, 100, 1000, 20_000, 1_000_000].map(|count| {
            let mut sketch = HyperLogLog::<u32>::new(error);
            (0..count).for_each(|id| sketch.insert(&id));
            (count, sketch.len())
        });
        println!("error {error}: {counts:?}");
        assert!(counts[..2].iter().all(|(count, got)| (got / f64::from(*count) - 1.0).abs() < 0.3));
        assert!(counts[3..].iter().all(|(_, got)| got.is_infinite()));
    }
}
END
cargo -q run 2>/dev/null
