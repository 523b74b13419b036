//! Avro object container files, whose rows are decoded by the crate arrow-avro. A piece is some
//! blocks: the file has no index, so that opening it reads the two numbers before each block. Where
//! that would cost a round trip for each, the file is one piece.

use crate::arrays::{plain_array, plain_fields};
use crate::avro_blocks::{Blocks, Codec};
use crate::avro_check::Checker;
use crate::avro_schema::normalized;
use crate::error::{damaged, unsupported, Error, Result};
use crate::file::{Batches, File, Piece, Request};
use crate::input::{Chunk, ChunkRead, Input};
use crate::parquet_statistics::unknown;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, FixedSizeBinaryArray, StringArray, StructArray};
use arrow_avro::codec::Tz;
use arrow_avro::errors::AvroError;
use arrow_avro::reader::{read_header_info, Decoder, DecoderMode, HeaderInfo, ReaderBuilder};
use arrow_avro::schema::{Fingerprint, FingerprintAlgorithm, SchemaStore};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use bytes::Bytes;
use parquet::file::reader::ChunkReader;
use std::io::BufReader;
use std::sync::Arc;

/// Of a piece in the file, at least, unless it is the last one.
const PIECE_BYTES: u64 = 4 << 20;
const HEADER_READ_AHEAD: usize = 64 << 10;
/// Of the bytes of a block, decoded columns have so many times more, compressed ones.
const EXPANSION: u64 = 4;

/// Rows whose columns are all of the type null have no bytes: so many are in a block at most.
const ROWS_WITHOUT_BYTES_MAX: u64 = 1 << 24;

pub struct AvroFile {
    input: Arc<Input>,
    header: HeaderInfo,
    schema: SchemaRef,
    codec: Codec,
    checker: Arc<Checker>,
    pieces: Vec<Range>,
}

/// Blocks from `start` to `end`; the number of rows is 0 if it is not known.
#[derive(Clone)]
struct Range {
    start: u64,
    end: u64,
    rows: u64,
}

fn from_avro(error: AvroError) -> Error {
    match error {
        AvroError::NYI(message) => unsupported(message),
        other => damaged(other.to_string()),
    }
}

/// A decoder of rows, which have no frame: the schema is that of the file.
fn decoder(header: &HeaderInfo, columns: Option<Vec<usize>>, rows: usize) -> Result<Decoder> {
    let schema = normalized(&header.writer_schema().map_err(from_avro)?)?;
    let id = Fingerprint::Id(0);
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
    store.set(id, schema)?;
    let mut builder = ReaderBuilder::new()
        .with_decoder_mode(DecoderMode::UnframedDatum)
        .with_writer_schema_store(store)
        .with_active_fingerprint(id)
        .with_tz(Tz::Utc)
        .with_batch_size(rows);
    if let Some(columns) = columns {
        builder = builder.with_projection(columns);
    }
    builder.build_decoder().map_err(|error| match Error::from(error) {
        Error { message, piece, .. } => Error { piece, ..unsupported(message) },
    })
}

fn is_uuid(field: &Field) -> bool {
    let logical = field.metadata().get("logicalType");
    field.data_type() == &DataType::FixedSizeBinary(16) && logical.is_some_and(|l| l == "uuid")
}

/// The file's fields. One of the type null has nulls, whether it may or not. A UUID is a text, as
/// files have it; the crate has its 16 bytes.
fn column_fields(stored: &Fields) -> Vec<FieldRef> {
    let column = |field: &FieldRef| match field.data_type() {
        DataType::Null => Arc::new(field.as_ref().clone().with_nullable(true)),
        _ if is_uuid(field) => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8)),
        _ => field.clone(),
    };
    plain_fields(stored).iter().map(column).collect()
}

fn uuid_texts(array: &FixedSizeBinaryArray) -> StringArray {
    let text = |bytes: &[u8]| {
        let mut text = String::with_capacity(36);
        for (i, byte) in bytes.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.extend(
                [byte >> 4, byte & 15]
                    .map(|digit| char::from_digit(digit.into(), 16))
                    .iter()
                    .flatten(),
            );
        }
        text
    };
    array.iter().map(|bytes| bytes.map(text)).collect()
}

/// The array as one of the type that column_fields gives its field.
fn column_array(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    match (array.as_fixed_size_binary_opt(), to) {
        (Some(bytes), DataType::Utf8) => Ok(Arc::new(uuid_texts(bytes))),
        _ => plain_array(array, to),
    }
}

impl AvroFile {
    pub fn open(input: Arc<Input>) -> Result<AvroFile> {
        let bytes = Chunk::new(input.clone(), input.size(), HEADER_READ_AHEAD);
        let read: ChunkRead = bytes.get_read(0)?;
        let header = read_header_info(BufReader::new(read)).map_err(from_avro)?;
        let codec =
            Codec::of(header.compression().map_err(|error| unsupported(error.to_string()))?)?;
        let written = normalized(&header.writer_schema().map_err(from_avro)?)?;
        let checker = Arc::new(Checker::new(&written)?);
        let stored = decoder(&header, None, 1)?.schema();
        let schema = Arc::new(Schema::new(column_fields(stored.fields())));
        let mut file = AvroFile { input, header, schema, codec, checker, pieces: Vec::new() };
        file.find_pieces()?;
        Ok(file)
    }

    fn blocks(&self, read_ahead: usize, memory: u64) -> Blocks {
        Blocks::new(&self.input, self.codec, self.header.sync(), read_ahead, memory)
    }

    fn find_pieces(&mut self) -> Result<()> {
        let (mut at, end) = (self.header.header_len(), self.input.size());
        let blocks = self.blocks(1, u64::MAX);
        while at < end && !self.input.is_remote() {
            let header = blocks.header(at)?;
            match self.pieces.last_mut() {
                Some(piece) if piece.end - piece.start < PIECE_BYTES => {
                    piece.end = header.end;
                    piece.rows += header.rows;
                }
                _ => self.pieces.push(Range { start: at, end: header.end, rows: header.rows }),
            }
            at = header.end;
        }
        if at < end {
            self.pieces.push(Range { start: at, end, rows: 0 });
        }
        match u32::try_from(self.pieces.len()) {
            Ok(_) => Ok(()),
            Err(_) => Err(unsupported("the file has too many blocks")),
        }
    }
}

impl File for AvroFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn piece_count(&self) -> u32 {
        self.pieces.len() as u32
    }

    fn piece(&self, piece: u32) -> Result<Piece> {
        let range = &self.pieces[piece as usize];
        let bytes = range.end - range.start;
        let times = if self.codec == Codec::Null { 1 } else { EXPANSION };
        let memory = bytes.saturating_mul(times);
        Ok(Piece { rows: range.rows, bytes, memory, offset: range.start })
    }

    fn statistics(&self, column: usize) -> Result<StructArray> {
        unknown(self.schema.field(column).data_type(), self.pieces.len())
    }

    fn may_contain(&self, _piece: u32, _column: usize, _value: &[u8]) -> Result<bool> {
        Ok(true)
    }

    fn read(&self, request: &Request) -> Result<Box<dyn Batches>> {
        let columns: Vec<usize> = request.columns.iter().map(|(column, _)| *column).collect();
        let schema = Arc::new(self.schema.project(&columns)?);
        for (column, field) in columns.iter().zip(schema.fields()) {
            if let Some(problem) = self.checker.problem(*column) {
                return Err(unsupported(problem).in_column(field.name()).in_piece(request.piece));
            }
        }
        // The crate cannot leave out a column whose type another one uses by its name: then all are
        // decoded.
        let some = decoder(&self.header, Some(columns.clone()), request.batch_rows);
        let (decoder, columns) = match some {
            _ if columns.is_empty() => (None, columns),
            Ok(some) => (Some(some), (0..columns.len()).collect()),
            Err(_) => (Some(decoder(&self.header, None, request.batch_rows)?), columns),
        };
        let range = &self.pieces[request.piece as usize];
        Ok(Box::new(Rows {
            input: self.input.clone(),
            blocks: self.blocks(request.read_ahead, request.memory),
            checker: self.checker.clone(),
            piece: request.piece,
            batch_rows: request.batch_rows,
            schema,
            columns,
            decoder,
            at: range.start,
            end: range.end,
            data: Bytes::new(),
            left: 0,
        }))
    }
}

/// The rows of a piece.
struct Rows {
    input: Arc<Input>,
    blocks: Blocks,
    checker: Arc<Checker>,
    piece: u32,
    batch_rows: usize,
    schema: SchemaRef,
    columns: Vec<usize>,      // of the decoder's
    decoder: Option<Decoder>, // none: no columns
    at: u64,                  // of the next block
    end: u64,
    data: Bytes, // of the rows of this block that are left
    left: u64,
}

impl Rows {
    fn next_block(&mut self) -> Result<()> {
        if !self.data.is_empty() && self.decoder.is_some() {
            return Err(damaged(format!("the block before {} has more bytes than rows", self.at)));
        }
        let header = self.blocks.header(self.at)?;
        self.data = self.blocks.load(&header)?;
        if header.rows > ROWS_WITHOUT_BYTES_MAX.max(self.data.len() as u64) {
            return Err(damaged(format!(
                "the block before {} has more rows than bytes",
                header.end
            )));
        }
        self.left = header.rows;
        self.at = header.end;
        self.check_rows()
    }

    /// Checks the rows of the block that has been loaded.
    fn check_rows(&self) -> Result<()> {
        if !self.checker.needed || self.decoder.is_none() {
            return Ok(());
        }
        let mut rest = &self.data[..];
        for row in 0..self.left {
            self.checker.check(&mut rest).map_err(|error| crate::error::Error {
                message: format!("row {row} of the block before {}: {}", self.at, error.message),
                ..error
            })?;
        }
        Ok(())
    }

    /// Decodes up to `most` rows of the block. Returns their number.
    fn decode(&mut self, most: usize) -> Result<usize> {
        let rows = self.left.min(most as u64) as usize;
        if let Some(decoder) = &mut self.decoder {
            for _ in 0..rows {
                let used = decoder
                    .decode(&self.data)
                    .map_err(|error| damaged(format!("the block before {}: {error}", self.at)))?;
                self.data = self.data.slice(used.min(self.data.len())..);
            }
        }
        self.left -= rows as u64;
        Ok(rows)
    }

    fn read(&mut self) -> Result<Option<StructArray>> {
        let mut rows = 0;
        while rows < self.batch_rows {
            if self.left > 0 {
                rows += self.decode(self.batch_rows - rows)?;
            } else if self.at < self.end {
                self.next_block()?;
            } else {
                break;
            }
        }
        if self.at == self.end && self.left == 0 && !self.data.is_empty() && self.decoder.is_some()
        {
            return Err(damaged("the last block has more bytes than rows"));
        }
        if rows == 0 {
            return Ok(None);
        }
        let fields = self.schema.fields();
        let mut arrays = Vec::with_capacity(fields.len());
        let batch = match &mut self.decoder {
            Some(decoder) => decoder.flush().map_err(from_avro)?,
            None => None,
        };
        for (field, column) in fields.iter().zip(&self.columns) {
            let Some(array) = batch.as_ref().and_then(|batch| batch.columns().get(*column)) else {
                return Err(damaged("a column is missing"));
            };
            let array = column_array(array, field.data_type());
            arrays.push(array.map_err(|error| error.in_column(field.name()))?);
        }
        Ok(Some(StructArray::try_new_with_length(fields.clone(), arrays, None, rows)?))
    }
}

impl Batches for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self) -> Result<Option<StructArray>> {
        self.read().map_err(|error| self.input.cause(error.in_piece(self.piece)))
    }
}
