//! What a file of any format offers to the table of functions in abi.rs.

use crate::error::Result;
use arrow_array::StructArray;
use arrow_schema::SchemaRef;

pub struct Piece {
    pub rows: u64,
    pub bytes: u64,
    pub memory: u64,
    pub offset: u64,
}

/// struct format_read, checked: the piece and the columns exist.
pub struct Request {
    pub piece: u32,
    /// Each column, and whether a dictionary is asked for.
    pub columns: Vec<(usize, bool)>,
    pub batch_rows: usize,
    pub read_ahead: usize,
    /// Of the caller, in bytes.
    pub memory: u64,
}

pub trait File {
    fn schema(&self) -> &SchemaRef;
    fn piece_count(&self) -> u32;
    fn piece(&self, piece: u32) -> Result<Piece>;
    /// A struct of min, max and null_count, with a row for each piece.
    fn statistics(&self, column: usize) -> Result<StructArray>;
    fn may_contain(&self, piece: u32, column: usize, value: &[u8]) -> Result<bool>;
    /// Where the Bloom filter begins in the file, 0: there is none; and the physical type's number.
    fn bloom_filter(&self, _piece: u32, _column: usize) -> Result<(u64, u32)> {
        Ok((0, 0))
    }
    fn read(&self, request: &Request) -> Result<Box<dyn Batches>>;
}

/// What a stream returns.
pub trait Batches {
    fn schema(&self) -> &SchemaRef;
    fn next(&mut self) -> Result<Option<StructArray>>;
}
