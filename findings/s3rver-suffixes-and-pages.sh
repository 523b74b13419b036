#!/usr/bin/env bash
# Version: npm s3rver 3.7.1 (Node 20). Source: run on 2026-12-01; https://www.rfc-editor.org/rfc/rfc9110#section-14.1.2 (bytes=-2: the last two bytes), https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjects.html (keys in the order of their
# bytes; marker: where to go on), API_CompleteMultipartUpload.html.
# Guess: a range of the last two bytes gives them; the pages of a list have each key once; a condition that it does not know is refused.
# Behaviour: bytes=-2 of "hello." is "hel", with Content-Range 0-2, so that a reader of Parquet's last bytes gets the first. Keys are listed by directory, a/b before "a b", a-b and a, and the next page begins behind
# the marker in the order of bytes: of six keys the pages of two have three. PUT with If-None-Match: * and If-Match overwrites; a wrong Content-MD5 and wrong ETags of parts are taken; GET with If-Match of another ETag
# gives the object.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund s3rver@3.7.1
cat >finding.cjs <<'JS'
const assert = require("node:assert");
const http = require("node:http");
const S3rver = require("s3rver");

(async () => {
    const server = new S3rver({ port: 0, address: "127.0.0.1", silent: true, directory: "data", configureBuckets: [{ name: "bucket" }] });
    const { port } = await server.run();
    const call = (method, path, body = "", headers = {}) => new Promise((resolve, reject) => {
        const request = http.request({ port, host: "127.0.0.1", method, path, headers: { ...headers, "content-length": body.length } }, (response) => {
            const chunks = [];
            response.on("data", (chunk) => chunks.push(chunk));
            response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString() }));
        });
        request.on("error", reject);
        request.end(body);
    });
    const keys = ["a", "a%20b", "a-b", "a/b", "a/c", "b"];
    for (const key of keys) await call("PUT", `/bucket/${key}`, "hello.");
    const suffix = await call("GET", "/bucket/a", "", { range: "bytes=-2" });
    const rest = await call("GET", "/bucket/a", "", { range: "bytes=4-" });
    console.log("bytes=-2", suffix.text, suffix.headers["content-range"], "bytes=4-", rest.text);
    assert.deepStrictEqual([suffix.text, suffix.headers["content-range"], rest.text], ["hel", "bytes 0-2/6", "o."]);

    const pages = [];
    for (let marker = "", more = true; more;) {
        const { text } = await call("GET", `/bucket?max-keys=2&marker=${encodeURIComponent(marker)}`);
        const page = [...text.matchAll(/<Key>(.*?)<\/Key>/g)].map((match) => match[1]);
        pages.push(page);
        marker = page[page.length - 1];
        more = text.includes("<IsTruncated>true");
    }
    const all = [...(await call("GET", "/bucket")).text.matchAll(/<Key>(.*?)<\/Key>/g)].map((match) => match[1]);
    console.log("all", all, "pages", pages);
    assert.deepStrictEqual(all, ["a/b", "a/c", "a b", "a-b", "a", "b"]);
    assert.deepStrictEqual(pages, [["a/b", "a/c"], ["b"]]);

    const statuses = [await call("PUT", "/bucket/a", "new", { "if-none-match": "*" }), await call("PUT", "/bucket/a", "newer", { "if-match": '"x"' }),
                      await call("PUT", "/bucket/md5", "x", { "content-md5": "AAAAAAAAAAAAAAAAAAAAAA==" }), await call("GET", "/bucket/a", "", { "if-match": '"x"' })];
    const id = /<UploadId>(.*?)</.exec((await call("POST", "/bucket/m?uploads")).text)[1];
    await call("PUT", `/bucket/m?partNumber=1&uploadId=${id}`, "part");
    statuses.push(await call("POST", `/bucket/m?uploadId=${id}`, "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"00\"</ETag></Part></CompleteMultipartUpload>"));
    console.log("statuses", statuses.map(({ status }) => status), statuses[3].text);
    assert.deepStrictEqual([statuses.map(({ status }) => status), statuses[3].text], [[200, 200, 200, 200, 200], "newer"]);
    await server.close();
})().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
JS
node finding.cjs
