//! Reads, builds and queries filters with fastbloom, for tests/parity/formats: the arguments of OtherFilters.java. The ids are
//! UTF-8, as str.
use fastbloom::BloomFilter;
use std::{env, fs, path::Path};

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

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let (format, out) = (&arguments[1], Path::new(&arguments[4]));
    if arguments[2] == "sizes" {
        return sizes(&arguments[3..]);
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
