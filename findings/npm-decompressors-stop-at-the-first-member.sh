#!/usr/bin/env bash
# Version: npm fflate 0.8.3, pako 3.0.3, fzstd 0.1.1, lz4js 0.2.0, lz4-napi 2.10.0, seek-bzip 2.0.0, compressjs 1.0.3,
# unbzip2-stream 1.4.3 (Node 20); Debian 12's gzip, zstd, lz4 and bzip2. Source: run on 2026-11-29; all four formats allow
# several members in a file, as `cat` makes.
# Guess: a package decompresses all members, or says that bytes are left.
# Behaviour: fflate's gunzipSync, lz4js, lz4-napi, seek-bzip without its option `multistream`, and compressjs return the
# first member, without an error. fflate's Gunzip class, pako, Node's zlib, fzstd and unbzip2-stream return both.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund fflate@0.8.3 pako@3.0.3 fzstd@0.1.1 \
    lz4js@0.2.0 lz4-napi@2.10.0 seek-bzip@2.0.0 compressjs@1.0.3 unbzip2-stream@1.4.3
cat > try.mjs <<'JS'
import assert from "assert";
import { execSync } from "child_process";
import { createRequire } from "module";
import zlib from "zlib";

const require = createRequire(import.meta.url);
const two = {};
for (const tool of ["gzip", "zstd", "lz4", "bzip2"])
    two[tool] = execSync(`(echo one | ${tool} -c; echo two | ${tool} -c)`, { shell: "/bin/bash" });
const fflate = require("fflate"), bzip = require("seek-bzip");
const streamed = [];
new fflate.Gunzip((chunk) => streamed.push(Buffer.from(chunk))).push(two.gzip, true);
const bunzipped = await new Promise((resolve, reject) => {
    const parts = [], stream = require("unbzip2-stream")();
    stream.on("data", (part) => parts.push(part)).on("error", reject).on("end", () => resolve(Buffer.concat(parts)));
    stream.end(two.bzip2);
});
const first = {
    "fflate.gunzipSync": fflate.gunzipSync(two.gzip), lz4js: require("lz4js").decompress(two.lz4),
    "lz4-napi": require("lz4-napi").decompressFrameSync(two.lz4), "seek-bzip": bzip.decode(two.bzip2),
    compressjs: require("compressjs").Bzip2.decompressFile(two.bzip2),
};
const both = {
    "fflate.Gunzip": Buffer.concat(streamed), pako: require("pako").ungzip(two.gzip), zlib: zlib.gunzipSync(two.gzip),
    fzstd: require("fzstd").decompress(two.zstd), "seek-bzip, multistream": bzip.decode(two.bzip2, null, true),
    "unbzip2-stream": bunzipped,
};
for (const [names, text] of [[first, "one\n"], [both, "one\ntwo\n"]])
    for (const [name, bytes] of Object.entries(names)) {
        console.log(name, JSON.stringify(Buffer.from(bytes).toString()));
        assert.equal(Buffer.from(bytes).toString(), text);
    }
JS
node try.mjs
