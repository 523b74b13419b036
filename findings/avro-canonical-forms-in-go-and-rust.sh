#!/usr/bin/env bash
# Version: crates.io apache-avro 0.22.0 (Rust 1.95), Go modules hamba/avro/v2 v2.31.0, linkedin/goavro/v2 v2.15.0 (Go 1.26), PyPI fastavro 1.13.1
# (Python 3.11). Source: run on 2026-11-30; https://avro.apache.org/docs/1.12.0/specification/#parsing-canonical-form-for-schemas (a primitive type is
# its name, names are full names, attributes but type, name, fields, symbols, items, values and size are dropped).
# Guess: a schema with a fixed, a decimal and a time in a namespace has one canonical form, so that its fingerprint finds it in all four.
# Behaviour: there are four. goavro writes the fixed as F, without its namespace. hamba/avro keeps logicalType, precision and scale, Rust precision and
# scale; for the time goavro and Rust write {"type":"long"} instead of "long". fastavro's is that of the specification.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >schema.json <<'END'
{"type": "record", "name": "a.R", "fields": [
 {"name": "d", "type": {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}},
 {"name": "t", "type": {"type": "long", "logicalType": "timestamp-millis"}}]}
END
mkdir src
cat >Cargo.toml <<'END'
[package]
name = "finding"
version = "0.1.0"
edition = "2021"
[dependencies]
apache-avro = "=0.22.0"
END
cat >src/main.rs <<'END'
fn main() {
    let text = std::fs::read_to_string("schema.json").unwrap();
    println!("{}", apache_avro::Schema::parse_str(&text).unwrap().canonical_form());
}
END
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/hamba/avro/v2"
	"github.com/linkedin/goavro/v2"
)

func main() {
	text, _ := os.ReadFile("schema.json")
	codec, err := goavro.NewCodec(string(text))
	if err != nil {
		panic(err)
	}
	fmt.Println(avro.MustParse(string(text)).String())
	fmt.Println(codec.CanonicalSchema())
}
END
go mod init finding 2>/dev/null
go get github.com/hamba/avro/v2@v2.31.0 github.com/linkedin/goavro/v2@v2.15.0 2>/dev/null
{
    cargo -q run 2>/dev/null
    go run main.go
} >forms
python3 -m venv env
env/bin/pip -q install fastavro==1.13.1
env/bin/python - <<'END'
import json
import fastavro.schema

rust, hamba, goavro = open("forms").read().splitlines()
fast = fastavro.schema.to_parsing_canonical_form(json.load(open("schema.json")))
print(f"fastavro {fast}\ngoavro {goavro}\nhamba/avro {hamba}\nRust {rust}")
start, end = '{"name":"a.R","type":"record","fields":[{"name":"d","type":{"name":"', '}]}'
assert fast == start + 'a.F","type":"fixed","size":4}},{"name":"t","type":"long"' + end
assert goavro.replace('{"type":"long"}', '"long"') == fast.replace("a.F", "F")
assert '"logicalType":"decimal","precision":9,"scale":2' in hamba and '"logicalType":"timestamp-millis"' in hamba
assert '"size":4,"precision":9,"scale":2' in rust
assert rust.count('"type":{"type":"long"}') == 1 and len({rust, hamba, goavro, fast}) == 4
END
