//! Blocks of an Avro object container file: the number of their rows and of their bytes, the
//! bytes, which may be compressed, and the file's marker. Another marker, or a block that ends
//! after the file, is an error: rows are never left out.

use crate::error::{damaged, unsupported, Result};
use crate::input::{Chunk, Input};
use arrow_avro::compression::CompressionCodec;
use bytes::Bytes;
use flate2::read::DeflateDecoder;
use std::io::Read;
use std::sync::Arc;

/// Bytes of a block at most, decompressed. Writers make blocks of 16 to 64 KiB, or of one row.
const BLOCK_BYTES_MAX: usize = 1 << 30;
/// The two numbers before a block, of at most 10 bytes each.
const NUMBERS_BYTES: u64 = 20;
pub const MARKER_BYTES: usize = 16;

#[derive(Clone, Copy, PartialEq)]
pub enum Codec {
    Null,
    Deflate,
    Snappy,
    Zstandard,
}

impl Codec {
    pub fn of(codec: Option<CompressionCodec>) -> Result<Codec> {
        match codec {
            None => Ok(Codec::Null),
            Some(CompressionCodec::Deflate) => Ok(Codec::Deflate),
            Some(CompressionCodec::Snappy) => Ok(Codec::Snappy),
            Some(CompressionCodec::ZStandard) => Ok(Codec::Zstandard),
            Some(CompressionCodec::Bzip2) => Err(unsupported("the codec bzip2 is not supported")),
            Some(CompressionCodec::Xz) => Err(unsupported("the codec xz is not supported")),
        }
    }

    fn decompress(self, block: Bytes) -> Result<Bytes> {
        match self {
            Codec::Null => Ok(block),
            Codec::Deflate => read_all(DeflateDecoder::new(&block[..])),
            Codec::Zstandard => match zstd::Decoder::new(&block[..]) {
                Ok(decoder) => read_all(decoder),
                Err(error) => Err(damaged(format!("zstandard: {error}"))),
            },
            Codec::Snappy => decompress_snappy(&block),
        }
    }
}

fn read_all(decoder: impl Read) -> Result<Bytes> {
    let mut out = Vec::new();
    let most = BLOCK_BYTES_MAX as u64 + 1;
    let read = decoder.take(most).read_to_end(&mut out);
    read.map_err(|error| damaged(format!("it cannot be decompressed: {error}")))?;
    check_size(out.len())?;
    Ok(out.into())
}

fn check_size(size: usize) -> Result<()> {
    match size > BLOCK_BYTES_MAX {
        true => Err(unsupported("a block has more than 1 GiB")),
        false => Ok(()),
    }
}

/// The last four bytes are the CRC-32 of the others, decompressed.
fn decompress_snappy(block: &[u8]) -> Result<Bytes> {
    let Some((data, crc)) = block.split_last_chunk::<4>() else {
        return Err(damaged("a block without a checksum"));
    };
    let size = snap::raw::decompress_len(data).map_err(|e| damaged(format!("snappy: {e}")))?;
    check_size(size)?;
    let out = snap::raw::Decoder::new().decompress_vec(data);
    let out = out.map_err(|error| damaged(format!("snappy: {error}")))?;
    match crc32fast::hash(&out) == u32::from_be_bytes(*crc) {
        true => Ok(out.into()),
        false => Err(damaged("a block has a wrong checksum")),
    }
}

/// What is before the bytes of a block.
pub struct Header {
    pub rows: u64,
    pub bytes: u64, // as they are stored
    pub data: u64,  // where they begin
    pub end: u64,   // after the marker
}

/// Reads a number in zigzag coding.
fn read_number(bytes: &mut &[u8]) -> Result<i64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) =
            bytes.split_first().ok_or_else(|| damaged("the file ends in a block"))?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    Err(damaged("a number of a block has more than ten bytes"))
}

/// Of a file.
#[derive(Clone)]
pub struct Blocks {
    pub codec: Codec,
    pub marker: [u8; MARKER_BYTES],
    bytes: Chunk,
    size: u64, // of the file
}

impl Blocks {
    pub fn new(
        input: &Arc<Input>,
        codec: Codec,
        marker: [u8; MARKER_BYTES],
        read_ahead: usize,
    ) -> Blocks {
        let bytes = Chunk::new(input.clone(), input.size(), read_ahead);
        Blocks { codec, marker, bytes, size: input.size() }
    }

    /// The block at `at`, which is before the end of the file.
    pub fn header(&self, at: u64) -> Result<Header> {
        let least = NUMBERS_BYTES.min(self.size - at) as usize;
        let bytes = self.bytes.ahead(at, least)?;
        let mut rest = &bytes[..least];
        let (rows, size) = (read_number(&mut rest)?, read_number(&mut rest)?);
        let data = at + (least - rest.len()) as u64;
        let end = u64::try_from(size)
            .ok()
            .and_then(|size| data.checked_add(size)?.checked_add(MARKER_BYTES as u64));
        match (u64::try_from(rows), end) {
            (Ok(rows), Some(end)) if end <= self.size => {
                Ok(Header { rows, bytes: size as u64, data, end })
            }
            (Ok(_), Some(_)) => Err(damaged(format!("the file ends in the block at {at}"))),
            _ => Err(damaged(format!("the block at {at} has a negative size"))),
        }
    }

    /// The bytes of the rows of a block.
    pub fn load(&self, header: &Header) -> Result<Bytes> {
        let size = usize::try_from(header.bytes)
            .map_err(|_| unsupported("a block has more bytes than memory"))?;
        check_size(size)?;
        let mut block = self.bytes.ahead(header.data, size + MARKER_BYTES)?;
        block.truncate(size + MARKER_BYTES);
        let marker = block.split_off(size);
        if marker[..] != self.marker {
            return Err(damaged(format!(
                "the block before {} does not end with the file's marker",
                header.end
            )));
        }
        let what = |error: crate::error::Error| crate::error::Error {
            message: format!("the block before {}: {}", header.end, error.message),
            ..error
        };
        self.codec.decompress(block).map_err(what)
    }
}
