//! Finds encrypted columns in a footer that is not encrypted itself: the parquet crate, built
//! without encryption, leaves their keys out and would call their pages damaged.

use std::collections::BTreeSet;

/// Of Thrift's compact protocol, whose structs are fields with ids and types.
const STRUCT: u8 = 12;
const LIST: u8 = 9;

/// The footer's structs within structs are few: damage must not make the recursion deeper.
const DEPTH_MAX: u32 = 32;

/// FileMetaData.row_groups, RowGroup.columns, ColumnChunk.crypto_metadata.
const ROW_GROUPS: i16 = 4;
const COLUMNS: i16 = 1;
const CRYPTO_METADATA: i16 = 8;

/// The leaves that are encrypted in a row group. Damage ends the search: the crate reports it.
pub fn encrypted_leaves(footer: &[u8]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut input = Compact { bytes: footer };
    let _ = input.fields(0, &mut |input, id, kind| {
        if id != ROW_GROUPS || kind != LIST {
            return input.skip(kind, 1);
        }
        input.structs(&mut |input, _| {
            input.fields(1, &mut |input, id, kind| {
                if id != COLUMNS || kind != LIST {
                    return input.skip(kind, 2);
                }
                input.structs(&mut |input, leaf| {
                    input.fields(2, &mut |input, id, kind| {
                        if id == CRYPTO_METADATA {
                            found.insert(leaf);
                        }
                        input.skip(kind, 3)
                    })
                })
            })
        })
    });
    found
}

struct Compact<'a> {
    bytes: &'a [u8],
}

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn bytes(&mut self, size: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(size).ok()?..)?;
        Some(())
    }

    /// Calls `field` with the id and type of each field of a struct; it reads or skips the value.
    fn fields(
        &mut self,
        depth: u32,
        field: &mut dyn FnMut(&mut Self, i16, u8) -> Option<()>,
    ) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut id = 0i16;
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Some(());
            }
            id = match header >> 4 {
                0 => {
                    let zigzag = self.varint()?;
                    ((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)) as i16
                }
                delta => id.checked_add(i16::from(delta))?,
            };
            field(self, id, header & 15)?;
        }
    }

    /// The number of elements and their type.
    fn list(&mut self) -> Option<(u64, u8)> {
        let header = self.byte()?;
        let count = match header >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        Some((count, header & 15))
    }

    /// Calls `each` with the number of each struct of a list; it reads the struct.
    fn structs(&mut self, each: &mut dyn FnMut(&mut Self, usize) -> Option<()>) -> Option<()> {
        let (count, kind) = self.list()?;
        if count > 0 && kind != STRUCT {
            return None;
        }
        (0..usize::try_from(count).ok()?).try_for_each(|i| each(self, i))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            1 | 2 => Some(()), // true and false, of a field
            3 => self.bytes(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.bytes(8),
            8 => {
                let size = self.varint()?;
                self.bytes(size)
            }
            LIST | 10 => {
                let (count, kind) = self.list()?;
                let skip_one = |input: &mut Self| match kind {
                    1 | 2 => input.bytes(1), // of a list, they have a byte
                    _ => input.skip(kind, depth + 1),
                };
                (0..count).try_for_each(|_| skip_one(self))
            }
            STRUCT => self.fields(depth + 1, &mut |input, _, kind| input.skip(kind, depth + 1)),
            _ => None, // maps, which a footer does not have
        }
    }
}
