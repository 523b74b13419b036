#!/usr/bin/env bash
# Version: npm papaparse 5.7.1 (Node 20). Source: run on 2026-12-01.
# Guess: the delimiter is guessed by the rows, whether or not the last one ends with a line end: a file of name;price with decimal commas has the semicolon in every row, its header has no comma. CR LF and LF are line ends.
# Behaviour: with two columns, a semicolon or a tab, and decimal commas the guess is right if the last row has no line end, and the comma if it has one, as files do: the empty line behind it counts as a row. All that says
# so is the error that no delimiter was detected. With skipEmptyLines it is right. In a file whose first line ends with CR LF a LF alone is part of a field: five lines are three rows, without an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund papaparse@5.7.1
cat >try.cjs <<'JS'
const assert = require("assert"), Papa = require("papaparse");

function parse(text, options) {
    const { data, errors, meta } = Papa.parse(text, options);
    console.log(JSON.stringify(text), options, JSON.stringify(data), errors.map((error) => error.code));
    return { data, meta, errors: errors.map((error) => error.code) };
}
for (const delimiter of [";", "\t"]) {
    const text = "name;price\nx;1,5\ny;2,25\nz;0,5".replaceAll(";", delimiter);
    assert.equal(parse(text, {}).meta.delimiter, delimiter);
    const ended = parse(text + "\n", {});
    assert.equal(ended.meta.delimiter, ",");
    assert.deepEqual(ended.data[1], ["x" + delimiter + "1", "5"]);
    assert.deepEqual(ended.errors, ["UndetectableDelimiter"]);
    assert.equal(parse(text + "\n", { skipEmptyLines: true }).meta.delimiter, delimiter);
}
const ends = parse("a,b\r\n1,2\n3,4\r\n5,6\n7,8\r\n", { skipEmptyLines: true });
assert.deepEqual(ends.data, [["a", "b"], ["1", "2\n3", "4"], ["5", "6\n7", "8"]]);
assert.deepEqual(ends.errors, []);
JS
node try.cjs
