#!/usr/bin/env bash
# Version: npm json-bigint 1.0.0 (Node 20). Source: run on 2026-11-30; https://github.com/sidorares/json-bigint (big integers become BigNumber, BigInt or
# text).
# Guess: only integers beyond 2^53 change; a fraction is the number that JSON.parse gives, with useNativeBigInt, too.
# Behaviour: what counts is that the number has more than 15 characters, sign, point and exponent included: with useNativeBigInt 0.30000000000000004 and
# 3.141592653589793 are SyntaxErrors, with storeAsString texts, by default BigNumbers, beside 0.1234567890123, which is a number; with a minus it is
# none. The integer 1234567890123456, which is safe, is a BigInt, and 1000000000000000.0 an error. So one float of an array has another type than the rest.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund json-bigint@1.0.0
cat >finding.cjs <<'JS'
const assert = require("assert");
const json = require("json-bigint");

const texts = ["0.30000000000000004", "3.141592653589793", "0.1234567890123", "-0.1234567890123", "1234567890123456", "1000000000000000.0"];
function kinds(options) {
    return texts.map((text) => {
        try {
            const value = json(options).parse(text);
            return typeof value === "object" ? value.constructor.name : typeof value;
        } catch (error) {
            return error.name;
        }
    });
}
const got = [kinds({}), kinds({ useNativeBigInt: true }), kinds({ storeAsString: true })];
console.log("by default, with useNativeBigInt, with storeAsString:", got);
const kept = (big, whole) => [big, big, "number", big, whole, big];
assert.deepStrictEqual(got, [kept("BigNumber", "BigNumber"), kept("SyntaxError", "bigint"), kept("string", "string")]);
JS
node finding.cjs
