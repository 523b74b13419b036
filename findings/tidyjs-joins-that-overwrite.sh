#!/usr/bin/env bash
# Version: npm @tidyjs/tidy 2.6.1 (Node 20). Source: run on 2026-12-01; https://pbeshai.github.io/tidy/docs/api/tidy (leftJoin, innerJoin, distinct, rate, fullSeqDate; "inspired by dplyr").
# Guess: a column that both sides of a join have and that is no key is there twice, as in dplyr, or is an error; what joins is what groupBy and distinct take for one key.
# Behaviour: leftJoin replaces the left value by the right one, 1 by 9, where a row joins, and keeps it where none does. innerJoin meets the keys 1 and "1", and writes "1" over 1; null meets null and NaN meets NaN. distinct and groupBy keep 1 and "1" apart; distinct() without columns leaves equal rows
# twice. rate of 0 and 0 is 0, of 1 and 0 undefined. fullSeqDate by month from 2020-01-31 to 2020-03-31 is the first and 2020-03-02, without February and without the end.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund @tidyjs/tidy@2.6.1
cat >finding.cjs <<'JS'
const assert = require("node:assert");
const { distinct, expand, fullSeqDate, groupBy, innerJoin, leftJoin, mutate, n, rate, summarize, tidy } = require("@tidyjs/tidy");

function check(got, want) {
    console.log(JSON.stringify(got));
    assert.deepStrictEqual(JSON.parse(JSON.stringify(got)), want);
}
check(tidy([{ k: 1, a: 1 }, { k: 2, a: 2 }], leftJoin([{ k: 1, a: 9, b: 1 }], { by: "k" })), [{ k: 1, a: 9, b: 1 }, { k: 2, a: 2 }]);
check(tidy([{ k: 1, a: 1 }, { k: null, a: 2 }], innerJoin([{ k: "1", b: 1 }, { k: null, b: 2 }], { by: "k" })), [{ k: "1", a: 1, b: 1 }, { k: null, a: 2, b: 2 }]);
check(tidy([{ k: NaN, a: 1 }], innerJoin([{ k: NaN, b: 1 }], { by: "k" })).length, 1);
check(tidy([{ k: 1 }, { k: "1" }], distinct(["k"])), [{ k: 1 }, { k: "1" }]);
check(tidy([{ k: 1 }, { k: "1" }], groupBy("k", [summarize({ n: n() })])), [{ k: 1, n: 1 }, { k: "1", n: 1 }]);
check(tidy([{ k: 1 }, { k: 1 }], distinct()), [{ k: 1 }, { k: 1 }]);
check(tidy([{ a: 1, b: 0 }, { a: 0, b: 0 }], mutate({ r: rate("a", "b") })), [{ a: 1, b: 0 }, { a: 0, b: 0, r: 0 }]);
const days = tidy([{ d: new Date("2020-01-31") }, { d: new Date("2020-03-31") }], expand({ d: fullSeqDate("d", "month") }));
check(days.map(({ d }) => d.toISOString().slice(0, 10)), ["2020-01-31", "2020-03-02"]);
JS
TZ=UTC node finding.cjs
