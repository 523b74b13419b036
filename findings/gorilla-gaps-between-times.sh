#!/usr/bin/env bash
# Version: crates.io tsz 0.1.4 (Rust 1.95); Maven fi.iki.yak:compression-gorilla 2.1.1, Java 17. Source: run on 2026-11-30; the paper on Gorilla (Pelkonen and others,
# 2015): blocks of two hours, the first time as 14 bits after the start of its block, then differences of differences.
# Guess: times that rise are read back, whatever their unit and the gap between them; a gap that the code cannot hold is an error, or takes more bits.
# Behaviour: in Rust the first gap is cut to 14 bits: 20000 s after the start is 3616, and all later times are off, too, so that the second one is before the start. In milliseconds,
# which its u64 allow, 17 s are enough. In Java it is cut to 27 bits, 37 hours in milliseconds: 2^27 + 5000 is 5000, and of 2^27 - 1, which is
# the mark of the end, no row is read. No call fails.
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
tsz = "=0.1.4"
END
cat >src/main.rs <<'END'
use tsz::stream::{BufferedReader, BufferedWriter};
use tsz::{DataPoint, Decode, Encode, StdDecoder, StdEncoder};

fn trip(gap: u64) -> Vec<i64> {
    let start = 1_600_000_000;
    let mut encoder = StdEncoder::new(start, BufferedWriter::new());
    for time in [gap, gap + 60, gap * 2] {
        encoder.encode(DataPoint::new(start + time, 1.5));
    }
    let mut decoder = StdDecoder::new(BufferedReader::new(encoder.close()));
    let times = (0..3).map(|_| decoder.next().unwrap().get_time() as i64 - start as i64).collect();
    println!("Rust {gap} {times:?}");
    times
}

fn main() {
    assert_eq!(trip(10_000), [10_000, 10_060, 20_000]);
    assert_eq!(trip(20_000), [20_000 - 16_384, -12_708, -9_152]);
}
END
cargo -q run 2>/dev/null
curl -fsS -O https://repo1.maven.org/maven2/fi/iki/yak/compression-gorilla/2.1.1/compression-gorilla-2.1.1.jar
cat >Finding.java <<'JAVA'
import fi.iki.yak.ts.compression.gorilla.*;
import java.util.*;

public class Finding {
    static List<Long> trip(long gap) {
        long start = 1600000000000L;
        LongArrayOutput out = new LongArrayOutput();
        GorillaCompressor compressor = new GorillaCompressor(start, out);
        for (long time : new long[] {gap, gap + 60, gap + 120})
            compressor.addValue(start + time, 1.5);
        compressor.close();
        GorillaDecompressor reader = new GorillaDecompressor(new LongArrayInput(out.getLongArray()));
        List<Long> times = new ArrayList<>();
        for (Pair pair = reader.readPair(); pair != null && times.size() < 3; pair = reader.readPair())
            times.add(pair.getTimestamp() - start);
        System.out.println("Java " + gap + " " + times);
        return times;
    }

    public static void main(String[] arguments) {
        long limit = 1 << 27;
        if (!trip(limit - 2).equals(List.of(limit - 2, limit + 58, limit + 118)) || !trip(limit - 1).isEmpty() || trip(limit + 5000).get(0) != 5000)
            throw new AssertionError("changed");
    }
}
JAVA
java -cp '*' Finding.java
