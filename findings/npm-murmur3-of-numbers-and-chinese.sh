#!/usr/bin/env bash
# Version: npm murmurhash-js 1.0.0, murmurhash3js 3.0.1, imurmurhash 0.1.4, murmurhash 2.0.1 (Node 20); PyPI mmh3 5.3.0 (Python 3.11). Source: run on 2026-12-01.
# Guess: MurmurHash3 with 32 bits is that of the text's UTF-8 in all four, or of its UTF-16, so that different texts have different hashes; a number is hashed as its text, or refused.
# Behaviour: all numbers have the hash 0 in all four, without an error, so that integers as ids meet in one bucket. murmurhash-js and murmurhash3js take the lower 8 bits of each
# UTF-16 unit: the 20,896 Chinese characters have 256 hashes, and "ш" has that of "H". imurmurhash hashes the 16 bits in a way of its own. Only murmurhash agrees with mmh3.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund murmurhash-js@1.0.0 murmurhash3js@3.0.1 imurmurhash@0.1.4 murmurhash@2.0.1
python3 -m venv env
env/bin/pip -q install mmh3==5.3.0
env/bin/python -c 'import json, mmh3; print(json.dumps({text: mmh3.hash(text, 0, False) for text in ("H", "ш", "é", "日本", "😀")}))' >expected.json
cat >try.mjs <<'JS'
import assert from "assert";
import { readFileSync } from "fs";
import { createRequire } from "module";

const require = createRequire(import.meta.url);
const incremental = require("imurmurhash");
const hashes = {
    "murmurhash-js": (text) => require("murmurhash-js").murmur3(text, 0), murmurhash3js: (text) => require("murmurhash3js").x86.hash32(text),
    imurmurhash: (text) => new incremental(text).result(), murmurhash: (text) => require("murmurhash").v3(text, 0),
};
const expected = JSON.parse(readFileSync("expected.json"));
const equal = { "murmurhash-js": "H", murmurhash3js: "H", imurmurhash: "H", murmurhash: "Hшé日本😀" };
for (const [name, hash] of Object.entries(hashes)) {
    const chinese = new Set(), numbers = new Set();
    for (let unit = 0x4e00; unit < 0x9fa0; unit++) chinese.add(hash(String.fromCharCode(unit)));
    for (let id = 1; id <= 1000; id++) numbers.add(hash(id));
    const same = Object.keys(expected).filter((text) => hash(text) === expected[text]).join("");
    console.log(`${name}: as mmh3: ${same}; hashes of 20,896 Chinese characters: ${chinese.size}; of 1,000 numbers:`, numbers, hash("ш") === hash("H"));
    assert.equal(same, equal[name]);
    assert.deepEqual([...numbers], [0]);
    assert.equal(chinese.size, /js/.test(name) ? 256 : 20896);
    assert.equal(hash("ш") === hash("H"), /js/.test(name));
}
JS
node try.mjs
