//! The schema of an Avro file, in a form that the crate arrow-avro 60.1 reads as the specification
//! says. It takes the namespace of a full name such as "a.b.c" for that of the type only if the
//! attribute `namespace` says so: other names in the type are then found in another namespace, or not at all.

use crate::error::{unsupported, Result};
use arrow_avro::schema::AvroSchema;
use serde_json::{Map, Value};

/// Sets the attribute to what the full name has, and the name to its last part.
fn split_name(object: &mut Map<String, Value>) {
    let Some(Value::String(name)) = object.get("name") else {
        return;
    };
    if let Some((space, last)) = name.rsplit_once('.') {
        let (space, last) = (Value::from(space), Value::from(last));
        object.insert("namespace".into(), space);
        object.insert("name".into(), last);
    }
}

/// A UUID that is stored as text is read as text.
fn keep_text(object: &mut Map<String, Value>) {
    let text = object.get("type").is_some_and(|base| base == "string");
    if text && object.get("logicalType").is_some_and(|logical| logical == "uuid") {
        object.remove("logicalType");
    }
}

fn is_named(object: &Map<String, Value>) -> bool {
    let kind = object.get("type").and_then(Value::as_str);
    matches!(kind, Some("record" | "error" | "enum" | "fixed"))
}

/// Visits types only: a default value may look like one.
fn visit(value: &mut Value) {
    match value {
        Value::Array(branches) => branches.iter_mut().for_each(visit),
        Value::Object(object) => {
            if is_named(object) {
                split_name(object);
            }
            keep_text(object);
            for part in ["type", "items", "values"] {
                if let Some(part) = object.get_mut(part) {
                    visit(part);
                }
            }
            if let Some(Value::Array(fields)) = object.get_mut("fields") {
                fields.iter_mut().for_each(visit);
            }
        }
        _ => (),
    }
}

pub fn normalized(schema: &AvroSchema) -> Result<AvroSchema> {
    let mut value: Value = serde_json::from_str(&schema.json_string)
        .map_err(|error| unsupported(format!("its schema is no JSON: {error}")))?;
    visit(&mut value);
    Ok(AvroSchema::new(value.to_string()))
}
