//! Reads, builds and queries filters with fastbloom, for tests/parity/formats: the arguments of OtherFilters.java. The ids are
//! UTF-8, as str. For fuse8 and fuse16, the raw bits of glint, whose shards are opened with xorf:
//! FORMAT fuse QUERIES OUT BITS.
use fastbloom::BloomFilter;
use std::{env, fs, path::Path};
use xorf::{BinaryFuse16, BinaryFuse8, Filter};
use xxhash_rust::xxh64::xxh64;

fn lines(path: &str) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(String::from).collect()
}

fn sizes(numbers: &[String]) {
    for pair in numbers.chunks(2) {
        let (n, p) = (pair[0].parse().unwrap(), pair[1].parse().unwrap());
        let filter = BloomFilter::with_false_pos(p).seed(&0).expected_items(n);
        println!("{} {}", filter.num_bits(), filter.num_hashes());
    }
}

fn number(bits: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bits[at..at + 8].try_into().unwrap())
}

/// The queries that the shards of the bits admit.
fn fuse<F: Filter<u64> + serde::de::DeserializeOwned>(bits: &[u8], queries: &[u8]) -> Vec<u8> {
    let shards = number(bits, 0);
    let mut begin = 8 + 16 * shards as usize;
    let mut filters: Vec<F> = Vec::new();
    for i in 0..shards as usize {
        let end = number(bits, 8 + 16 * i) as usize;
        filters.push(bincode::deserialize(&bits[begin..end]).unwrap());
        begin = end;
    }
    let admits = |id: &[u8]| {
        let hash = xxh64(id, 0);
        filters[((hash >> 32) * shards >> 32) as usize].contains(&hash)
    };
    let lines = queries.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| admits(&line[..line.len() - 1])).flatten().copied().collect()
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let (format, out) = (&arguments[1], Path::new(&arguments[4]));
    if arguments[2] == "sizes" {
        return sizes(&arguments[3..]);
    }
    if arguments[2] == "fuse" {
        let (bits, queries) = (fs::read(&arguments[5]).unwrap(), fs::read(&arguments[3]).unwrap());
        let wide = format == "fuse16";
        let query = if wide { fuse::<BinaryFuse16> } else { fuse::<BinaryFuse8> };
        return fs::write(out.join("admitted"), query(&bits, &queries)).unwrap();
    }
    let (ids, queries) = (lines(&arguments[2]), lines(&arguments[3]));
    let builder = BloomFilter::with_false_pos(arguments[5].parse().unwrap()).seed(&0);
    let mut made = builder.expected_items(ids.len());
    for id in &ids {
        made.insert(id.as_str());
    }
    fs::write(out.join(format!("made.{format}")), bincode::serialize(&made).unwrap()).unwrap();
    for path in &arguments[8..] {
        let filter: BloomFilter = bincode::deserialize(&fs::read(path).unwrap()).unwrap();
        let name = out.join(Path::new(path).file_name().unwrap());
        let admitted: String = queries
            .iter()
            .filter(|id| filter.contains(id.as_str()))
            .map(|id| format!("{id}\n"))
            .collect();
        fs::write(format!("{}.admitted", name.display()), admitted).unwrap();
        fs::write(format!("{}.again", name.display()), bincode::serialize(&filter).unwrap()).unwrap();
    }
}
