//! Whether a column of a Parquet file begins with a dictionary. The writer gives a dictionary up
//! when it is too large, but then has looked up all values until then: of a column of ids, or with
//! many small files, that is most of its work. So the number of different values of a row group is
//! estimated by the first rows.

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, ByteArrayType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use std::hash::{DefaultHasher, Hasher};

/// Values are counted in so many rows, or in fewer that have so many bytes.
pub const SAMPLE_ROWS: usize = 16 << 10;
pub const SAMPLE_BYTES: usize = 4 << 20;
/// Fewer values say little.
const VALUES_MIN: usize = 64;

/// The first values of a column, by their hashes.
struct Sample {
    slots: Vec<u64>,
    hashes: Vec<u64>,
    bytes: usize, // as a dictionary has them
}

impl Sample {
    fn add(&mut self, value: &[u8], bytes: usize) {
        let mut hasher = DefaultHasher::new();
        hasher.write(value);
        self.hashes.push(hasher.finish() | 1);
        self.bytes += bytes;
    }

    fn add_texts<T: ByteArrayType>(&mut self, array: &dyn Array) {
        for value in array.as_bytes::<T>().iter().flatten().take(self.room()) {
            let value: &[u8] = value.as_ref();
            self.add(value, value.len() + size_of::<u32>());
        }
    }

    fn add_values(&mut self, array: &dyn Array, width: usize) {
        let data = array.to_data();
        let values = &data.buffers()[0][data.offset() * width..];
        let valid = (0..array.len()).filter(|&row| array.is_valid(row));
        for row in valid.take(self.room()) {
            self.add(&values[row * width..(row + 1) * width], width);
        }
    }

    fn room(&self) -> usize {
        SAMPLE_ROWS - self.hashes.len()
    }

    /// Returns how many of the hashes were not there before.
    fn count_new(&mut self, from: usize, to: usize) -> u64 {
        let mask = self.slots.len() - 1;
        let mut count = 0;
        for &hash in &self.hashes[from..to] {
            let mut slot = (hash >> 32) as usize & mask;
            while self.slots[slot] != 0 && self.slots[slot] != hash {
                slot = (slot + 1) & mask;
            }
            count += (self.slots[slot] == 0) as u64;
            self.slots[slot] = hash;
        }
        count
    }
}

/// Whether a dictionary of the column is likely to have more than `limit` bytes in a row group of
/// `rows` rows, by the first batches. False for types without dictionaries and nested ones.
pub fn overflows(batches: &[RecordBatch], column: usize, rows: usize, limit: usize) -> bool {
    let slots = vec![0; 2 * SAMPLE_ROWS];
    let mut sample = Sample { slots, hashes: Vec::with_capacity(SAMPLE_ROWS), bytes: 0 };
    for batch in batches {
        let array = batch.column(column).as_ref();
        match array.data_type() {
            DataType::Utf8 => sample.add_texts::<Utf8Type>(array),
            DataType::LargeUtf8 => sample.add_texts::<LargeUtf8Type>(array),
            DataType::Binary => sample.add_texts::<BinaryType>(array),
            DataType::LargeBinary => sample.add_texts::<LargeBinaryType>(array),
            other => match other.primitive_width() {
                Some(width) => sample.add_values(array, width),
                None => return false,
            },
        }
    }
    let values = sample.hashes.len();
    if values < VALUES_MIN {
        return false;
    }
    let first = sample.count_new(0, values / 2);
    let second = sample.count_new(values / 2, values);
    let distinct = estimate(first, second, values as u64, rows as u64) as u128;
    distinct * sample.bytes as u128 >= limit as u128 * values as u128
}

/// How many different values `rows` values have, if the first half of `values` has `first` ones
/// and the second half `second` more: each half has the same share of the new values of the half
/// before, as with values that are drawn with the same probability. In integers, so that it is
/// the same everywhere.
fn estimate(first: u64, second: u64, values: u64, rows: u64) -> u64 {
    let most = (first + second) as u128 * rows as u128 / values as u128;
    let distinct = match first.checked_sub(second) {
        Some(fewer) if fewer > 0 => first as u128 * first as u128 / fewer as u128,
        _ => most,
    };
    distinct.min(most) as u64
}
