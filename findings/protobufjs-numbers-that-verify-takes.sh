#!/usr/bin/env bash
# Version: npm protobufjs 8.8.1 (Node 20). Source: run on 2026-11-30; https://github.com/protobufjs/protobuf.js#usage (verify: "verifies that a plain JavaScript object
# satisfies the requirements of a valid message") and https://protobuf.dev/programming-guides/proto3/#scalar (int32, uint32).
# Guess: verify() refuses an integer that the field cannot hold, as it refuses 1.5; encode() writes what verify() has taken.
# Behaviour: verify() takes every integer: 2^31 in an int32 is -2^31, 2^32 + 5 is 5, -1 in a uint32 is 2^32 - 1. It refuses the digits of an int64 as a text, which
# fromObject() reads exactly. One object is two messages: for a uint64 -1 fromObject() has 0, nothing is written, and create() 2^64 - 1; for an int64 1e19
# fromObject() has 2^63 - 1 and create() -8446744073709551616.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund protobufjs@8.8.1
cat >try.mjs <<'JS'
import assert from "assert";
import protobuf from "protobufjs";

const Row = protobuf.parse('syntax = "proto3"; message Row { int32 i = 1; uint32 u = 2; int64 l = 3; uint64 ul = 4; }').root.lookupType("Row");

function both(object) {
    const read = (message) => Row.toObject(Row.decode(Row.encode(message).finish()), { longs: String, defaults: true });
    const key = Object.keys(object)[0];
    const got = [Row.verify(object), String(read(Row.fromObject(object))[key]), String(read(Row.create(object))[key])];
    console.log(object, got);
    return got;
}

assert.deepEqual(both({ i: 2 ** 31 }), [null, "-2147483648", "-2147483648"]);
assert.deepEqual(both({ i: 2 ** 32 + 5 }), [null, "5", "5"]);
assert.deepEqual(both({ u: -1 }), [null, "4294967295", "4294967295"]);
assert.deepEqual(both({ ul: -1 }), [null, "0", "18446744073709551615"]);
assert.deepEqual(both({ l: 1e19 }), [null, "9223372036854775807", "-8446744073709551616"]);
assert.equal(both({ l: "9007199254740993" })[0], "l: integer|Long expected");
assert.equal(both({ l: "9007199254740993" })[1], "9007199254740993");
assert.equal(Row.verify({ i: 1.5 }), "i: integer expected");
JS
node try.mjs
