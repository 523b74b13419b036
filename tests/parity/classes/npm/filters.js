// Reads, builds and queries filters with bloom-filters, for tests/parity/formats: the arguments of OtherFilters.java. The
// ids are UTF-8, as strings.
'use strict';
const fs = require('fs');
const path = require('path');
const {BloomFilter} = require('bloom-filters');

const lines = (file) => fs.readFileSync(file, 'utf8').split('\n').slice(0, -1);
const encode = (filter) => JSON.stringify(filter.saveAsJSON());

function sizes(numbers) {
  for (let i = 0; i < numbers.length; i += 2) {
    const filter = BloomFilter.create(Number(numbers[i]), Number(numbers[i + 1]));
    console.log(filter._size, filter._nbHashes);
  }
}

function main(format, ids, queries, out, p, m, k, ...files) {
  ids = lines(ids);
  queries = lines(queries);
  const made = BloomFilter.create(ids.length, Number(p));
  for (const id of ids) made.add(id);
  fs.writeFileSync(path.join(out, 'made.' + format), encode(made));
  for (const file of files) {
    const filter = BloomFilter.fromJSON(JSON.parse(fs.readFileSync(file, 'utf8')));
    const name = path.join(out, path.basename(file));
    fs.writeFileSync(name + '.admitted', queries.filter((id) => filter.has(id)).map((id) => id + '\n').join(''));
    fs.writeFileSync(name + '.again', encode(filter));
  }
}

if (process.argv[3] === 'sizes') sizes(process.argv.slice(4));
else main(...process.argv.slice(2));
