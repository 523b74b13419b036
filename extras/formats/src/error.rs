//! Why a call failed, and how panics of the crates become such errors.

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(i32)]
pub enum Kind {
    Damaged = 1,
    Callback,
    Unsupported,
    Internal,
    Memory,
}

#[derive(Clone, Debug)]
pub struct Error {
    pub kind: Kind,
    pub piece: Option<u32>,
    pub message: String,
}

pub type Result<T> = std::result::Result<T, Error>;

pub fn damaged(message: impl Into<String>) -> Error {
    Error { kind: Kind::Damaged, piece: None, message: message.into() }
}

pub fn unsupported(message: impl Into<String>) -> Error {
    Error { kind: Kind::Unsupported, piece: None, message: message.into() }
}

/// It needs more memory than the caller allows.
pub fn too_large(message: impl Into<String>) -> Error {
    Error { kind: Kind::Memory, piece: None, message: message.into() }
}

/// The caller's fault, such as a column that does not exist.
pub fn misused(message: impl Into<String>) -> Error {
    Error { kind: Kind::Internal, piece: None, message: message.into() }
}

/// A callback failed: the caller knows why.
pub fn callback() -> Error {
    Error { kind: Kind::Callback, piece: None, message: "a callback failed".into() }
}

impl Error {
    pub fn in_piece(mut self, piece: u32) -> Error {
        self.piece = Some(piece);
        self
    }

    pub fn in_column(mut self, name: &str) -> Error {
        self.message = format!("column {name}: {}", self.message);
        self
    }
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Error {
        match error {
            ParquetError::NYI(message) => unsupported(message),
            ParquetError::General(message)
            | ParquetError::EOF(message)
            | ParquetError::ArrowError(message) => from_text(message),
            other => from_text(other.to_string()),
        }
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Error {
        match error {
            ArrowError::NotYetImplemented(message) => unsupported(message),
            ArrowError::ParquetError(message)
            | ArrowError::IpcError(message)
            | ArrowError::SchemaError(message)
            | ArrowError::ParseError(message)
            | ArrowError::InvalidArgumentError(message) => from_text(message),
            other => from_text(other.to_string()),
        }
    }
}

/// The crates have few variants of errors; what they do not support is only in the text.
fn from_text(message: String) -> Error {
    // Names of their variants, which say nothing to a reader.
    let variants =
        ["External: ", "Parquet error: ", "Arrow: ", "EOF: ", "Invalid argument error: "];
    let message = variants.iter().fold(message, |text, variant| text.replace(variant, ""));
    let lower = message.to_lowercase();
    let words = [
        "not supported",
        "unsupported",
        "not implemented",
        "not yet implemented",
        "nyi:",
        "unexpected compressioncodec",
        "unexpected encoding",
        "index overflow",
    ];
    if words.iter().any(|word| lower.contains(word)) {
        unsupported(message)
    } else {
        damaged(message)
    }
}

fn panic_text(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => match payload.downcast::<&'static str>() {
            Ok(text) => text.to_string(),
            Err(_) => "a panic without a message".into(),
        },
    }
}

/// Runs `call`; a panic in it becomes an error.
pub fn guard<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| {
        Err(Error { kind: Kind::Internal, piece: None, message: panic_text(payload) })
    })
}
