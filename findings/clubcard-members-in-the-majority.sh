#!/usr/bin/env bash
# Version: clubcard 0.3.3 (the filters of revoked certificates in Firefox), with sha2 0.10.8. Source: run on 2026-11-30.
# Guess: a set of 990,000 of 1,000,000 ids costs as much as its complement of 10,000: the builder inverts it.
# Behaviour: the 10,000 take about 11,120 bytes, 1.1 times the information, the 990,000 take 127,648, 12.6 times: with more
# than half of the ids as members there is no first level, and every id is in the second. Only all ids are inverted.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir src
cat >Cargo.toml <<'END'
[package]
name = "measure"
version = "0.1.0"
edition = "2021"
[dependencies]
clubcard = { version = "=0.3.3", features = ["builder"] }
sha2 = "=0.10.8"
[profile.dev]
opt-level = 2
END
cat >src/main.rs <<'END'
use clubcard::builder::{ApproximateRibbon, ClubcardBuilder, ExactRibbon};
use clubcard::*;
use sha2::{Digest, Sha256};

const IDS: u32 = 1_000_000;

struct Nothing;
impl ApproximateSizeOf for Nothing {}

struct Id {
    bytes: [u8; 4],
    member: bool,
}

impl AsQuery<4> for Id {
    fn as_query(&self, m: usize) -> Equation<4> {
        let digest = Sha256::digest(self.bytes);
        let mut words = [0u64; 4];
        for (i, word) in digest.chunks_exact(8).enumerate() {
            words[i] = u64::from_le_bytes(word.try_into().unwrap());
        }
        words[0] |= 1;
        Equation::inhomogeneous(words[3] as usize % m.max(1), words, (!self.member).into())
    }
    fn block(&self) -> &[u8] {
        &[]
    }
    fn discriminant(&self) -> &[u8] {
        &self.bytes
    }
}

impl Filterable<4> for Id {
    fn included(&self) -> bool {
        self.member
    }
}

impl Queryable<4> for Id {
    type UniverseMetadata = Nothing;
    type PartitionMetadata = ();
    fn in_universe(&self, _: &Nothing) -> bool {
        true
    }
}

fn size(members: impl Fn(u32) -> bool) -> usize {
    let id = |i: u32| Id { bytes: i.to_le_bytes(), member: members(i) };
    let mut builder = ClubcardBuilder::<4, Id>::new();
    let mut approximate = builder.new_approx_builder(&[]);
    (0..IDS).map(id).filter(|id| id.member).for_each(|id| approximate.insert(id));
    approximate.set_universe_size(IDS as usize);
    builder.collect_approx_ribbons(vec![ApproximateRibbon::from(approximate)]);
    let mut exact = builder.new_exact_builder(&[]);
    (0..IDS).for_each(|i| exact.insert(id(i)));
    builder.collect_exact_ribbons(vec![ExactRibbon::from(exact)]);
    let card = builder.build::<Id>(Nothing, ());
    assert!((0..IDS).all(|i| card.unchecked_contains(&id(i)) == members(i)));
    card.approximate_size_of()
}

fn main() {
    let (few, most, all) = (size(|i| i % 100 == 0), size(|i| i % 100 != 0), size(|_| true));
    println!("clubcard 0.3.3: bytes with 10,000 members: {few}, 990,000: {most}, 1,000,000: {all}");
    assert!(few < 12_000 && most > 120_000 && all < 1_000);
}
END
cargo -q run 2>/dev/null
