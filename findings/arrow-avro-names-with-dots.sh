#!/usr/bin/env bash
# Version: crates.io arrow-avro 60.1.0, beside fastavro 1.13.1 of PyPI. Source: run on 2026-11-29.
# Guess: the namespace of a type named "a.R" is a, as the specification says, whether the attribute `namespace` is there or not.
# Behaviour: the crate takes it only from the attribute. Of two enums E, in the records a.R and c.d.S, the one that was
# seen last is both: the value Q of a.E is read as Y, without an error. With the attribute both are right.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip -q install fastavro==1.13.1
env/bin/python - <<'END'
import fastavro

def schema(outer, inner):
    return {"type": "record", **outer, "fields": [
        {"name": "x", "type": {"type": "enum", "name": "E", "symbols": ["P", "Q"]}},
        {"name": "z", "type": {"type": "record", **inner, "fields": [
            {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"]}}]}},
        {"name": "w", "type": "E"}]}

row = {"x": "P", "z": {"e": "X"}, "w": "Q"}
for name, outer, inner in (("dots", {"name": "a.R"}, {"name": "c.d.S"}),
                           ("attribute", {"name": "R", "namespace": "a"},
                            {"name": "S", "namespace": "c.d"})):
    with open(name, "wb") as file:
        fastavro.writer(file, schema(outer, inner), [row])
    with open(name, "rb") as file:
        print(f"{name}: fastavro reads w =", next(fastavro.reader(file))["w"])
END
cargo init --quiet --vcs none --name finding .
printf 'arrow-array = "60.1"\narrow-avro = { version = "=60.1.0", default-features = false }\n' >>Cargo.toml
cat >src/main.rs <<'END'
use arrow_array::{cast::AsArray, types::Int32Type};
use arrow_avro::reader::ReaderBuilder;
use std::{fs::File, io::BufReader};

fn main() {
    for (name, want) in [("dots", "Y"), ("attribute", "Q")] {
        let file = BufReader::new(File::open(name).unwrap());
        let batch = ReaderBuilder::new().build(file).unwrap().next().unwrap().unwrap();
        let w = batch.column_by_name("w").unwrap().as_dictionary::<Int32Type>();
        let symbol = w.values().as_string::<i32>().value(w.keys().value(0) as usize);
        println!("{name}: arrow-avro reads w = {symbol}");
        assert!(symbol == want);
    }
}
END
cargo run --quiet
