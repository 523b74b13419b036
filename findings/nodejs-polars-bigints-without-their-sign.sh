#!/usr/bin/env bash
# Version: npm nodejs-polars 0.26.1 (Node 20). Source: run on 2026-12-01; https://pola-rs.github.io/nodejs-polars/ (Series of numbers, bigint, strings; a type as the third argument).
# Guess: a Series of bigint holds them as Int64, as they are signed, or refuses what it cannot; with the type Int64 in any case.
# Behaviour: they become UInt64 without their sign: [-1n, 5n] is [1n, 5n], in a DataFrame, in lists, from records and in lit(-5n), too; 2n ** 64n is 0n. With the type Int64, Int32 or Float64, or a schema that says so, each bigint
# is null, while the numbers 1 and 2 are kept and BigInt64Array is right. What does not have the type of the first element is null: [1, 2n], ["x", 1], [true, 1]; from records all becomes text. Int8 with 300 is
# null, 1.9 as Int32 is 1. The median of 1 to 4 is 2.5 and quantile(0.5) 3.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund nodejs-polars@0.26.1 nodejs-polars-linux-x64-gnu@0.26.1
cat >finding.mjs <<'JS'
import pl from "nodejs-polars";

const values = (...rest) => pl.Series(...rest).toArray();
const cases = [
    [values([-1n, 5n]), [1n, 5n]], [values([2n ** 64n]), [0n]], [values([[-1n]]), [[1n]]],
    [pl.DataFrame({ a: [-1n] }).rows(), [[1n]]], [pl.readRecords([{ a: -1n }]).rows(), [[1n]]],
    [pl.DataFrame({ a: [1] }).select(pl.lit(-5n)).rows(), [[5n]]],
    [values("a", [1n, -2n], pl.Int64), [null, null]], [values("a", [1n], pl.Int32), [null]], [values("a", [1n], pl.Float64), [null]],
    [pl.DataFrame({ a: [1n] }, { schema: { a: pl.Int64 } }).rows(), [[null]]],
    [values("a", [1, 2], pl.Int64), [1, 2]], [values("a", BigInt64Array.from([-1n, 5n])), [-1, 5]],
    [values([1, 2n]), [1, null]], [values(["x", 1]), ["x", null]], [values([true, 1]), [true, null]],
    [pl.readRecords([{ a: 1 }, { a: "x" }]).rows(), [["1"], ["x"]]],
    [values("a", [300, -1], pl.Int8), [null, -1]], [values("a", [1.9, -1.9], pl.Int32), [1, -1]],
    [[pl.Series([1, 2, 3, 4]).median(), pl.Series([1, 2, 3, 4]).quantile(0.5)], [2.5, 3]],
];
const text = (value) => JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}n` : part));
for (const [got, want] of cases) {
    console.log(text(got));
    if (text(got) !== text(want)) throw new Error(`changed: ${text(want)}`);
}
JS
node finding.mjs
