//! Files of columns for glint, by the Arrow project's crates. engine/input/format_library.h says
//! what the library offers; abi.rs implements it.

mod abi;
mod arrays;
mod arrow_file;
mod arrow_message;
mod arrow_write;
mod avro_blocks;
mod avro_check;
mod avro_file;
mod avro_schema;
mod dictionary;
mod error;
mod file;
mod input;
mod memory;
mod orc_blocks;
mod orc_clock;
mod orc_file;
mod orc_numbers;
mod orc_schema;
mod orc_statistics;
mod orc_tail;
mod parquet_encryption;
mod parquet_file;
mod parquet_read;
mod parquet_repair;
mod parquet_statistics;
mod parquet_write;
mod stream;
mod thrift;
mod writer;
