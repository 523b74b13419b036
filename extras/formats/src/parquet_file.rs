//! A Parquet file: its footer, schema and row groups.

use crate::arrays::plain_fields;
use crate::error::{damaged, unsupported, Result};
use crate::file::{Batches, File, Piece, Request};
use crate::input::{Chunk, Input};
use crate::parquet_encryption::encrypted_leaves;
use crate::parquet_read::RowGroup;
use crate::parquet_repair::repaired;
use crate::parquet_statistics;
use arrow_array::StructArray;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use parquet::arrow::{parquet_to_arrow_schema, ARROW_SCHEMA_META_KEY};
use parquet::basic::Type;
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, FooterTail, KeyValue, ParquetMetaData, ParquetMetaDataReader,
};
use parquet::schema::types::SchemaDescriptor;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The Bloom filter that was read last, of one column of one piece.
struct Filter {
    piece: u32,
    column: usize,
    blocks: Option<Sbbf>, // none: the file has none
}

/// Bytes at the end of a file that are read at once: more than most footers have.
const TAIL_BYTES: u64 = 64 << 10;

/// The specification's largest Bloom filter, and its header.
const FILTER_BYTES_MAX: usize = (128 << 20) + 64;

pub struct ParquetFile {
    pub input: Arc<Input>,
    pub metadata: Arc<ParquetMetaData>,
    pub schema: SchemaRef,
    leaves: Vec<Range<usize>>,  // of each column
    encrypted: BTreeSet<usize>, // leaves
    filter: RefCell<Option<Filter>>,
}

impl ParquetFile {
    pub fn open(input: Arc<Input>) -> Result<ParquetFile> {
        let footer = read_footer(&input)?;
        let metadata = Arc::new(decode_footer(&footer)?);
        let file = metadata.file_metadata();
        let schema = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata())?;
        let fields = plain_fields(schema.fields());
        if fields.len() != file.schema_descr().root_schema().get_fields().len() {
            return Err(unsupported("a column without leaves is not supported"));
        }
        let leaves = column_leaves(file.schema_descr(), fields.len())?;
        let fields = match with_types(file.key_value_metadata()) {
            true => fields,
            false => fields.iter().zip(&leaves).map(|(f, l)| as_micros(f, l, file)).collect(),
        };
        let schema = Arc::new(Schema::new(fields));
        let encrypted = encrypted_leaves(&footer);
        Ok(ParquetFile { input, metadata, schema, leaves, encrypted, filter: RefCell::default() })
    }

    /// The leaves of a column, a range of the row groups' column chunks.
    pub fn leaves(&self, column: usize) -> Range<usize> {
        self.leaves[column].clone()
    }

    /// An error if the leaf cannot be read in any row group.
    pub fn check_leaf(&self, leaf: usize) -> Result<()> {
        match self.encrypted.contains(&leaf) {
            true => Err(unsupported("it is encrypted")),
            false => Ok(()),
        }
    }

    /// The column chunk as it is to be read. It is within the file.
    pub fn chunk(&self, piece: u32, leaf: usize) -> Result<ColumnChunkMetaData> {
        let group = self.metadata.row_group(piece as usize);
        if group.num_rows() < 0 {
            return Err(damaged("the row group's number of rows is negative"));
        }
        let mut chunk = group.column(leaf).clone();
        if chunk.file_path().is_some_and(|path| !path.is_empty()) {
            return Err(unsupported("its data is in another file"));
        }
        // Old writers set 0 where there is no dictionary.
        if chunk.dictionary_page_offset().is_some_and(|o| o <= 0 || o > chunk.data_page_offset()) {
            chunk = chunk.into_builder().set_dictionary_page_offset(None).build()?;
        }
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let size = chunk.compressed_size();
        let end = start.checked_add(size).and_then(|end| u64::try_from(end).ok());
        if start < 0 || size < 0 || end.is_none_or(|end| end > self.input.size()) {
            return Err(damaged(format!("a chunk of {size} bytes at {start} is beyond the file")));
        }
        Ok(chunk)
    }

    fn read_filter(&self, piece: u32, leaf: usize) -> Result<Option<Sbbf>> {
        let chunk = self.metadata.row_group(piece as usize).column(leaf);
        let Some(offset) = chunk.bloom_filter_offset() else {
            return Ok(None);
        };
        // The filter's size is in its header, too, and the reader believes the column chunk more:
        // a wrong size there would give wrong answers. So it only says how much to read at once.
        let length = chunk.bloom_filter_length().unwrap_or(0).max(64) as usize;
        let ahead = length.min(FILTER_BYTES_MAX);
        if offset < 0 || offset as u64 >= self.input.size() {
            return Err(damaged(format!("a Bloom filter at {offset} is beyond the file")));
        }
        let header_only = chunk.clone().into_builder().set_bloom_filter_length(None).build()?;
        let bytes = Chunk::new(self.input.clone(), self.input.size(), ahead);
        let filter = Sbbf::read_from_column_chunk(&header_only, &bytes)?;
        match filter {
            Some(filter) if filter.num_blocks() == 0 => Err(damaged("its Bloom filter is empty")),
            filter => Ok(filter),
        }
    }
}

impl File for ParquetFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn piece_count(&self) -> u32 {
        self.metadata.num_row_groups() as u32
    }

    fn piece(&self, piece: u32) -> Result<Piece> {
        let rows = self.metadata.row_group(piece as usize).num_rows();
        let mut sum = Piece { rows: rows.max(0) as u64, bytes: 0, memory: 0, offset: u64::MAX };
        for column in 0..self.schema.fields().len() {
            for leaf in self.leaves(column) {
                let chunk = self.chunk(piece, leaf).map_err(|error| {
                    error.in_column(self.schema.field(column).name()).in_piece(piece)
                })?;
                let (start, size) = chunk.byte_range();
                sum.bytes = sum.bytes.saturating_add(size);
                sum.memory = sum.memory.saturating_add(decoded_bytes(&chunk));
                sum.offset = sum.offset.min(start);
            }
        }
        if sum.offset == u64::MAX {
            sum.offset = 0;
        }
        Ok(sum)
    }

    fn statistics(&self, column: usize) -> Result<StructArray> {
        let array = parquet_statistics::statistics(self, column);
        array.map_err(|error| error.in_column(self.schema.field(column).name()))
    }

    fn may_contain(&self, piece: u32, column: usize, value: &[u8]) -> Result<bool> {
        let leaves = self.leaves(column);
        if leaves.len() != 1 || self.encrypted.contains(&leaves.start) {
            return Ok(true);
        }
        let mut last = self.filter.borrow_mut();
        if last.as_ref().is_none_or(|filter| filter.piece != piece || filter.column != column) {
            let blocks = self
                .read_filter(piece, leaves.start)
                .map_err(|error| error.in_column(self.schema.field(column).name()))?;
            *last = Some(Filter { piece, column, blocks });
        }
        let blocks = last.as_ref().and_then(|filter| filter.blocks.as_ref());
        let chunk = self.metadata.row_group(piece as usize).column(leaves.start);
        let value = match (chunk.column_type(), value.len()) {
            (Type::INT32, 8) => &value[..4],
            (Type::INT32, 4) | (Type::INT64, 8) | (Type::BYTE_ARRAY, _) => value,
            _ => return Ok(true),
        };
        Ok(blocks.is_none_or(|blocks| blocks.check(value)))
    }

    fn bloom_filter(&self, piece: u32, column: usize) -> Result<(u64, u32)> {
        let name = || self.schema.field(column).name();
        let leaves = self.leaves(column);
        if leaves.len() != 1 {
            return Err(unsupported("it has several values in a row").in_column(name()));
        }
        self.check_leaf(leaves.start).map_err(|error| error.in_column(name()))?;
        let chunk = self.metadata.row_group(piece as usize).column(leaves.start);
        let offset = chunk.bloom_filter_offset().unwrap_or(0);
        match u64::try_from(offset) {
            Ok(offset) if offset < self.input.size() => Ok((offset, chunk.column_type() as u32)),
            _ => Err(damaged(format!("a Bloom filter at {offset} is beyond the file"))
                .in_column(name())),
        }
    }

    fn read(&self, request: &Request) -> Result<Box<dyn Batches>> {
        Ok(Box::new(RowGroup::open(self, request)?))
    }
}

/// Of each column, whose leaves are neighbours.
fn column_leaves(descriptor: &SchemaDescriptor, columns: usize) -> Result<Vec<Range<usize>>> {
    let mut leaves = vec![0..0; columns];
    for leaf in 0..descriptor.num_columns() {
        let column = leaves.get_mut(descriptor.get_column_root_idx(leaf));
        let column = column.ok_or_else(|| damaged("its schema has more columns than fields"))?;
        if column.end == 0 {
            column.start = leaf;
        }
        column.end = leaf + 1;
    }
    Ok(leaves)
}

/// Whether the writer has left its Arrow schema.
fn with_types(metadata: Option<&Vec<KeyValue>>) -> bool {
    metadata.is_some_and(|pairs| pairs.iter().any(|pair| pair.key == ARROW_SCHEMA_META_KEY))
}

/// INT96 has days and nanoseconds of a day. As nanoseconds since 1970, which are the default,
/// years before 1677 and after 2262 would silently be others; as in Spark, they are microseconds.
fn as_micros(field: &FieldRef, leaves: &Range<usize>, file: &FileMetaData) -> FieldRef {
    let int96 = leaves.len() == 1
        && file.schema_descr().column(leaves.start).physical_type() == Type::INT96
        && *field.data_type() == DataType::Timestamp(TimeUnit::Nanosecond, None);
    if !int96 {
        return field.clone();
    }
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    Arc::new(field.as_ref().clone().with_data_type(micros))
}

fn read_footer(input: &Input) -> Result<bytes::Bytes> {
    let size = input.size();
    if size < 12 {
        return Err(damaged(format!("{size} bytes are too few for a Parquet file")));
    }
    let tail_size = size.min(TAIL_BYTES) as usize;
    let tail = input.read(size - tail_size as u64, tail_size)?;
    let footer = FooterTail::try_from(&tail[tail_size - 8..])?;
    if footer.is_encrypted_footer() {
        return Err(unsupported("the file is encrypted"));
    }
    let length = footer.metadata_length();
    if length as u64 > size - 12 {
        return Err(damaged(format!("a footer of {length} bytes in a file of {size}")));
    }
    if length + 8 <= tail_size {
        return Ok(tail.slice(tail_size - 8 - length..tail_size - 8));
    }
    input.read(size - 8 - length as u64, length)
}

fn decode_footer(footer: &[u8]) -> Result<ParquetMetaData> {
    let found = ParquetMetaDataReader::decode_metadata(footer);
    match found.is_err().then(|| repaired(footer)).flatten() {
        Some(footer) => Ok(ParquetMetaDataReader::decode_metadata(&footer)?),
        None => Ok(found?),
    }
}

/// Of an array with the chunk's values, about.
pub fn decoded_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let values = chunk.num_values().max(0) as u64;
    let width = match chunk.column_type() {
        Type::BOOLEAN => return values / 8 + 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => chunk.column_descr().type_length().max(0) as u64,
        Type::BYTE_ARRAY => {
            // Of a dictionary the size of all values is known only if the writer has said it.
            let bytes =
                chunk.unencoded_byte_array_data_bytes().unwrap_or(chunk.uncompressed_size());
            return (bytes.max(0) as u64).saturating_add(values.saturating_mul(4));
        }
    };
    values.saturating_mul(width)
}
