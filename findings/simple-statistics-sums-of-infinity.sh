#!/usr/bin/env bash
# Version: npm simple-statistics 7.12.1 (Node 20). Source: run on 2026-12-01; https://simple-statistics.github.io/docs/#sum (Kahan-Babuska), #sumsimple, #max, #extent, #median.
# Guess: the sum with less error is infinity where the simple one is; NaN in the input is NaN in the result, or is left out, in any place.
# Behaviour: sum([Infinity, 1]) is NaN, and so are the mean, and the sum of 1e308, 1e308 and -1e308; sumSimple has Infinity. max([1, NaN, 3]) is 3 and max([NaN, 1]) NaN, extent([3, NaN, 1]) is [1, 3]. median([3, NaN, 1])
# is 3, median([NaN, 3, 1]) NaN and median([1, 3, NaN]) 1. uniqueCountSorted([NaN, NaN, 1]) is 3.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund simple-statistics@7.12.1
cat >finding.cjs <<'JS'
const s = require("simple-statistics");

const got = {
    sums: [s.sum([Infinity, 1]), s.mean([Infinity, 1]), s.sum([1e308, 1e308, -1e308]), s.sumSimple([Infinity, 1]), s.sumSimple([1e308, 1e308, -1e308])],
    max: [s.max([1, NaN, 3]), s.max([NaN, 1]), s.min([1, NaN, 3]), ...s.extent([3, NaN, 1])],
    median: [s.median([3, NaN, 1]), s.median([NaN, 3, 1]), s.median([1, 3, NaN])],
    count: [s.uniqueCountSorted([NaN, NaN, 1])],
};
const text = Object.entries(got).map(([name, values]) => `${name} ${values.join(" ")}`).join("; ");
console.log(text);
if (text !== "sums NaN NaN NaN Infinity Infinity; max 3 NaN 1 1 3; median 3 NaN 1; count 3") throw new Error("changed");
JS
node finding.cjs
