#!/usr/bin/env bash
# Version: crates.io apache-avro 0.22.0, serde_json 1.0.154, num-bigint 0.5.1 (Rust 1.95). Source: run on 2026-11-30;
# https://avro.apache.org/docs/1.12.0/specification/#schema-resolution and #aliases; defaults of fixed are texts whose code points are the bytes.
# Guess: a reader may rename a field with an alias, and read a timestamp as the plain long that it is, or a decimal as bytes; a double for a reader of
# floats is an error; a default of a fixed of 2 bytes has 2 bytes.
# Behaviour: with an alias "Missing field", and long, bytes and timestamp-micros for timestamp-millis are errors, though long is read as timestamp-millis.
# A double is read as a float, rounded. The default "\u00ff\u0001" of a fixed of 2 bytes has 3 bytes, its UTF-8, without an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir src
cat >Cargo.toml <<'END'
[package]
name = "finding"
version = "0.1.0"
edition = "2021"
[dependencies]
apache-avro = "=0.22.0"
num-bigint = "=0.5.1"
serde_json = "=1.0.154"
END
cat >src/main.rs <<'END'
use apache_avro::{from_avro_datum, to_avro_datum, types::Value, Decimal, Schema};

fn read(writer: &str, reader: &str, value: Value) -> Result<Value, String> {
    let writer = Schema::parse_str(writer).unwrap();
    let reader = Schema::parse_str(reader).unwrap();
    let bytes = to_avro_datum(&writer, value).unwrap();
    let result = from_avro_datum(&writer, &mut &bytes[..], Some(&reader)).map_err(|error| error.to_string());
    println!("{result:?}");
    result
}

fn record(fields: &str) -> String {
    format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#)
}

fn main() {
    let millis = r#"{"type": "long", "logicalType": "timestamp-millis"}"#;
    let micros = r#"{"type": "long", "logicalType": "timestamp-micros"}"#;
    let decimal = r#"{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}"#;
    let old = record(r#"{"name": "a", "type": "int"}"#);
    let row = || Value::Record(vec![("a".into(), Value::Int(1))]);

    let renamed = record(r#"{"name": "b", "aliases": ["a"], "type": "int"}"#);
    assert!(read(&old, &renamed, row()).unwrap_err().contains("Missing field"));
    assert!(read(millis, r#""long""#, Value::TimestampMillis(1500)).is_err());
    assert!(read(millis, micros, Value::TimestampMillis(1500)).is_err());
    assert!(read(decimal, r#""bytes""#, Value::Decimal(Decimal::from(vec![1u8, 0]))).is_err());
    assert_eq!(read(r#""long""#, millis, Value::Long(1500)), Ok(Value::TimestampMillis(1500)));
    assert_eq!(read(r#""double""#, r#""float""#, Value::Double(0.1)), Ok(Value::Float(0.1)));

    let longer = record(r#"{"name": "a", "type": "int"},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 2}, "default": "\u00ff\u0001"}"#);
    let fixed = Value::Fixed(3, vec![0xc3, 0xbf, 1]);
    assert_eq!(read(&old, &longer, row()), Ok(Value::Record(vec![("a".into(), Value::Int(1)), ("f".into(), fixed)])));
}
END
cargo -q run 2>errors || { cat errors; exit 1; }
