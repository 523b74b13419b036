//! Reads columns of a row group. Each column has a reader of its own, which decodes page by page:
//! so the columns come in the order that was asked for, errors name them, and memory is that of a
//! batch, a page and a window for each.

use crate::error::{damaged, misused, unsupported, Result};
use crate::file::{Batches, Request};
use crate::input::{Chunk, Input};
use crate::parquet_file::{decoded_bytes, ParquetFile};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups};
use parquet::arrow::{parquet_to_arrow_field_levels, ProjectionMask};
use parquet::basic::{Encoding, Type};
use parquet::column::page::{PageIterator, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// Arrays of a batch have fewer rows than asked for where rows are large, as documents are: about
/// as many as have these bytes together.
const BATCH_BYTES: u64 = 16 << 20;

pub struct RowGroup {
    input: Arc<Input>,
    schema: SchemaRef,
    columns: Vec<ParquetRecordBatchReader>,
    piece: u32,
    batch_rows: usize,
    rows_left: usize,
}

impl RowGroup {
    pub fn open(file: &ParquetFile, request: &Request) -> Result<RowGroup> {
        let rows = file.metadata.row_group(request.piece as usize).num_rows();
        let rows_left = usize::try_from(rows)
            .map_err(|_| damaged("the row group's number of rows is negative"))?;
        let batch_rows = batch_rows(file, request, rows_left)?;
        let mut columns = Vec::with_capacity(request.columns.len());
        let mut fields = Vec::with_capacity(request.columns.len());
        for (column, dictionary) in &request.columns {
            let reader = open_column(file, request, *column, *dictionary, batch_rows)
                .map_err(|error| error.in_column(file.schema.field(*column).name()))?;
            fields.push(reader.1);
            columns.push(reader.0);
        }
        Ok(RowGroup {
            input: file.input.clone(),
            schema: Arc::new(Schema::new(fields)),
            columns,
            piece: request.piece,
            batch_rows,
            rows_left,
        })
    }

    fn next_column(&mut self, i: usize, rows: usize) -> Result<ArrayRef> {
        let batch: RecordBatch = match self.columns[i].next() {
            Some(batch) => batch?,
            None => return Err(damaged(format!("it ends before {} rows", self.rows_left))),
        };
        if batch.num_rows() != rows {
            return Err(damaged(format!("{} values for {rows} rows", batch.num_rows())));
        }
        let array = batch.column(0);
        if array.data_type() != self.schema.field(i).data_type() {
            return Err(misused(format!("an array of {}", array.data_type())));
        }
        Ok(array.clone())
    }
}

impl Batches for RowGroup {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self) -> Result<Option<StructArray>> {
        let rows = self.batch_rows.min(self.rows_left);
        if rows == 0 {
            return Ok(None);
        }
        let mut arrays = Vec::with_capacity(self.columns.len());
        for i in 0..self.columns.len() {
            let array = self.next_column(i, rows).map_err(|error| {
                let error = error.in_column(self.schema.field(i).name()).in_piece(self.piece);
                self.input.cause(error)
            })?;
            arrays.push(array);
        }
        self.rows_left -= rows;
        let fields = self.schema.fields().clone();
        Ok(Some(StructArray::try_new_with_length(fields, arrays, None, rows)?))
    }
}

fn batch_rows(file: &ParquetFile, request: &Request, rows: usize) -> Result<usize> {
    let mut bytes = 0u64;
    for (column, _) in &request.columns {
        for leaf in file.leaves(*column) {
            let chunk = file.chunk(request.piece, leaf);
            let chunk = chunk.map_err(|e| e.in_column(file.schema.field(*column).name()))?;
            bytes = bytes.saturating_add(decoded_bytes(&chunk));
        }
    }
    let row_bytes = (bytes / rows.max(1) as u64).max(1);
    Ok(request.batch_rows.min((BATCH_BYTES / row_bytes).max(1) as usize))
}

/// A reader of one column of the row group, and its field.
fn open_column(
    file: &ParquetFile,
    request: &Request,
    column: usize,
    dictionary: bool,
    batch_rows: usize,
) -> Result<(ParquetRecordBatchReader, Field)> {
    let descriptor = file.metadata.file_metadata().schema_descr();
    let mut hint: Vec<_> = file.schema.fields().iter().cloned().collect();
    if dictionary {
        if let Some(data_type) = dictionary_type(file, request.piece, column)? {
            hint[column] = Arc::new(hint[column].as_ref().clone().with_data_type(data_type));
        }
    }
    let mask = ProjectionMask::roots(descriptor, [column]);
    let levels = parquet_to_arrow_field_levels(descriptor, mask, Some(&Fields::from(hint)))?;
    let mut chunks = Vec::new();
    for leaf in file.leaves(column) {
        file.check_leaf(leaf)?;
        chunks.push((leaf, file.chunk(request.piece, leaf)?));
    }
    let column = OneColumn {
        input: file.input.clone(),
        metadata: file.metadata.clone(),
        piece: request.piece as usize,
        read_ahead: request.read_ahead,
        chunks,
    };
    let reader =
        ParquetRecordBatchReader::try_new_with_row_groups(&levels, &column, batch_rows, None)?;
    let schema = reader.schema();
    let field = schema.fields().first().ok_or_else(|| damaged("it has no values"))?;
    if has_interval(field.data_type()) {
        return Err(unsupported("intervals are not supported"));
    }
    Ok((reader, field.as_ref().clone()))
}

/// The reader would leave out the months of an interval.
fn has_interval(data_type: &DataType) -> bool {
    match data_type {
        DataType::Interval(_) => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            has_interval(item.data_type())
        }
        DataType::Map(entries, _) => has_interval(entries.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_interval(field.data_type())),
        _ => false,
    }
}

/// The type with which the column is read as a dictionary: none if a page of it is not stored as
/// one, as the reader would have to make a dictionary, which is slower than plain values.
fn dictionary_type(file: &ParquetFile, piece: u32, column: usize) -> Result<Option<DataType>> {
    let value = match file.schema.field(column).data_type() {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        string @ (DataType::Utf8 | DataType::LargeUtf8) => string.clone(),
        binary @ (DataType::Binary | DataType::LargeBinary) => binary.clone(),
        _ => return Ok(None),
    };
    let chunk = file.chunk(piece, file.leaves(column).start)?;
    let repeated = chunk.column_descr().max_rep_level() > 0;
    if chunk.column_type() != Type::BYTE_ARRAY || repeated || !all_pages_use_dictionary(&chunk) {
        return Ok(None);
    }
    Ok(Some(DataType::Dictionary(Box::new(DataType::Int32), Box::new(value))))
}

#[expect(deprecated)] // BIT_PACKED: of the levels of old files
fn all_pages_use_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    if chunk.dictionary_page_offset().is_none() {
        return false;
    }
    if let Some(pages) = chunk.page_encoding_stats_mask() {
        return pages.is_only(Encoding::RLE_DICTIONARY)
            || pages.is_only(Encoding::PLAIN_DICTIONARY);
    }
    // The list has the encoding of the dictionary itself too, so PLAIN in it may be of data pages.
    let mut found = false;
    for encoding in chunk.encodings() {
        match encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => found = true,
            Encoding::RLE | Encoding::BIT_PACKED => (),
            _ => return false,
        }
    }
    found
}

/// The row groups from which a reader of one column is made: one, with the chunks of its leaves.
struct OneColumn {
    input: Arc<Input>,
    metadata: Arc<ParquetMetaData>,
    piece: usize,
    read_ahead: usize,
    chunks: Vec<(usize, ColumnChunkMetaData)>,
}

impl RowGroups for OneColumn {
    fn num_rows(&self) -> usize {
        self.metadata.row_group(self.piece).num_rows() as usize
    }

    fn column_chunks(&self, leaf: usize) -> ParquetResult<Box<dyn PageIterator>> {
        let chunk = self.chunks.iter().find(|(of, _)| *of == leaf);
        let Some((_, chunk)) = chunk else {
            return Err(ParquetError::General(format!("leaf {leaf} is of another column")));
        };
        let (start, size) = chunk.byte_range();
        let bytes = Arc::new(Chunk::new(self.input.clone(), start + size, self.read_ahead));
        let pages = SerializedPageReader::new(bytes, chunk, self.num_rows(), None)?;
        Ok(Box::new(OneChunk(Some(Box::new(pages)))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata.row_group(self.piece)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

struct OneChunk(Option<Box<dyn PageReader>>);

impl Iterator for OneChunk {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for OneChunk {}
