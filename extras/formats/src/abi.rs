//! The table of functions, engine/input/format_library.h: the structs have its layout, and each
//! function checks its arguments, catches panics and writes errors.

use crate::arrow_file::ArrowFile;
use crate::avro_file::AvroFile;
use crate::error::{guard, misused, unsupported, Error, Result};
use crate::file::{Batches, File, Request};
use crate::input::{Input, RawInput};
use crate::memory;
use crate::orc_file::OrcFile;
use crate::parquet_file::ParquetFile;
use crate::stream::{export, LastError};
use crate::writer::{Compression, Format, Options, RawOutput, Writer};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::StructArray;
use arrow_schema::{Schema, SchemaRef};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

const ABI: u32 = 4;

/// struct format_error.
#[repr(C)]
pub struct RawError {
    kind: i32,
    piece: i64,
    message: [u8; 1024],
}

/// struct format_piece.
#[repr(C)]
pub struct RawPiece {
    rows: u64,
    bytes: u64,
    memory: u64,
    offset: u64,
}

/// struct format_bloom_filter.
#[repr(C)]
pub struct RawBloomFilter {
    offset: u64,
    kind: u32,
    zero: u32,
}

/// struct format_read.
#[repr(C)]
pub struct RawRead {
    piece: u32,
    column_count: u32,
    columns: *const u32,
    dictionary: *const u8,
    batch_rows: u32,
    read_ahead: u32,
    memory: u64,
}

/// enum format_kind.
const PARQUET: u32 = 1;
const ARROW_FILE: u32 = 2;
const ARROW_STREAM: u32 = 3;
const AVRO: u32 = 4;
const ORC: u32 = 5;

/// struct format_file.
pub struct Handle {
    file: Box<dyn File>,
    input: Arc<Input>,
    last_error: LastError,
}

impl RawError {
    fn set(&mut self, error: &Error) {
        self.kind = error.kind as i32;
        self.piece = error.piece.map_or(-1, i64::from);
        let mut text = error.message.as_str();
        if text.len() > 1023 {
            let end = (0..=1023).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text = &text[..end];
        }
        self.message = [0; 1024];
        for (to, from) in self.message.iter_mut().zip(text.bytes()) {
            *to = if from < b' ' { b' ' } else { from };
        }
    }
}

/// Runs a function of the table: 0, or -1 with the error set.
fn call(error: *mut RawError, run: impl FnOnce() -> Result<()>) -> c_int {
    match guard(run) {
        Ok(()) => 0,
        Err(why) => {
            if let Some(error) = unsafe { error.as_mut() } {
                error.set(&why);
            }
            -1
        }
    }
}

impl Handle {
    fn check_column(&self, column: u32) -> Result<usize> {
        let count = self.file.schema().fields().len();
        if column as usize >= count {
            return Err(misused(format!("column {column} of {count}")));
        }
        Ok(column as usize)
    }

    fn check_piece(&self, piece: u32) -> Result<u32> {
        let count = self.file.piece_count();
        if piece >= count {
            return Err(misused(format!("piece {piece} of {count}")));
        }
        Ok(piece)
    }

    fn check_read(&self, raw: &RawRead) -> Result<Request> {
        let count = raw.column_count as usize;
        let mut columns = Vec::with_capacity(count);
        for i in 0..count {
            let column = self.check_column(unsafe { *raw.columns.add(i) })?;
            let dictionary = !raw.dictionary.is_null() && unsafe { *raw.dictionary.add(i) } != 0;
            columns.push((column, dictionary));
        }
        Ok(Request {
            piece: self.check_piece(raw.piece)?,
            columns,
            batch_rows: raw.batch_rows.max(1) as usize,
            read_ahead: raw.read_ahead.max(1) as usize,
            memory: raw.memory.max(1),
        })
    }
}

unsafe extern "C" fn open(
    input: *const RawInput,
    kind: u32,
    out: *mut *mut Handle,
    error: *mut RawError,
) -> c_int {
    call(error, || {
        let input = Input::new(unsafe { *input });
        let opened = match kind {
            PARQUET => ParquetFile::open(input.clone()).map(|file| Box::new(file) as Box<dyn File>),
            ARROW_FILE => ArrowFile::open_file(input.clone()).map(|file| Box::new(file) as _),
            ARROW_STREAM => ArrowFile::open_stream(input.clone()).map(|file| Box::new(file) as _),
            AVRO => AvroFile::open(input.clone()).map(|file| Box::new(file) as _),
            ORC => OrcFile::open(input.clone()).map(|file| Box::new(file) as _),
            _ => Err(unsupported(format!("files of kind {kind} are not supported"))),
        };
        let file = opened.map_err(|error| input.cause(error))?;
        let handle = Handle { file, input, last_error: LastError::default() };
        unsafe { out.write(Box::into_raw(Box::new(handle))) };
        Ok(())
    })
}

unsafe extern "C" fn close(file: *mut Handle) {
    if !file.is_null() {
        let _ = guard(|| {
            drop(unsafe { Box::from_raw(file) });
            Ok(())
        });
    }
}

unsafe extern "C" fn schema(
    file: *mut Handle,
    out: *mut FFI_ArrowSchema,
    error: *mut RawError,
) -> c_int {
    call(error, || {
        let schema = FFI_ArrowSchema::try_from(unsafe { &*file }.file.schema().as_ref())?;
        unsafe { out.write(schema) };
        Ok(())
    })
}

unsafe extern "C" fn piece_count(file: *mut Handle) -> u32 {
    unsafe { &*file }.file.piece_count()
}

unsafe extern "C" fn piece(
    file: *mut Handle,
    number: u32,
    out: *mut RawPiece,
    error: *mut RawError,
) -> c_int {
    call(error, || {
        let handle = unsafe { &*file };
        let piece = handle.file.piece(handle.check_piece(number)?);
        let piece = piece.map_err(|error| handle.input.cause(error.in_piece(number)))?;
        let (rows, bytes) = (piece.rows, piece.bytes);
        unsafe { out.write(RawPiece { rows, bytes, memory: piece.memory, offset: piece.offset }) };
        Ok(())
    })
}

/// One array.
struct Once(SchemaRef, Option<StructArray>);

impl Batches for Once {
    fn schema(&self) -> &SchemaRef {
        &self.0
    }

    fn next(&mut self) -> Result<Option<StructArray>> {
        Ok(self.1.take())
    }
}

unsafe extern "C" fn statistics(
    file: *mut Handle,
    column: u32,
    out: *mut FFI_ArrowArrayStream,
    error: *mut RawError,
) -> c_int {
    call(error, || {
        let handle = unsafe { &*file };
        let array = handle.file.statistics(handle.check_column(column)?);
        let array = array.map_err(|error| handle.input.cause(error))?;
        let schema = Schema::new(array.fields().clone());
        let once = Box::new(Once(Arc::new(schema), Some(array)));
        unsafe { out.write(export(once, None, handle.last_error.clone())) };
        Ok(())
    })
}

unsafe extern "C" fn may_contain(
    file: *mut Handle,
    piece: u32,
    column: u32,
    value: *const c_void,
    size: u64,
    out: *mut bool,
    error: *mut RawError,
) -> c_int {
    call(error, || {
        let handle = unsafe { &*file };
        let value = match size {
            0 => &[],
            _ => unsafe { std::slice::from_raw_parts(value.cast::<u8>(), size as usize) },
        };
        let (piece, column) = (handle.check_piece(piece)?, handle.check_column(column)?);
        let found = handle.file.may_contain(piece, column, value);
        let found = found.map_err(|error| handle.input.cause(error.in_piece(piece)))?;
        unsafe { out.write(found) };
        Ok(())
    })
}

unsafe extern "C" fn bloom_filter(
    file: *mut Handle,
    piece: u32,
    column: u32,
    out: *mut RawBloomFilter,
    error: *mut RawError,
) -> c_int {
    call(error, || {
        let handle = unsafe { &*file };
        let (piece, column) = (handle.check_piece(piece)?, handle.check_column(column)?);
        let found = handle.file.bloom_filter(piece, column);
        let (offset, kind) = found.map_err(|error| handle.input.cause(error.in_piece(piece)))?;
        unsafe { out.write(RawBloomFilter { offset, kind, zero: 0 }) };
        Ok(())
    })
}

unsafe extern "C" fn read(
    file: *mut Handle,
    request: *const RawRead,
    out: *mut FFI_ArrowArrayStream,
    error: *mut RawError,
) -> c_int {
    call(error, || {
        let handle = unsafe { &*file };
        let request = handle.check_read(unsafe { &*request })?;
        let batches = handle.file.read(&request);
        let batches = batches.map_err(|e| handle.input.cause(e.in_piece(request.piece)))?;
        let stream = export(batches, Some(request.piece), handle.last_error.clone());
        unsafe { out.write(stream) };
        Ok(())
    })
}

unsafe extern "C" fn last_error(file: *mut Handle, out: *mut RawError) {
    let _ = guard(|| {
        let none = misused("no stream of the file has failed");
        let last = unsafe { &*file }.last_error.borrow();
        unsafe { &mut *out }.set(last.as_ref().unwrap_or(&none));
        Ok(())
    });
}

/// struct format_write.
#[repr(C)]
pub struct RawWrite {
    kind: u32,
    compression: u32,
    level: i32,
    row_group_rows: u32,
    row_group_bytes: u64,
    bloom_count: u32,
    bloom_columns: *const u32,
    bloom_fpp: f64,
}

fn check_options(raw: &RawWrite, schema: &Schema) -> Result<Options> {
    let compression = match raw.compression {
        0 => Compression::None,
        1 => Compression::Snappy,
        2 => Compression::Zstd,
        3 => Compression::Gzip,
        4 => Compression::Lz4,
        5 => Compression::Brotli,
        other => return Err(unsupported(format!("compression {other} is not supported"))),
    };
    let mut bloom_columns = Vec::new();
    for i in 0..raw.bloom_count as usize {
        let column = unsafe { *raw.bloom_columns.add(i) } as usize;
        if column >= schema.fields().len() {
            return Err(misused(format!("column {column} of {}", schema.fields().len())));
        }
        bloom_columns.push(column);
    }
    Ok(Options {
        compression,
        level: (raw.level >= 0).then_some(raw.level),
        row_group_rows: raw.row_group_rows.max(1) as usize,
        row_group_bytes: usize::try_from(raw.row_group_bytes.max(1)).unwrap_or(usize::MAX),
        bloom_columns,
        bloom_fpp: raw.bloom_fpp,
    })
}

unsafe extern "C" fn create(
    output: *const RawOutput,
    options: *const RawWrite,
    schema: *const FFI_ArrowSchema,
    out: *mut *mut Writer,
    error: *mut RawError,
) -> c_int {
    call(error, || {
        let schema = Schema::try_from(unsafe { &*schema })?;
        let raw = unsafe { &*options };
        let format = match raw.kind {
            PARQUET => Format::Parquet,
            ARROW_FILE => Format::ArrowFile,
            ARROW_STREAM => Format::ArrowStream,
            kind => return Err(unsupported(format!("cannot write files of kind {kind}"))),
        };
        let options = check_options(raw, &schema)?;
        let writer = Writer::create(unsafe { *output }, format, &options, schema)?;
        unsafe { out.write(Box::into_raw(Box::new(writer))) };
        Ok(())
    })
}

unsafe extern "C" fn write(
    writer: *mut Writer,
    array: *mut FFI_ArrowArray,
    error: *mut RawError,
) -> c_int {
    let array = unsafe { FFI_ArrowArray::from_raw(array) };
    call(error, || unsafe { &mut *writer }.write(array))
}

unsafe extern "C" fn finish(writer: *mut Writer, error: *mut RawError) -> c_int {
    call(error, || unsafe { &mut *writer }.finish())
}

unsafe extern "C" fn destroy(writer: *mut Writer) {
    if !writer.is_null() {
        let _ = guard(|| {
            drop(unsafe { Box::from_raw(writer) });
            Ok(())
        });
    }
}

extern "C" fn allocated() -> i64 {
    memory::allocated()
}

/// struct format_library.
#[repr(C)]
pub struct Library {
    abi: u32,
    size: u32,
    version: *const c_char,
    open: unsafe extern "C" fn(*const RawInput, u32, *mut *mut Handle, *mut RawError) -> c_int,
    close: unsafe extern "C" fn(*mut Handle),
    schema: unsafe extern "C" fn(*mut Handle, *mut FFI_ArrowSchema, *mut RawError) -> c_int,
    piece_count: unsafe extern "C" fn(*mut Handle) -> u32,
    piece: unsafe extern "C" fn(*mut Handle, u32, *mut RawPiece, *mut RawError) -> c_int,
    statistics:
        unsafe extern "C" fn(*mut Handle, u32, *mut FFI_ArrowArrayStream, *mut RawError) -> c_int,
    may_contain: unsafe extern "C" fn(
        *mut Handle,
        u32,
        u32,
        *const c_void,
        u64,
        *mut bool,
        *mut RawError,
    ) -> c_int,
    bloom_filter: unsafe extern "C" fn(
        *mut Handle,
        u32,
        u32,
        *mut RawBloomFilter,
        *mut RawError,
    ) -> c_int,
    read: unsafe extern "C" fn(
        *mut Handle,
        *const RawRead,
        *mut FFI_ArrowArrayStream,
        *mut RawError,
    ) -> c_int,
    last_error: unsafe extern "C" fn(*mut Handle, *mut RawError),
    create: unsafe extern "C" fn(
        *const RawOutput,
        *const RawWrite,
        *const FFI_ArrowSchema,
        *mut *mut Writer,
        *mut RawError,
    ) -> c_int,
    write: unsafe extern "C" fn(*mut Writer, *mut FFI_ArrowArray, *mut RawError) -> c_int,
    finish: unsafe extern "C" fn(*mut Writer, *mut RawError) -> c_int,
    destroy: unsafe extern "C" fn(*mut Writer),
    allocated: extern "C" fn() -> i64,
}

// SAFETY: it is constant.
unsafe impl Sync for Library {}

static LIBRARY: Library = Library {
    abi: ABI,
    size: size_of::<Library>() as u32,
    version: concat!("glint-formats ", env!("CARGO_PKG_VERSION"), ", arrow-rs 60.1\0")
        .as_ptr()
        .cast(),
    open,
    close,
    schema,
    piece_count,
    piece,
    statistics,
    may_contain,
    bloom_filter,
    read,
    last_error,
    create,
    write,
    finish,
    destroy,
    allocated,
};

/// The library's table. A panic prints nothing: it becomes an error of its file.
#[no_mangle]
pub extern "C" fn glint_formats() -> *const Library {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    &LIBRARY
}
