//! Walks through Thrift's compact protocol, whose structs are fields with ids and types: what the
//! parquet crate does not say about a footer.

pub const BOOLEANS: [u8; 2] = [1, 2]; // true and false, of a field
pub const I32: u8 = 5;
pub const LIST: u8 = 9;
pub const STRUCT: u8 = 12;

/// The footer's structs within structs are few: damage must not make the recursion deeper.
const DEPTH_MAX: u32 = 32;

pub struct Compact<'a> {
    bytes: &'a [u8],
}

impl<'a> Compact<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Compact { bytes }
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

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
    pub fn fields(
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
    pub fn list(&mut self) -> Option<(u64, u8)> {
        let header = self.byte()?;
        let count = match header >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        Some((count, header & 15))
    }

    /// Calls `each` with the number of each struct of a list; it reads the struct.
    pub fn structs(&mut self, each: &mut dyn FnMut(&mut Self, usize) -> Option<()>) -> Option<()> {
        let (count, kind) = self.list()?;
        if count > 0 && kind != STRUCT {
            return None;
        }
        (0..usize::try_from(count).ok()?).try_for_each(|i| each(self, i))
    }

    pub fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            1 | 2 => Some(()),
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
