//! Footers that fastparquet writes and the parquet crate does not read: a column that is not null
//! has the truth value false as its repetition, and a file without rows has a list of row groups
//! whose elements have no type.

use crate::thrift::{Compact, BOOLEANS, I32, LIST, STRUCT};

/// FileMetaData.schema and row_groups, SchemaElement.repetition_type.
const SCHEMA: i16 = 2;
const ROW_GROUPS: i16 = 4;
const REPETITION: i16 = 3;

/// The footer as the specification has it; None if it has neither of both.
pub fn repaired(footer: &[u8]) -> Option<Vec<u8>> {
    let mut repetitions = Vec::new(); // where values of a byte are missing
    let mut row_groups = None;
    let mut input = Compact::new(footer);
    input.fields(0, &mut |input, id, kind| match (id, kind) {
        (SCHEMA, LIST) if row_groups.is_none() => input.structs(&mut |input, _| {
            input.fields(1, &mut |input, id, kind| {
                if id == REPETITION && BOOLEANS.contains(&kind) {
                    repetitions.push(footer.len() - input.left());
                }
                input.skip(kind, 2)
            })
        }),
        (ROW_GROUPS, LIST) => {
            let at = footer.len() - input.left();
            if footer.get(at).is_some_and(|header| header >> 4 == 0) {
                row_groups = Some(at);
            }
            input.skip(kind, 1)
        }
        _ => input.skip(kind, 1),
    })?;
    if repetitions.is_empty() && row_groups.is_none() {
        return None;
    }
    let mut bytes = Vec::with_capacity(footer.len() + repetitions.len());
    let mut from = 0;
    for at in repetitions {
        let header = footer[at - 1];
        bytes.extend_from_slice(&footer[from..at - 1]);
        bytes.push((header & 0xf0) | I32);
        bytes.push(if header & 15 == BOOLEANS[0] { 2 } else { 0 }); // 1 and 0, in zigzag
        from = at;
    }
    bytes.extend_from_slice(&footer[from..]);
    if let Some(at) = row_groups {
        let at = at + bytes.len() - footer.len(); // the schema is before it
        bytes[at] = STRUCT;
    }
    Some(bytes)
}
