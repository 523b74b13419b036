//! The two run-length encodings of ORC for numbers without a sign, to check what the crate orc-rust
//! trusts: it allocates as many values as the lengths of lists and maps say.

use crate::error::{damaged, unsupported, Result};

/// Values of a list in a stripe, of all its rows. Writers end a stripe at 64 to 256 MiB.
const VALUES_MAX: u64 = 1 << 28;

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8> {
        let Some((&byte, rest)) = self.0.split_first() else {
            return Err(damaged("its lengths end within a run"));
        };
        self.0 = rest;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(damaged("a length has more than 64 bits"))
    }

    fn big_endian(&mut self, bytes: usize) -> Result<u64> {
        (0..bytes).try_fold(0, |value, _| Ok(value << 8 | u64::from(self.byte()?)))
    }

    /// `count` numbers of `bits` each, packed.
    fn packed(&mut self, count: usize, bits: u32) -> Result<Vec<u64>> {
        let (mut byte, mut left, mut out) = (0, 0, Vec::with_capacity(count));
        for _ in 0..count {
            let mut value = 0;
            for _ in 0..bits {
                if left == 0 {
                    (byte, left) = (self.byte()?, 8);
                }
                left -= 1;
                value = value << 1 | u64::from(byte >> left & 1);
            }
            out.push(value);
        }
        Ok(out)
    }
}

/// The width of a code of five bits.
fn width(code: u8) -> u32 {
    match code {
        0..=23 => u32::from(code) + 1,
        24 => 26,
        25 => 28,
        26 => 30,
        27 => 32,
        28 => 40,
        29 => 48,
        30 => 56,
        _ => 64,
    }
}

/// The least width that is not less.
fn packed_width(bits: u32) -> u32 {
    (0..32).map(width).find(|w| *w >= bits).unwrap_or(64)
}

type Each<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

fn each_version_1(reader: &mut Reader, each: Each) -> Result<()> {
    let control = reader.byte()?;
    if control >= 128 {
        for _ in 0..256 - u32::from(control) {
            each(reader.varint()?)?;
        }
        return Ok(());
    }
    let (count, delta) = (i64::from(control) + 3, i64::from(reader.byte()? as i8));
    let first = reader.varint()?;
    for i in 0..count {
        each(first.wrapping_add((i * delta) as u64))?;
    }
    Ok(())
}

fn each_patched(reader: &mut Reader, each: Each, bits: u32, count: usize) -> Result<()> {
    let (third, fourth) = (reader.byte()?, reader.byte()?);
    let (patch_bits, gap_bits) = (width(third & 31), u32::from(fourth >> 5) + 1);
    let base_bytes = usize::from(third >> 5) + 1;
    let base = reader.big_endian(base_bytes)?;
    let sign = 1u64 << (8 * base_bytes - 1);
    let base = if base & sign != 0 { (base & !sign).wrapping_neg() } else { base };
    let mut values = reader.packed(count, bits)?;
    let patches = reader.packed(usize::from(fourth & 31), packed_width(patch_bits + gap_bits))?;
    let mut at = 0;
    for patch in patches {
        at += patch.checked_shr(patch_bits).unwrap_or(0) as usize;
        let patch = patch & 1u64.checked_shl(patch_bits).unwrap_or(0).wrapping_sub(1);
        if let Some(value) = values.get_mut(at) {
            *value |= patch.checked_shl(bits).unwrap_or(0);
        }
    }
    values.into_iter().try_for_each(|value| each(base.wrapping_add(value)))
}

fn each_delta(reader: &mut Reader, each: Each, code: u8, count: usize) -> Result<()> {
    let first = reader.varint()?;
    let delta = reader.varint()?;
    let (delta, down) = (delta >> 1, delta & 1 == 1);
    let delta = if down { delta.wrapping_add(1) } else { delta };
    let deltas = match code {
        0 => vec![delta; count.saturating_sub(2)],
        _ => reader.packed(count.saturating_sub(2), width(code))?,
    };
    let mut value = first;
    each(value)?;
    for step in [delta].into_iter().chain(deltas).take(count - 1) {
        value = if down { value.wrapping_sub(step) } else { value.wrapping_add(step) };
        each(value)?;
    }
    Ok(())
}

fn each_version_2(reader: &mut Reader, each: Each) -> Result<()> {
    let first = reader.byte()?;
    if first >> 6 == 0 {
        let value = reader.big_endian(usize::from(first >> 3 & 7) + 1)?;
        return (0..(first & 7) + 3).try_for_each(|_| each(value));
    }
    let code = first >> 1 & 31;
    let count = (usize::from(first & 1) << 8 | usize::from(reader.byte()?)) + 1;
    match first >> 6 {
        1 => {
            let values = reader.packed(count, width(code))?;
            values.into_iter().try_for_each(each)
        }
        2 => each_patched(reader, each, width(code), count),
        _ => each_delta(reader, each, code, count),
    }
}

/// Calls `each` for the numbers of the stream, decompressed.
fn numbers(stream: &[u8], version_2: bool, each: Each) -> Result<()> {
    let mut reader = Reader(stream);
    while !reader.0.is_empty() {
        if version_2 {
            each_version_2(&mut reader, each)?;
        } else {
            each_version_1(&mut reader, each)?;
        }
    }
    Ok(())
}

/// An error if the lengths are more values than a stripe has.
pub fn check_lengths(stream: &[u8], version_2: bool) -> Result<()> {
    let mut sum = 0u64;
    numbers(stream, version_2, &mut |length| {
        sum = sum.saturating_add(length);
        match sum > VALUES_MAX {
            true => {
                Err(unsupported(format!("lists have more than {} Mi values", VALUES_MAX >> 20)))
            }
            false => Ok(()),
        }
    })
}

/// Nanoseconds of a second without their trailing zeros, whose number is in the last three bits.
/// pyarrow stores those of times before 1970 with a sign, which the encoding does not have.
pub fn check_nanoseconds(stream: &[u8], version_2: bool) -> Result<()> {
    numbers(stream, version_2, &mut |number| {
        let zeros = if number & 7 == 0 { 0 } else { (number as u32 & 7) + 1 };
        match (number >> 3).checked_mul(10u64.pow(zeros)) {
            Some(0..1_000_000_000) => Ok(()),
            _ if number >> 63 == 1 => {
                Err(unsupported("times before 1970 have negative nanoseconds, as of pyarrow"))
            }
            _ => Err(damaged("a time has more than a second of nanoseconds")),
        }
    })
}
