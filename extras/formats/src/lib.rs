//! Files of columns for glint, by the Arrow project's crates. engine/input/format_library.h says
//! what the library offers; abi.rs implements it.

mod abi;
mod error;
mod file;
mod input;
mod memory;
mod parquet_file;
mod parquet_read;
mod stream;
