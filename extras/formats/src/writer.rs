//! What the writers of all formats have in common: the callback that takes the bytes, the options,
//! and the import of arrays.

use crate::arrow_write::ArrowWrite;
use crate::error::{callback, unsupported, Error, Kind, Result};
use crate::parquet_write::ParquetWrite;
use arrow_array::ffi::{from_ffi_and_data_type, FFI_ArrowArray};
use arrow_array::{RecordBatch, StructArray};
use arrow_schema::{DataType, Schema, SchemaRef};
use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// struct format_output.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawOutput {
    pub context: *mut c_void,
    pub write: unsafe extern "C" fn(*mut c_void, *const c_void, u64) -> i32,
}

/// Where a file is written.
#[derive(Clone)]
pub struct Output {
    raw: RawOutput,
    failed: Arc<AtomicBool>,
}

// SAFETY: the crates ask for Send, but start no threads: a writer is used by one at a time.
unsafe impl Send for Output {}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let failed = self.failed.load(Ordering::Relaxed)
            || unsafe {
                (self.raw.write)(self.raw.context, bytes.as_ptr().cast(), bytes.len() as u64) != 0
            };
        if failed {
            self.failed.store(true, Ordering::Relaxed);
            return Err(io::Error::other("a callback failed"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// enum format_compression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compression {
    None,
    Snappy,
    Zstd,
    Gzip,
    Lz4,
    Brotli,
}

/// struct format_write, checked.
pub struct Options {
    pub compression: Compression,
    pub level: Option<i32>,
    pub row_group_rows: usize,
    pub row_group_bytes: usize,
    pub bloom_columns: Vec<usize>,
    pub bloom_fpp: f64,
}

pub trait Write {
    fn write(&mut self, batch: RecordBatch) -> Result<()>;
    /// Writes what is left and the footer.
    fn finish(&mut self) -> Result<()>;
}

/// struct format_writer.
pub struct Writer {
    output: Output,
    schema: SchemaRef,
    file: Option<Box<dyn Write>>, // none after an error or finish
}

/// enum format_kind.
#[derive(Clone, Copy, PartialEq)]
pub enum Format {
    Parquet,
    ArrowFile,
    ArrowStream,
}

impl Drop for Writer {
    /// Buffers that are dropped write what they have: not to a callback that may have ended.
    fn drop(&mut self) {
        self.output.failed.store(true, Ordering::Relaxed);
    }
}

impl Writer {
    pub fn create(
        raw: RawOutput,
        format: Format,
        options: &Options,
        schema: Schema,
    ) -> Result<Writer> {
        let output = Output { raw, failed: Arc::new(AtomicBool::new(false)) };
        let schema = Arc::new(Schema::new(schema.fields));
        let file: Result<Box<dyn Write>> = match format {
            Format::Parquet => ParquetWrite::create(output.clone(), schema.clone(), options)
                .map(|file| Box::new(file) as _),
            Format::ArrowFile | Format::ArrowStream => {
                ArrowWrite::create(output.clone(), schema.clone(), options, format)
                    .map(|file| Box::new(file) as _)
            }
        };
        let file = file.map_err(|error| cause(&output, error))?;
        Ok(Writer { output, schema, file: Some(file) })
    }

    pub fn write(&mut self, array: FFI_ArrowArray) -> Result<()> {
        let mut file = self.take()?;
        let batch = import(array, &self.schema)?;
        file.write(batch).map_err(|error| cause(&self.output, error))?;
        self.file = Some(file);
        Ok(())
    }

    pub fn finish(&mut self) -> Result<()> {
        self.take()?.finish().map_err(|error| cause(&self.output, error))
    }

    /// The file, which comes back only if the call succeeds: after an error it is incomplete.
    fn take(&mut self) -> Result<Box<dyn Write>> {
        self.file.take().ok_or_else(|| crate::error::misused("the file has ended"))
    }
}

/// What an error of a writer is about: its callback, or values and types that a format cannot hold.
fn cause(output: &Output, error: Error) -> Error {
    if output.failed.load(Ordering::Relaxed) {
        return callback();
    }
    match error.kind {
        Kind::Damaged => unsupported(error.message),
        _ => error,
    }
}

/// The caller's array: it is trusted to be what the schema says, but for alignment.
fn import(array: FFI_ArrowArray, schema: &SchemaRef) -> Result<RecordBatch> {
    let data_type = DataType::Struct(schema.fields().clone());
    // SAFETY: the array is the caller's, of the writer's schema.
    let mut data = unsafe { from_ffi_and_data_type(array, data_type) }?;
    data.align_buffers();
    let array = StructArray::from(data);
    Ok(RecordBatch::from(array))
}
