//! struct ArrowArrayStream over `Batches`. It is the crate's struct with functions of this file,
//! because the crate's do not catch panics.

use crate::error::{guard, Error, Result};
use crate::file::Batches;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::Array;
use std::cell::RefCell;
use std::ffi::{c_char, c_int, CString};
use std::rc::Rc;

/// The errno that get_schema and get_next return: last_error tells what failed.
const EIO: c_int = 5;

/// Why a stream of a file failed.
pub type LastError = Rc<RefCell<Option<Error>>>;

struct Stream {
    batches: Option<Box<dyn Batches>>, // none after an error
    piece: Option<u32>,
    last_error: LastError,
    message: CString,
}

pub fn export(
    batches: Box<dyn Batches>,
    piece: Option<u32>,
    last_error: LastError,
) -> FFI_ArrowArrayStream {
    let stream = Stream { batches: Some(batches), piece, last_error, message: CString::default() };
    let data = Box::into_raw(Box::new(stream));
    // SAFETY: the functions take the data for what it is, and `release` frees it once.
    unsafe {
        FFI_ArrowArrayStream::new_unchecked(
            Some(get_schema),
            Some(get_next),
            Some(get_last_error),
            Some(release),
            data.cast(),
        )
    }
}

impl Stream {
    fn fail(&mut self, mut error: Error) -> c_int {
        error.piece = error.piece.or(self.piece);
        self.message = CString::new(error.message.replace('\0', " ")).unwrap_or_default();
        *self.last_error.borrow_mut() = Some(error);
        self.batches = None;
        EIO
    }
}

fn ended() -> Error {
    crate::error::misused("the stream has failed before")
}

unsafe extern "C" fn get_schema(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut FFI_ArrowSchema,
) -> c_int {
    let data = unsafe { &mut *(*stream).private_data().cast::<Stream>() };
    let schema = guard(|| -> Result<FFI_ArrowSchema> {
        let batches = data.batches.as_ref().ok_or_else(ended)?;
        Ok(FFI_ArrowSchema::try_from(batches.schema().as_ref())?)
    });
    match schema {
        Ok(schema) => {
            unsafe { out.write(schema) };
            0
        }
        Err(error) => data.fail(error),
    }
}

unsafe extern "C" fn get_next(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut FFI_ArrowArray,
) -> c_int {
    let data = unsafe { &mut *(*stream).private_data().cast::<Stream>() };
    let array = guard(|| -> Result<FFI_ArrowArray> {
        let batches = data.batches.as_mut().ok_or_else(ended)?;
        Ok(match batches.next()? {
            Some(array) => FFI_ArrowArray::new(&array.to_data()),
            None => FFI_ArrowArray::empty(),
        })
    });
    match array {
        Ok(array) => {
            unsafe { out.write(array) };
            0
        }
        Err(error) => data.fail(error),
    }
}

unsafe extern "C" fn get_last_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    let data = unsafe { &*(*stream).private_data().cast::<Stream>() };
    data.message.as_ptr()
}

unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
    let data = unsafe { Box::from_raw((*stream).private_data().cast::<Stream>()) };
    let _ = guard(|| {
        drop(data);
        Ok(())
    });
    // SAFETY: marks the stream as released.
    unsafe { (*stream).set_release(None) };
}
