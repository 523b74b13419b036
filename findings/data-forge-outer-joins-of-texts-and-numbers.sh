#!/usr/bin/env bash
# Version: npm data-forge 1.10.5 (Node 20). Source: run on 2026-12-01; https://data-forge.github.io/data-forge-ts/classes/series.html (join, joinOuter, groupBy, distinct: by what a selector gives).
# Guess: the outer join has a row for each pair, and one for each row of either side that is in no pair; what joins, groupBy and distinct take for one key is the same.
# Behaviour: join meets the keys 1 and "1"; joinOuter of them gives three rows: the pair, and each side once more alone; joinOuterLeft and joinOuterRight two, as the search for what is left over tells numbers from texts. So do
# distinct and union, and groupBy does not. toArray() and toPairs() of a Series leave out null and undefined, so that two columns of a frame are no longer beside each other, though count() counts them; average()
# does not divide by them. "0x10" is 16 by parseInts and 0 by parseFloats, "1,000" is 1 by both. between(10, 20) of the index 30, 10, 20 is empty.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund data-forge@1.10.5
cat >finding.cjs <<'JS'
const { DataFrame, Series } = require("data-forge");

const frame = (rows) => new DataFrame(rows);
const cases = [
    [new Series([1, "1", null, undefined, 1]).distinct().toArray(), [1, "1"]],
    [new Series([1, "1", 1]).groupBy((value) => value).select((group) => group.count()).toArray(), [3]],
    [frame([{ k: 1, v: 1 }]).joinOuter(frame([{ k: "1", w: 2 }]), (row) => row.k, (row) => row.k, (a, b) => [a && a.v, b && b.w]).toArray(),
     [[1, null], [1, 2], [null, 2]]],
    [frame([{ k: 1, v: 1 }]).join(frame([{ k: "1", w: 2 }]), (row) => row.k, (row) => row.k, (a, b) => [a.v, b.w]).toArray(), [[1, 2]]],
    [frame([{ k: 1, v: 1 }]).joinOuterLeft(frame([{ k: "1", w: 2 }]), (row) => row.k, (row) => row.k, (a, b) => [a && a.v, b && b.w]).toArray().length, 2],
    [frame([{ k: 1, v: 1 }]).joinOuterRight(frame([{ k: "1", w: 2 }]), (row) => row.k, (row) => row.k, (a, b) => [a && a.v, b && b.w]).toArray().length, 2],
    [[new Series([3, null, -1]).toArray(), new Series([3, null, -1]).toPairs()], [[3, -1], [[0, 3], [2, -1]]]],
    [[new Series([1, null, 3]).count(), new Series([1, null, 3]).average()], [3, 2]],
    [new Series({ values: [1, 2, 3], index: [30, 10, 20] }).between(10, 20).toArray(), []],
    [new Series({ values: [2, 3, 1], index: [10, 20, 30] }).between(10, 20).toArray(), [2, 3]],
    [new Series(["0x10", "1,000"]).parseInts().toArray(), [16, 1]],
    [new Series(["0x10", "1,000"]).parseFloats().toArray(), [0, 1]],
];
for (const [got, want] of cases) {
    console.log(JSON.stringify(got));
    if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`changed: ${JSON.stringify(want)}`);
}
JS
node finding.cjs
