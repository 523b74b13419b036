#!/usr/bin/env bash
# Version: crates.io arrow-avro 60.1.0, beside fastavro 1.13.1 of PyPI. Source: run on 2026-11-29.
# Guess: a block says how many rows it has, so that rows whose columns are all of the type null, which take no bytes, are read.
# Behaviour: the crate's reader of files goes on to the next block when one has no bytes left, whatever number of rows it has:
# of 1,000 rows it returns none, without an error. fastavro, which wrote the file, reads 1,000. With a column of bytes beside it all are read.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install fastavro==1.13.1
env/bin/python - <<'END'
import fastavro

for name, types in ("nulls", ["null"]), ("both", ["null", "int"]):
    fields = [{"name": f"c{i}", "type": kind} for i, kind in enumerate(types)]
    rows = [{f"c{i}": None if kind == "null" else 7 for i, kind in enumerate(types)}] * 1000
    with open(name, "wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, rows)
    with open(name, "rb") as file:
        print(f"{name}: fastavro reads", sum(1 for _ in fastavro.reader(file)))
END
cargo init --quiet --vcs none --name finding .
printf 'arrow-avro = { version = "=60.1.0", default-features = false }\n' >>Cargo.toml
cat >src/main.rs <<'END'
use arrow_avro::reader::ReaderBuilder;
use std::{fs::File, io::BufReader};

fn main() {
    for (name, want) in [("nulls", 0), ("both", 1000)] {
        let file = BufReader::new(File::open(name).unwrap());
        let reader = ReaderBuilder::new().build(file).unwrap();
        let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
        println!("{name}: arrow-avro reads {rows}");
        assert!(rows == want);
    }
}
END
cargo run --quiet
