//! Streams and parts of an ORC file's tail are blocks, each with a header of three bytes: its size,
//! and whether it is compressed. The crate orc-rust trusts what a block says; here each is checked first.

use crate::error::{damaged, guard, unsupported, Kind, Result};
use bytes::Bytes;
use orc_rust::proto::CompressionKind;
use std::io::Read;

const HEADER_BYTES: usize = 3;
/// The header's size has 23 bits.
const BLOCK_BYTES_MAX: usize = (1 << 23) - 1;
/// What the specification says of files that do not.
const BLOCK_BYTES: u64 = 256 << 10;

/// The crates of ORC and LZO unwrap what they read: a panic there is a fault of the file.
pub fn guard_crate<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    guard(call).map_err(|error| match error.kind {
        Kind::Internal => damaged(error.message),
        _ => error,
    })
}

#[derive(Clone, Copy)]
pub struct Codec {
    pub kind: CompressionKind,
    /// Of a block, decompressed, at most.
    pub block_bytes: usize,
}

struct Block<'a> {
    compressed: bool,
    bytes: &'a [u8],
}

impl Codec {
    pub fn new(kind: Option<i32>, block_bytes: Option<u64>) -> Result<Codec> {
        let kind = kind.unwrap_or(0);
        let kind = CompressionKind::try_from(kind)
            .map_err(|_| unsupported(format!("the codec {kind} is not supported")))?;
        let block_bytes = block_bytes.unwrap_or(BLOCK_BYTES);
        if kind != CompressionKind::None && block_bytes > BLOCK_BYTES_MAX as u64 + 1 {
            return Err(damaged(format!("its blocks have {block_bytes} bytes")));
        }
        Ok(Codec { kind, block_bytes: block_bytes as usize })
    }

    /// Splits off the first block. Not called without a codec.
    fn next_block<'a>(&self, rest: &mut &'a [u8]) -> Result<Block<'a>> {
        let Some((header, bytes)) = rest.split_first_chunk::<HEADER_BYTES>() else {
            return Err(damaged("it ends within the header of a block"));
        };
        let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let size = (header >> 1) as usize;
        if size > bytes.len() {
            return Err(damaged(format!("a block has {size} bytes of {}", bytes.len())));
        }
        let block = Block { compressed: header & 1 == 0, bytes: &bytes[..size] };
        *rest = &bytes[size..];
        Ok(block)
    }

    /// Appends what the block has.
    fn decompress(&self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        if !block.compressed {
            out.extend_from_slice(block.bytes);
            return Ok(());
        }
        let start = out.len();
        let most = self.block_bytes as u64 + 1;
        let read = match self.kind {
            CompressionKind::Zlib => {
                flate2::read::DeflateDecoder::new(block.bytes).take(most).read_to_end(out)
            }
            CompressionKind::Zstd => zstd::Decoder::new(block.bytes)
                .and_then(|decoder| decoder.take(most).read_to_end(out)),
            CompressionKind::Snappy => {
                self.check_snappy(block.bytes)?;
                let bytes = snap::raw::Decoder::new().decompress_vec(block.bytes);
                bytes.map(|b| out.extend_from_slice(&b)).map(|()| 0).map_err(Into::into)
            }
            CompressionKind::Lz4 => lz4_flex::block::decompress(block.bytes, self.block_bytes)
                .map(|b| out.extend_from_slice(&b))
                .map(|()| 0)
                .map_err(std::io::Error::other),
            CompressionKind::Lzo => lzokay_native::decompress_all(block.bytes, None)
                .map(|b| out.extend_from_slice(&b))
                .map(|()| 0)
                .map_err(std::io::Error::other),
            CompressionKind::None => Ok(0),
        };
        read.map_err(|error| damaged(format!("a block cannot be decompressed: {error}")))?;
        if out.len() - start > self.block_bytes {
            return Err(damaged(format!("a block has more than {} bytes", self.block_bytes)));
        }
        Ok(())
    }

    fn check_snappy(&self, bytes: &[u8]) -> Result<()> {
        match snap::raw::decompress_len(bytes) {
            Ok(size) if size <= self.block_bytes => Ok(()),
            Ok(size) => Err(damaged(format!("a block has {size} bytes, decompressed"))),
            Err(error) => Err(damaged(format!("a block cannot be decompressed: {error}"))),
        }
    }

    /// All bytes of a stream, decompressed, which are not more than `most`.
    pub fn read(&self, stream: &[u8], most: usize) -> Result<Vec<u8>> {
        if self.kind == CompressionKind::None {
            return Ok(stream.to_vec());
        }
        let (mut out, mut rest) = (Vec::new(), stream);
        while !rest.is_empty() {
            let block = self.next_block(&mut rest)?;
            guard_crate(|| self.decompress(&block, &mut out))?;
            if out.len() > most {
                return Err(damaged(format!("it has more than {most} bytes, decompressed")));
            }
        }
        Ok(out)
    }

    /// Checks what can be checked of a stream's blocks without decompressing them.
    pub fn check(&self, stream: &[u8]) -> Result<()> {
        let mut rest = stream;
        while !rest.is_empty() && self.kind != CompressionKind::None {
            let block = self.next_block(&mut rest)?;
            if block.compressed && self.kind == CompressionKind::Snappy {
                self.check_snappy(block.bytes)?;
            }
        }
        Ok(())
    }

    /// The bytes as blocks that are not compressed, for the crate.
    pub fn write(&self, bytes: &[u8]) -> Bytes {
        if self.kind == CompressionKind::None {
            return Bytes::copy_from_slice(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len() + HEADER_BYTES);
        for block in bytes.chunks(self.block_bytes.clamp(1, BLOCK_BYTES_MAX)) {
            let header = (block.len() as u32) << 1 | 1;
            out.extend_from_slice(&header.to_le_bytes()[..HEADER_BYTES]);
            out.extend_from_slice(block);
        }
        out.into()
    }
}
