//! The bytes of a file, by the caller's callback. `Chunk` is a range of it that is read from its
//! start to its end, in windows: a page header and the pages after it are slices of one read.

use crate::error::{callback, damaged, Error, Result};
use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// struct format_input.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawInput {
    pub context: *mut c_void,
    pub size: u64,
    pub remote: bool,
    pub read: unsafe extern "C" fn(*mut c_void, u64, *mut c_void, u64) -> i32,
}

pub struct Input {
    raw: RawInput,
    failed: AtomicBool,
}

// SAFETY: the crates ask for Send and Sync, but start no threads: a file is used by one thread at
// a time, as format_library.h says.
unsafe impl Send for Input {}
unsafe impl Sync for Input {}

impl Input {
    pub fn new(raw: RawInput) -> Arc<Input> {
        Arc::new(Input { raw, failed: AtomicBool::new(false) })
    }

    pub fn size(&self) -> u64 {
        self.raw.size
    }

    /// Each read costs a round trip.
    pub fn is_remote(&self) -> bool {
        self.raw.remote
    }

    /// `error`, or that the callback failed if it did since the last call: the crates wrap its
    /// error in others.
    pub fn cause(&self, error: Error) -> Error {
        if self.failed.swap(false, Ordering::Relaxed) {
            Error { piece: error.piece, ..callback() }
        } else {
            error
        }
    }

    /// An error if the file has fewer bytes.
    fn check_range(&self, offset: u64, size: usize) -> Result<()> {
        if offset.checked_add(size as u64).is_none_or(|end| end > self.raw.size) {
            return Err(damaged(format!(
                "{size} bytes at {offset} are beyond the file's {} bytes",
                self.raw.size
            )));
        }
        Ok(())
    }

    /// Calls the callback, which writes all bytes of `out` or fails.
    fn call(&self, offset: u64, out: &mut [MaybeUninit<u8>]) -> Result<()> {
        let (start, size) = (out.as_mut_ptr().cast(), out.len() as u64);
        // SAFETY: the callback writes within `out` only.
        if size > 0 && unsafe { (self.raw.read)(self.raw.context, offset, start, size) } != 0 {
            self.failed.store(true, Ordering::Relaxed);
            return Err(callback());
        }
        Ok(())
    }

    /// Appends `size` bytes at `offset` to `out`.
    pub fn append(&self, offset: u64, size: usize, out: &mut Vec<u8>) -> Result<()> {
        self.check_range(offset, size)?;
        out.reserve_exact(size);
        self.call(offset, &mut out.spare_capacity_mut()[..size])?;
        // SAFETY: the callback has written them.
        unsafe { out.set_len(out.len() + size) };
        Ok(())
    }

    /// Fills `out` with the bytes at `offset`.
    pub fn fill(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.check_range(offset, out.len())?;
        // SAFETY: bytes may be uninitialized until they are written, and these are not.
        self.call(offset, unsafe { &mut *(out as *mut [u8] as *mut [MaybeUninit<u8>]) })
    }

    pub fn read(&self, offset: u64, size: usize) -> Result<Bytes> {
        let mut out = Vec::new();
        self.append(offset, size, &mut out)?;
        Ok(out.into())
    }
}

/// Bytes that are read for a page header at least, if the chunk has as many. Longer headers are
/// valid: they may have statistics.
const HEADER_BYTES: usize = 512;

/// The range from `start` to `end` of a file, which is within it.
#[derive(Clone)]
pub struct Chunk {
    input: Arc<Input>,
    end: u64,
    read_ahead: usize,
    window: Arc<Mutex<Window>>,
}

struct Window {
    offset: u64,
    bytes: Bytes,
}

impl Chunk {
    pub fn new(input: Arc<Input>, end: u64, read_ahead: usize) -> Chunk {
        let window = Window { offset: 0, bytes: Bytes::new() };
        Chunk { input, end, read_ahead, window: Arc::new(Mutex::new(window)) }
    }

    /// From `offset` on at least `least` bytes, and what else was read ahead. `least` is within
    /// the chunk. Bytes of the window are not read again.
    pub fn ahead(&self, offset: u64, least: usize) -> Result<Bytes> {
        let mut window = self.window.lock().unwrap_or_else(|e| e.into_inner());
        let skip = offset.wrapping_sub(window.offset);
        let known = if offset >= window.offset && skip < window.bytes.len() as u64 {
            window.bytes.slice(skip as usize..)
        } else {
            Bytes::new()
        };
        if known.len() >= least && !known.is_empty() {
            return Ok(known);
        }
        let size = (self.end - offset).min(least.max(self.read_ahead) as u64) as usize;
        let mut read = Vec::new();
        read.try_reserve_exact(size)
            .map_err(|_| damaged(format!("no memory for {size} bytes of a page")))?;
        read.extend_from_slice(&known);
        self.input.append(offset + known.len() as u64, size - known.len(), &mut read)?;
        *window = Window { offset, bytes: read.into() };
        Ok(window.bytes.clone())
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.end
    }
}

fn to_parquet(error: Error) -> ParquetError {
    ParquetError::General(error.message)
}

impl ChunkReader for Chunk {
    type T = ChunkRead;

    fn get_read(&self, start: u64) -> ParquetResult<ChunkRead> {
        let left = self.end.saturating_sub(start);
        let bytes = if left > 0 {
            self.ahead(start, left.min(HEADER_BYTES as u64) as usize).map_err(to_parquet)?
        } else {
            Bytes::new()
        };
        Ok(ChunkRead { chunk: self.clone(), offset: start, bytes })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        if length as u64 > self.end.saturating_sub(start) {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} are beyond the end at {}",
                self.end
            )));
        }
        Ok(self.ahead(start, length).map_err(to_parquet)?.slice(..length))
    }
}

/// Reads on from an offset of a chunk.
pub struct ChunkRead {
    chunk: Chunk,
    offset: u64,
    bytes: Bytes,
}

impl io::Read for ChunkRead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() && self.offset < self.chunk.end && !out.is_empty() {
            self.bytes =
                self.chunk.ahead(self.offset, 1).map_err(|e| io::Error::other(e.message))?;
        }
        let size = out.len().min(self.bytes.len());
        out[..size].copy_from_slice(&self.bytes.split_to(size));
        self.offset += size as u64;
        Ok(size)
    }
}
