//! Blocks of an Avro object container file: the number of their rows and of their bytes, the
//! bytes, which may be compressed, and the file's marker. Another marker, or a block that ends
//! after the file, is an error: rows are never left out.

use crate::avro_check::take_number;
use crate::error::{damaged, too_large, unsupported, Result};
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

    /// Into at most `most` bytes.
    fn decompress(self, block: Bytes, most: usize) -> Result<Bytes> {
        match self {
            Codec::Null => Ok(block),
            Codec::Deflate => read_all(DeflateDecoder::new(&block[..]), most),
            Codec::Zstandard => match zstd::Decoder::new(&block[..]) {
                Ok(decoder) => read_all(decoder, most),
                Err(error) => Err(damaged(format!("zstandard: {error}"))),
            },
            Codec::Snappy => decompress_snappy(&block, most),
        }
    }
}

fn read_all(decoder: impl Read, most: usize) -> Result<Bytes> {
    let mut out = Vec::new();
    let read = decoder.take(most as u64 + 1).read_to_end(&mut out);
    read.map_err(|error| damaged(format!("it cannot be decompressed: {error}")))?;
    check_size(out.len(), most)?;
    Ok(out.into())
}

fn check_size(size: usize, most: usize) -> Result<()> {
    match size > most {
        true if most == BLOCK_BYTES_MAX => Err(unsupported("a block has more than 1 GiB")),
        true => Err(too_large(format!("a block needs more than {} MiB in memory", most >> 20))),
        false => Ok(()),
    }
}

/// The last four bytes are the CRC-32 of the others, decompressed.
fn decompress_snappy(block: &[u8], most: usize) -> Result<Bytes> {
    let Some((data, crc)) = block.split_last_chunk::<4>() else {
        return Err(damaged("a block without a checksum"));
    };
    let size = snap::raw::decompress_len(data).map_err(|e| damaged(format!("snappy: {e}")))?;
    check_size(size, most)?;
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

/// Of a file.
#[derive(Clone)]
pub struct Blocks {
    pub codec: Codec,
    pub marker: [u8; MARKER_BYTES],
    bytes: Chunk,
    size: u64,              // of the file
    block_bytes_max: usize, // of a block, decompressed
}

impl Blocks {
    pub fn new(
        input: &Arc<Input>,
        codec: Codec,
        marker: [u8; MARKER_BYTES],
        read_ahead: usize,
        memory: u64,
    ) -> Blocks {
        let bytes = Chunk::new(input.clone(), input.size(), read_ahead);
        let block_bytes_max = memory.min(BLOCK_BYTES_MAX as u64) as usize;
        Blocks { codec, marker, bytes, size: input.size(), block_bytes_max }
    }

    /// The block at `at`, which is before the end of the file.
    pub fn header(&self, at: u64) -> Result<Header> {
        let least = NUMBERS_BYTES.min(self.size - at) as usize;
        let bytes = self.bytes.ahead(at, least)?;
        let mut rest = &bytes[..least];
        let (rows, size) = (take_number(&mut rest)?, take_number(&mut rest)?);
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
        check_size(size, self.block_bytes_max)?;
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
        self.codec.decompress(block, self.block_bytes_max).map_err(what)
    }
}
