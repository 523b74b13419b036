//! Checks the bytes of rows before the crate arrow-avro 60.1 decodes them: it takes each branch of a
//! union with null that is not null for the other one, and each byte that is not 0 for true. Rows of
//! types without unions and booleans are not looked at.

use crate::error::{damaged, unsupported, Result};
use arrow_avro::schema::AvroSchema;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Of types in types.
const DEPTH_MAX: u32 = 256;
/// Of an array or a map whose items have no bytes.
const ITEMS_MAX: u64 = i32::MAX as u64;

/// Types within a type are numbers in Checker::types.
enum Type {
    Null,
    Boolean,
    Number, // int, long
    Fixed(usize),
    Bytes, // and string
    Enum(u64),
    Array(usize),
    Map(usize),
    Record(Vec<usize>),
    Union(Vec<usize>),
}

pub struct Checker {
    types: Vec<Type>,
    row: usize,
    /// Whether a type is one that the crate does not check.
    pub needed: bool,
}

struct Reader {
    types: Vec<Type>,
    names: HashMap<String, usize>,
    open: Vec<usize>, // types whose parts are read
    needed: bool,
}

fn invalid(what: &str) -> crate::error::Error {
    unsupported(format!("its schema: {what}"))
}

impl Reader {
    fn add(&mut self, made: Type) -> usize {
        self.types.push(made);
        self.types.len() - 1
    }

    fn many(&mut self, values: &[Value], space: &str) -> Result<Vec<usize>> {
        values.iter().map(|value| self.read(value, space)).collect()
    }

    fn read_name(&mut self, name: &str, space: &str) -> Result<usize> {
        let made = match name {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "int" | "long" => Type::Number,
            "float" => Type::Fixed(4),
            "double" => Type::Fixed(8),
            "bytes" | "string" => Type::Bytes,
            _ => {
                let full = full_name(name, space);
                let known = self.names.get(&full).or_else(|| self.names.get(name));
                return match known {
                    Some(place) if self.open.contains(place) => {
                        Err(invalid("a type that contains itself is not supported"))
                    }
                    Some(place) => Ok(*place),
                    None => Err(invalid("a type has no definition")),
                };
            }
        };
        self.needed |= matches!(made, Type::Boolean);
        Ok(self.add(made))
    }

    fn read(&mut self, value: &Value, space: &str) -> Result<usize> {
        match value {
            Value::String(name) => self.read_name(name, space),
            Value::Array(branches) => {
                let branches = self.many(branches, space)?;
                self.needed = true;
                Ok(self.add(Type::Union(branches)))
            }
            Value::Object(object) => self.read_object(object, space),
            _ => Err(invalid("a type is neither a name nor an object")),
        }
    }

    fn read_object(&mut self, object: &Map<String, Value>, space: &str) -> Result<usize> {
        let kind = object.get("type").ok_or_else(|| invalid("a type is missing"))?;
        let part = |name: &str| object.get(name).ok_or_else(|| invalid("a part is missing"));
        let space = match object.get("namespace") {
            Some(Value::String(own)) => own,
            _ => space,
        };
        let Value::String(kind) = kind else {
            return self.read(kind, space);
        };
        let place = self.types.len();
        match kind.as_str() {
            "record" | "error" | "enum" | "fixed" => {
                let name = part("name")?.as_str().ok_or_else(|| invalid("a name is no text"))?;
                self.names.insert(full_name(name, space), place);
                self.add(Type::Null); // its place
                self.open.push(place);
            }
            "array" => {
                let items = self.read(part("items")?, space)?;
                return Ok(self.add(Type::Array(items)));
            }
            "map" => {
                let values = self.read(part("values")?, space)?;
                return Ok(self.add(Type::Map(values)));
            }
            name => return self.read_name(name, space),
        }
        let array = |name: &str| {
            part(name)?.as_array().ok_or_else(|| invalid("a part of a type is no list"))
        };
        self.types[place] = match kind.as_str() {
            "enum" => Type::Enum(array("symbols")?.len() as u64),
            "fixed" => {
                let size = part("size")?.as_u64().and_then(|size| usize::try_from(size).ok());
                Type::Fixed(size.ok_or_else(|| invalid("a size is no number"))?)
            }
            _ => {
                let fields = array("fields")?.iter().map(|field| {
                    let kind = field.get("type").ok_or_else(|| invalid("a field has no type"))?;
                    self.read(kind, space)
                });
                Type::Record(fields.collect::<Result<Vec<usize>>>()?)
            }
        };
        self.open.pop();
        Ok(place)
    }
}

fn full_name(name: &str, space: &str) -> String {
    match name.contains('.') || space.is_empty() {
        true => name.into(),
        false => format!("{space}.{name}"),
    }
}

fn take<'a>(bytes: &mut &'a [u8], size: usize) -> Result<&'a [u8]> {
    match bytes.split_at_checked(size) {
        Some((taken, rest)) => {
            *bytes = rest;
            Ok(taken)
        }
        None => Err(damaged("a row has more bytes than its block")),
    }
}

/// Reads a number in zigzag coding.
pub fn take_number(bytes: &mut &[u8]) -> Result<i64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    Err(damaged("a number has more than ten bytes"))
}

fn take_bytes(bytes: &mut &[u8]) -> Result<()> {
    match usize::try_from(take_number(bytes)?) {
        Ok(size) => take(bytes, size).map(|_| ()),
        Err(_) => Err(damaged("the size of a text is negative")),
    }
}

impl Checker {
    pub fn new(schema: &AvroSchema) -> Result<Checker> {
        let value: Value = serde_json::from_str(&schema.json_string)
            .map_err(|error| invalid(&format!("it is no JSON: {error}")))?;
        let mut reader = Reader { types: Vec::new(), names: HashMap::new(), open: Vec::new(), needed: false };
        let row = reader.read(&value, "")?;
        if !matches!(reader.types[row], Type::Record(_)) {
            return Err(unsupported("its rows are no records, which have columns"));
        }
        Ok(Checker { types: reader.types, row, needed: reader.needed })
    }

    /// Why the crate cannot read a column: it calls such files damaged.
    pub fn problem(&self, column: usize) -> Option<&'static str> {
        match &self.types[self.row] {
            Type::Record(fields) => self.problem_of(*fields.get(column)?, 0),
            _ => None,
        }
    }

    fn problem_of(&self, number: usize, depth: u32) -> Option<&'static str> {
        let part = |number: &usize| self.problem_of(*number, depth + 1);
        match &self.types[number] {
            _ if depth > DEPTH_MAX => None,
            Type::Null if depth > 0 => Some("nulls within it are not supported"),
            Type::Fixed(0) => Some("values of 0 bytes are not supported"),
            Type::Array(items) | Type::Map(items) => part(items),
            Type::Record(fields) => fields.iter().find_map(part),
            Type::Union(branches) => {
                let values = |branch: &&usize| !matches!(self.types[**branch], Type::Null);
                branches.iter().filter(values).find_map(part)
            }
            _ => None,
        }
    }

    /// Cuts a row off `bytes`.
    pub fn check(&self, bytes: &mut &[u8]) -> Result<()> {
        self.check_type(self.row, bytes, 0)
    }

    fn check_type(&self, number: usize, bytes: &mut &[u8], depth: u32) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(unsupported(format!("types are nested over {DEPTH_MAX} times")));
        }
        match &self.types[number] {
            Type::Null => Ok(()),
            Type::Boolean => match take(bytes, 1)?[0] {
                0 | 1 => Ok(()),
                byte => Err(damaged(format!("a boolean is {byte}"))),
            },
            Type::Number => take_number(bytes).map(|_| ()),
            Type::Fixed(size) => take(bytes, *size).map(|_| ()),
            Type::Bytes => take_bytes(bytes),
            Type::Enum(symbols) => match take_number(bytes)? {
                symbol if (0..*symbols as i64).contains(&symbol) => Ok(()),
                symbol => Err(damaged(format!("an enum is {symbol}, of {symbols}"))),
            },
            Type::Array(items) => self.check_items(*items, false, bytes, depth),
            Type::Map(values) => self.check_items(*values, true, bytes, depth),
            Type::Record(fields) => {
                fields.iter().try_for_each(|field| self.check_type(*field, bytes, depth + 1))
            }
            Type::Union(branches) => {
                let branch = take_number(bytes)?;
                match usize::try_from(branch).ok().and_then(|at| branches.get(at)) {
                    Some(chosen) => self.check_type(*chosen, bytes, depth + 1),
                    None => {
                        Err(damaged(format!("a union has branch {branch}, of {}", branches.len())))
                    }
                }
            }
        }
    }

    fn check_items(
        &self,
        items: usize,
        keys: bool,
        bytes: &mut &[u8],
        depth: u32,
    ) -> Result<()> {
        loop {
            let count = take_number(bytes)?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                take_number(bytes)?; // of bytes
            }
            let count = count.unsigned_abs();
            for item in 0..count {
                let before = bytes.len();
                if keys {
                    take_bytes(bytes)?;
                }
                self.check_type(items, bytes, depth + 1)?;
                if item == 0 && before == bytes.len() {
                    match count > ITEMS_MAX {
                        true => return Err(damaged("a list has too many items")),
                        false => break, // nor has any other item bytes
                    }
                }
            }
        }
    }
}
