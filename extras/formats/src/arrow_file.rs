//! Arrow files, whose pieces are their record batches, and streams, which are one piece. Arrays
//! are validated by arrow_ipc's reader: offsets, sizes, UTF-8 and dictionary indexes.

use crate::arrays::{plain_fields, string_dictionary};
use crate::arrow_message::{parse, RawMessage};
use crate::error::{damaged, unsupported, Error, Result};
use crate::file::{Batches, File, Piece, Request};
use crate::input::Input;
use crate::parquet_statistics::unknown;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_footer_length, RecordBatchDecoder};
use arrow_ipc::{root_as_footer, Block, MessageHeader};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

const MAGIC: &[u8] = b"ARROW1";

type Dictionaries = HashMap<i64, ArrayRef>;

pub struct ArrowFile {
    input: Arc<Input>,
    stored: SchemaRef, // with the dictionaries of the file
    schema: SchemaRef, // without
    parts: Parts,
}

enum Parts {
    File { batches: Vec<u64>, dictionaries: Vec<u64>, loaded: RefCell<Option<Rc<Dictionaries>>> },
    Stream { start: u64, rows: RefCell<Option<(u64, u64)>> },
}

impl ArrowFile {
    pub fn open_file(input: Arc<Input>) -> Result<ArrowFile> {
        let size = input.size();
        if size < 8 {
            return Err(damaged(format!("{size} bytes are too few for an Arrow file")));
        }
        let start = input.read(0, 8)?;
        if start.starts_with(b"FEA1") {
            return Err(unsupported("Feather version 1 is not supported: write version 2"));
        }
        if !start.starts_with(MAGIC) || size < 24 {
            return Err(damaged("it does not begin as an Arrow file"));
        }
        let mut tail = [0; 10];
        tail.copy_from_slice(&input.read(size - 10, 10)?);
        let length = read_footer_length(tail)? as u64;
        if length > size - 18 {
            return Err(damaged(format!("a footer of {length} bytes in a file of {size}")));
        }
        let footer = input.read(size - 10 - length, length as usize)?;
        let footer = root_as_footer(&footer).map_err(|e| damaged(format!("the footer: {e}")))?;
        let offsets = |blocks: Option<_>| -> Result<Vec<u64>> {
            let blocks: Option<flatbuffers::Vector<Block>> = blocks;
            blocks.into_iter().flatten().map(|block| message_offset(block, size)).collect()
        };
        let schema = footer.schema().ok_or_else(|| damaged("the footer has no schema"))?;
        let parts = Parts::File {
            batches: offsets(footer.recordBatches())?,
            dictionaries: offsets(footer.dictionaries())?,
            loaded: RefCell::default(),
        };
        ArrowFile::new(input, schema, parts)
    }

    pub fn open_stream(input: Arc<Input>) -> Result<ArrowFile> {
        let first = RawMessage::read(&input, 0)?.ok_or_else(|| damaged("it is empty"))?;
        let message = first.message()?;
        let schema = message.header_as_schema();
        let schema = schema.ok_or_else(|| damaged("it does not begin with a schema"))?;
        let parts = Parts::Stream { start: first.next, rows: RefCell::default() };
        ArrowFile::new(input, schema, parts)
    }

    fn new(input: Arc<Input>, schema: arrow_ipc::Schema, parts: Parts) -> Result<ArrowFile> {
        if !schema.endianness().equals_to_target_endianness() {
            return Err(unsupported("numbers of the other endianness are not supported"));
        }
        let stored = Arc::new(try_fb_to_schema(schema)?);
        for field in stored.fields() {
            check_type(field.data_type()).map_err(|error| error.in_column(field.name()))?;
        }
        let schema = Arc::new(Schema::new(plain_fields(stored.fields())));
        Ok(ArrowFile { input, stored, schema, parts })
    }

    /// The file's dictionaries, which are read when the first batch is.
    fn dictionaries(&self) -> Result<Rc<Dictionaries>> {
        let Parts::File { dictionaries, loaded, .. } = &self.parts else {
            return Ok(Rc::default());
        };
        if let Some(known) = &*loaded.borrow() {
            return Ok(known.clone());
        }
        let mut read = Dictionaries::new();
        for offset in dictionaries {
            let raw = RawMessage::read(&self.input, *offset)?;
            let raw = raw.ok_or_else(|| damaged("a dictionary is missing"))?;
            add_dictionary(&self.input, &self.stored, &raw, &mut read)?;
        }
        let read = Rc::new(read);
        *loaded.borrow_mut() = Some(read.clone());
        Ok(read)
    }
}

/// What the conversion of a schema lets through, and no array can be of.
fn check_type(data_type: &DataType) -> Result<()> {
    use DataType::*;
    let children: Vec<&DataType> = match data_type {
        Decimal32(p, _) if !(1..=9).contains(p) => vec![],
        Decimal64(p, _) if !(1..=18).contains(p) => vec![],
        Decimal128(p, _) if !(1..=38).contains(p) => vec![],
        Decimal256(p, _) if !(1..=76).contains(p) => vec![],
        FixedSizeBinary(size) if *size < 0 => vec![],
        FixedSizeList(_, size) if *size < 0 => vec![],
        Map(entries, _) if !matches!(entries.data_type(), Struct(pair) if pair.len() == 2) => {
            vec![]
        }
        Struct(fields) => return fields.iter().try_for_each(|field| check_type(field.data_type())),
        Union(fields, _) => {
            return fields.iter().try_for_each(|(_, field)| check_type(field.data_type()))
        }
        RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        Dictionary(index, value) => vec![index, value],
        List(item)
        | LargeList(item)
        | ListView(item)
        | LargeListView(item)
        | Map(item, _)
        | FixedSizeList(item, _) => vec![item.data_type()],
        _ => return Ok(()),
    };
    if children.is_empty() {
        return Err(damaged(format!("the type {data_type}")));
    }
    children.into_iter().try_for_each(check_type)
}

fn message_offset(block: &Block, size: u64) -> Result<u64> {
    u64::try_from(block.offset())
        .ok()
        .filter(|offset| *offset < size)
        .ok_or_else(|| damaged(format!("a message at {} is beyond the file", block.offset())))
}

/// Rows and, decoded, bytes of a record batch, about.
fn measure(raw: &RawMessage) -> Result<(u64, u64)> {
    let message = raw.message()?;
    let batch = message.header_as_record_batch();
    let batch = batch.ok_or_else(|| damaged("a message is no record batch"))?;
    let rows = u64::try_from(batch.length());
    let rows = rows.map_err(|_| damaged("a record batch has a negative number of rows"))?;
    // What compressed buffers decode to is only in their bodies.
    let factor = if batch.compression().is_some() { 4 } else { 1 };
    Ok((rows, raw.body_size.saturating_mul(factor)))
}

impl File for ArrowFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn piece_count(&self) -> u32 {
        match &self.parts {
            Parts::File { batches, .. } => batches.len() as u32,
            Parts::Stream { .. } => 1,
        }
    }

    fn piece(&self, piece: u32) -> Result<Piece> {
        match &self.parts {
            Parts::File { batches, .. } => {
                let offset = batches[piece as usize];
                let raw = RawMessage::read(&self.input, offset)?;
                let raw = raw.ok_or_else(|| damaged("a record batch is missing"))?;
                let (rows, memory) = measure(&raw)?;
                Ok(Piece { rows, bytes: raw.next - offset, memory, offset })
            }
            Parts::Stream { start, rows } => {
                let bytes = self.input.size() - start;
                let mut known = rows.borrow_mut();
                let (rows, memory) = match *known {
                    Some(known) => known,
                    None => *known.insert(measure_stream(&self.input, *start)?),
                };
                Ok(Piece { rows, bytes, memory, offset: *start })
            }
        }
    }

    fn statistics(&self, column: usize) -> Result<StructArray> {
        unknown(self.schema.field(column).data_type(), self.piece_count() as usize)
    }

    fn may_contain(&self, _piece: u32, _column: usize, _value: &[u8]) -> Result<bool> {
        Ok(true)
    }

    fn read(&self, request: &Request) -> Result<Box<dyn Batches>> {
        let fields = request.columns.iter().map(|(column, dictionary)| {
            let (stored, plain) = (self.stored.field(*column), self.schema.field(*column));
            match stored.data_type() {
                DataType::Dictionary(_, value) if *dictionary && is_string(value) => {
                    let index = Box::new(DataType::Int32);
                    plain.clone().with_data_type(DataType::Dictionary(index, value.clone()))
                }
                _ => plain.clone(),
            }
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        let (next, dictionaries) = match &self.parts {
            Parts::File { batches, .. } => (batches[request.piece as usize], self.dictionaries()?),
            Parts::Stream { start, .. } => (*start, Rc::default()),
        };
        Ok(Box::new(Messages {
            input: self.input.clone(),
            stored: self.stored.clone(),
            schema,
            columns: request.columns.iter().map(|(column, _)| *column).collect(),
            piece: request.piece,
            batch_rows: request.batch_rows,
            is_stream: matches!(self.parts, Parts::Stream { .. }),
            next: Some(next),
            dictionaries,
            batch: None,
        }))
    }
}

fn is_string(value: &DataType) -> bool {
    use DataType::*;
    matches!(value, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView)
}

/// Rows and bytes of all record batches of a stream, by the messages' metadata.
fn measure_stream(input: &Input, start: u64) -> Result<(u64, u64)> {
    let (mut rows, mut memory, mut offset) = (0u64, 0u64, start);
    while let Some(raw) = RawMessage::read(input, offset)? {
        if raw.message()?.header_type() == MessageHeader::RecordBatch {
            let (more, most) = measure(&raw)?;
            rows = rows.saturating_add(more);
            memory = memory.max(most);
        }
        offset = raw.next;
    }
    Ok((rows, memory))
}

fn add_dictionary(
    input: &Input,
    schema: &Schema,
    raw: &RawMessage,
    dictionaries: &mut Dictionaries,
) -> Result<()> {
    let id = raw.message()?.header_as_dictionary_batch().map(|batch| batch.id());
    let id = id.ok_or_else(|| damaged("a message is no dictionary"))?;
    #[expect(deprecated)] // arrow_ipc's reader knows dictionaries by it, too
    let fields = schema.fields_with_dict_id(id);
    let value = match fields.first().map(|field| field.data_type()) {
        Some(DataType::Dictionary(_, value)) => value.as_ref().clone(),
        _ => return Err(damaged(format!("dictionary {id} is not in the schema"))),
    };
    let values = Schema::new(vec![Field::new("", value, true)]);
    let (metadata, body) = raw.load(input, &values, |_| true)?;
    let message = parse(&metadata)?;
    let batch = message.header_as_dictionary_batch();
    let batch = batch.ok_or_else(|| damaged("a message is no dictionary"))?;
    Ok(read_dictionary(&body, batch, schema, dictionaries, &message.version())?)
}

/// The record batches of a piece.
struct Messages {
    input: Arc<Input>,
    stored: SchemaRef,
    schema: SchemaRef, // of the columns that are read
    columns: Vec<usize>,
    piece: u32,
    batch_rows: usize,
    is_stream: bool,
    next: Option<u64>, // the offset of the next message
    dictionaries: Rc<Dictionaries>,
    batch: Option<(StructArray, usize)>, // and how many of its rows were returned
}

impl Messages {
    /// The next record batch.
    fn read(&mut self) -> Result<Option<StructArray>> {
        while let Some(offset) = self.next {
            let Some(raw) = RawMessage::read(&self.input, offset)? else {
                self.next = None;
                break;
            };
            self.next = self.is_stream.then_some(raw.next);
            match raw.message()?.header_type() {
                MessageHeader::RecordBatch => return Ok(Some(self.decode(&raw)?)),
                MessageHeader::DictionaryBatch if self.is_stream => {
                    let dictionaries = Rc::make_mut(&mut self.dictionaries);
                    add_dictionary(&self.input, &self.stored, &raw, dictionaries)?;
                }
                other => return Err(damaged(format!("a message is a {other:?}"))),
            }
        }
        Ok(None)
    }

    fn decode(&self, raw: &RawMessage) -> Result<StructArray> {
        let wanted = |column: usize| self.columns.contains(&column);
        let (metadata, body) = raw.load(&self.input, &self.stored, wanted)?;
        let message = parse(&metadata)?;
        let batch = message.header_as_record_batch();
        let batch = batch.ok_or_else(|| damaged("a message is no record batch"))?;
        let version = message.version();
        let stored = self.stored.clone();
        let batch: RecordBatch =
            RecordBatchDecoder::try_new(&body, batch, stored, &self.dictionaries, &version)?
                .with_projection(Some(&self.columns))
                .read_record_batch()?;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (array, field) in batch.columns().iter().zip(self.schema.fields()) {
            let array = string_dictionary(array, field.data_type());
            arrays.push(array.map_err(|error| error.in_column(field.name()))?);
        }
        let (fields, rows) = (self.schema.fields().clone(), batch.num_rows());
        Ok(StructArray::try_new_with_length(fields, arrays, None, rows)?)
    }
}

impl Batches for Messages {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self) -> Result<Option<StructArray>> {
        loop {
            if let Some((batch, done)) = &mut self.batch {
                let rows = self.batch_rows.min(batch.len() - *done);
                if rows > 0 {
                    let part = batch.slice(*done, rows);
                    *done += rows;
                    return Ok(Some(part));
                }
            }
            self.batch = None;
            let batch =
                self.read().map_err(|error: Error| self.input.cause(error.in_piece(self.piece)))?;
            match batch {
                Some(batch) => self.batch = Some((batch, 0)),
                None => return Ok(None),
            }
        }
    }
}
