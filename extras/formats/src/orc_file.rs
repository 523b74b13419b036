//! ORC files, whose streams are decoded by the crate orc-rust. A piece is a stripe. The crate is
//! given one column of it at a time, as a file that has only this: so the streams of other columns
//! and the indexes are not read, errors name the column, and what the crate trusts is checked first.

use crate::error::{damaged, too_large, unsupported, Error, Result};
use crate::file::{Batches, File, Piece, Request};
use crate::input::Input;
use crate::orc_blocks::guard_crate;
use crate::orc_clock::Clock;
use crate::orc_numbers;
use crate::orc_schema::{column_array, columns, crate_field};
use crate::orc_statistics::statistics;
use crate::orc_tail::Tail;
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{DataType, Schema, SchemaRef};
use bytes::{Buf, Bytes};
use orc_rust::array_decoder::NaiveStripeDecoder;
use orc_rust::error::OrcError;
use orc_rust::projection::ProjectionMask;
use orc_rust::proto::column_encoding::Kind as Encoding;
use orc_rust::proto::r#type::Kind as Type;
use orc_rust::proto::stream::Kind as StreamKind;
use orc_rust::proto::{Stream, StripeFooter, StripeInformation};
use orc_rust::reader::metadata::FileMetadata;
use orc_rust::reader::ChunkReader;
use orc_rust::stripe::{Stripe, StripeMetadata};
use prost::Message;
use std::io;
use std::sync::Arc;

/// Of a stripe's footer, decompressed.
const FOOTER_BYTES_MAX: usize = 64 << 20;
/// Decoded columns have so many times the bytes of compressed ones.
const EXPANSION: u64 = 4;
/// Arrays have fewer rows than asked for where rows are large: about as many as have these bytes.
const BATCH_BYTES: u64 = 16 << 20;
/// Values of a dictionary. The crate allocates a number for each before it reads them.
const DICTIONARY_MAX: u32 = 1 << 26;
/// Bytes of the lengths of a list, or the nanoseconds of times, in a stripe, decompressed.
const NUMBERS_BYTES_MAX: usize = 256 << 20;

pub struct OrcFile {
    input: Arc<Input>,
    tail: Tail,
    metadata: FileMetadata,
    pub schema: SchemaRef,
}

fn from_orc(error: OrcError) -> Error {
    match error {
        OrcError::UnsupportedTypeVariant { .. } => unsupported(error.to_string()),
        OrcError::OutOfSpec { msg, .. } => damaged(msg),
        OrcError::Arrow { source, .. } => source.into(),
        other => damaged(other.to_string()),
    }
}

/// One column of a stripe: its streams, one after the other, and then a footer.
struct Streams {
    parts: Vec<(u64, Bytes)>,
}

impl ChunkReader for Streams {
    type T = bytes::buf::Reader<Bytes>;

    fn len(&self) -> u64 {
        self.parts.last().map_or(0, |(start, bytes)| start + bytes.len() as u64)
    }

    fn get_read(&self, offset: u64) -> io::Result<Self::T> {
        Ok(self.get_bytes(offset, self.len().saturating_sub(offset))?.reader())
    }

    fn get_bytes(&self, offset: u64, size: u64) -> io::Result<Bytes> {
        let part = self
            .parts
            .iter()
            .find(|(start, bytes)| offset >= *start && offset - start + size <= bytes.len() as u64);
        match part {
            Some((start, bytes)) => {
                let at = (offset - start) as usize;
                Ok(bytes.slice(at..at + size as usize))
            }
            None => Err(io::Error::other("it is not a stream of the column")),
        }
    }
}

/// A stream that a column needs, and where it is in the file.
struct Part {
    offset: u64,
    stream: Stream,
}

impl OrcFile {
    pub fn open(input: Arc<Input>) -> Result<OrcFile> {
        let tail = Tail::read(&input)?;
        let schema = Arc::new(Schema::new(columns(&tail)?));
        let metadata = tail.crate_metadata()?;
        Ok(OrcFile { input, tail, metadata, schema })
    }

    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    fn stripe(&self, piece: u32) -> &StripeInformation {
        &self.tail.footer.stripes[piece as usize]
    }

    /// The id of a column's type.
    pub fn type_id(&self, column: usize) -> usize {
        self.tail.footer.types[0].subtypes[column] as usize
    }

    fn stripe_footer(&self, piece: u32) -> Result<StripeFooter> {
        let stripe = self.stripe(piece);
        let offset = stripe.offset() + stripe.index_length() + stripe.data_length();
        let bytes = self.input.read(offset, stripe.footer_length() as usize)?;
        let in_footer = |why: &str| damaged(format!("the stripe's footer: {why}"));
        let bytes = self.tail.codec.read(&bytes, FOOTER_BYTES_MAX);
        let bytes = bytes.map_err(|error| in_footer(&error.message))?;
        let footer =
            StripeFooter::decode(&bytes[..]).map_err(|error| in_footer(&error.to_string()))?;
        if footer.columns.len() < self.tail.footer.types.len() {
            return Err(in_footer("columns are missing"));
        }
        let lengths = footer.streams.iter().map(Stream::length);
        let bytes = lengths.fold(0u64, u64::saturating_add);
        if bytes > stripe.index_length() + stripe.data_length() {
            return Err(in_footer("its streams are longer than the stripe"));
        }
        let zone = footer.writer_timezone();
        if !zone.is_empty() && zone.parse::<chrono_tz::Tz>().is_err() {
            return Err(unsupported(format!("the writer's time zone {zone} is not known")));
        }
        Ok(footer)
    }

    /// The streams of the column's values.
    fn parts(&self, piece: u32, footer: &StripeFooter, column: usize) -> Result<Vec<Part>> {
        let types = self.tail.subtree(self.type_id(column));
        let (mut offset, mut parts) = (self.stripe(piece).offset(), Vec::new());
        for stream in &footer.streams {
            let kind = StreamKind::try_from(stream.kind.unwrap_or(0));
            let needed = match kind {
                Ok(
                    StreamKind::Present
                    | StreamKind::Data
                    | StreamKind::Length
                    | StreamKind::DictionaryData
                    | StreamKind::Secondary,
                ) => types.contains(&(stream.column() as usize)),
                _ => false,
            };
            if needed {
                parts.push(Part { offset, stream: stream.clone() });
            }
            offset += stream.length();
        }
        Ok(parts)
    }

    /// Checks what the crate trusts: sizes of blocks, of dictionaries, and of lists.
    fn check_stream(&self, footer: &StripeFooter, stream: &Stream, bytes: &[u8]) -> Result<()> {
        let id = stream.column() as usize;
        let kind = self.tail.footer.types[id].kind();
        let name = |error: Error| Error {
            message: format!("the stream {}: {}", stream.kind().as_str_name(), error.message),
            ..error
        };
        let encoding = &footer.columns[id];
        if encoding.dictionary_size() > DICTIONARY_MAX {
            let size = encoding.dictionary_size();
            return Err(unsupported(format!("its dictionary has {size} values")));
        }
        let version_2 = matches!(encoding.kind(), Encoding::DirectV2 | Encoding::DictionaryV2);
        let numbers = || self.tail.codec.read(bytes, NUMBERS_BYTES_MAX).map_err(name);
        match (stream.kind(), kind) {
            (StreamKind::Length, Type::List | Type::Map) => {
                return orc_numbers::check_lengths(&numbers()?, version_2).map_err(name);
            }
            (StreamKind::Secondary, Type::Timestamp | Type::TimestampInstant) => {
                return orc_numbers::check_nanoseconds(&numbers()?, version_2).map_err(name);
            }
            _ => (),
        }
        self.tail.codec.check(bytes).map_err(name)
    }

    /// The bytes of the parts, which are read together where they are neighbours.
    fn load(&self, parts: &[Part]) -> Result<Vec<Bytes>> {
        let mut loaded = Vec::with_capacity(parts.len());
        let mut i = 0;
        while i < parts.len() {
            let (start, first) = (parts[i].offset, i);
            let mut end = start;
            while i < parts.len() && parts[i].offset == end {
                end += parts[i].stream.length();
                i += 1;
            }
            let mut bytes = self.input.read(start, (end - start) as usize)?;
            for part in &parts[first..i] {
                loaded.push(bytes.split_to(part.stream.length() as usize));
            }
        }
        Ok(loaded)
    }

    /// A decoder of one column of the stripe.
    fn open_column(
        &self,
        request: &Request,
        footer: &StripeFooter,
        column: usize,
        parts: Vec<Part>,
        batch_rows: usize,
    ) -> Result<NaiveStripeDecoder> {
        let loaded = self.load(&parts)?;
        for (part, bytes) in parts.iter().zip(&loaded) {
            self.check_stream(footer, &part.stream, bytes)?;
        }
        let mut streams = Streams { parts: Vec::with_capacity(parts.len() + 1) };
        for bytes in loaded {
            streams.parts.push((streams.len(), bytes));
        }
        let data = streams.len();
        let alone = StripeFooter {
            streams: parts.into_iter().map(|part| part.stream).collect(),
            columns: footer.columns.clone(),
            writer_timezone: footer.writer_timezone.clone().filter(|zone| !zone.is_empty()),
            encryption: Vec::new(),
        };
        let footer = self.tail.codec.write(&alone.encode_to_vec());
        let stripe = StripeInformation {
            offset: Some(0),
            index_length: Some(0),
            data_length: Some(data),
            footer_length: Some(footer.len() as u64),
            number_of_rows: self.stripe(request.piece).number_of_rows,
            ..Default::default()
        };
        streams.parts.push((data, footer));
        let info = StripeMetadata::try_from(&stripe).map_err(from_orc)?;
        let root = self.metadata.root_data_type();
        let root = root.project(&ProjectionMask::roots(root, [self.type_id(column)]));
        let field = crate_field(&self.schema.fields()[column]);
        let schema = Arc::new(Schema::new(vec![field]));
        guard_crate(|| {
            let stripe =
                Stripe::new(&mut streams, &self.metadata, &root, &info).map_err(from_orc)?;
            NaiveStripeDecoder::new(stripe, schema, batch_rows).map_err(from_orc)
        })
    }

    fn batch_rows(&self, request: &Request, bytes: u64) -> usize {
        let rows = self.stripe(request.piece).number_of_rows().max(1);
        let row_bytes = (bytes.saturating_mul(EXPANSION) / rows).max(1);
        request.batch_rows.min((BATCH_BYTES / row_bytes).max(1) as usize)
    }
}

impl File for OrcFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn piece_count(&self) -> u32 {
        self.tail.footer.stripes.len() as u32
    }

    fn piece(&self, piece: u32) -> Result<Piece> {
        let stripe = self.stripe(piece);
        let bytes = stripe.index_length() + stripe.data_length() + stripe.footer_length();
        Ok(Piece {
            rows: stripe.number_of_rows(),
            bytes,
            memory: stripe.data_length().saturating_mul(EXPANSION),
            offset: stripe.offset(),
        })
    }

    fn statistics(&self, column: usize) -> Result<StructArray> {
        statistics(self, column)
    }

    fn may_contain(&self, _piece: u32, _column: usize, _value: &[u8]) -> Result<bool> {
        Ok(true)
    }

    fn read(&self, request: &Request) -> Result<Box<dyn Batches>> {
        let columns: Vec<usize> = request.columns.iter().map(|(column, _)| *column).collect();
        let schema = Arc::new(self.schema.project(&columns)?);
        let footer = self.stripe_footer(request.piece)?;
        let (mut parts, mut bytes) = (Vec::with_capacity(columns.len()), 0u64);
        for column in &columns {
            let of_column = self.parts(request.piece, &footer, *column)?;
            bytes += of_column.iter().map(|part| part.stream.length()).sum::<u64>();
            parts.push(of_column);
        }
        // The crate copies what it is given.
        if bytes.saturating_mul(2) > request.memory {
            let (needed, most) = (bytes.saturating_mul(2) >> 20, request.memory >> 20);
            return Err(too_large(format!(
                "its columns need {} MiB in memory, of {most}",
                needed + 1
            )));
        }
        let batch_rows = self.batch_rows(request, bytes);
        let mut decoders = Vec::with_capacity(columns.len());
        for (column, parts) in columns.iter().zip(parts) {
            let name = self.schema.field(*column).name();
            if matches!(self.schema.field(*column).data_type(), DataType::Union(_, _)) {
                return Err(unsupported("unions are not supported").in_column(name));
            }
            let decoder = self.open_column(request, &footer, *column, parts, batch_rows);
            decoders.push(decoder.map_err(|error| error.in_column(name))?);
        }
        Ok(Box::new(Rows {
            input: self.input.clone(),
            schema,
            decoders,
            piece: request.piece,
            clock: Clock::new(self.tail.is_proleptic(), footer.writer_timezone()),
            batch_rows: batch_rows as u64,
            left: self.stripe(request.piece).number_of_rows(),
        }))
    }
}

/// The rows of a stripe.
struct Rows {
    input: Arc<Input>,
    schema: SchemaRef,
    decoders: Vec<NaiveStripeDecoder>,
    piece: u32,
    clock: Clock,
    batch_rows: u64,
    left: u64,
}

impl Rows {
    fn next_column(&mut self, i: usize, rows: usize) -> Result<ArrayRef> {
        let batch = guard_crate(|| match self.decoders[i].next() {
            Some(batch) => batch.map_err(from_orc),
            None => Err(damaged("its values end before the stripe does")),
        })?;
        if batch.num_rows() != rows || batch.num_columns() != 1 {
            return Err(damaged(format!("{} values for {rows} rows", batch.num_rows())));
        }
        column_array(batch.column(0), self.schema.field(i).data_type(), &self.clock)
    }
}

impl Batches for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self) -> Result<Option<StructArray>> {
        let rows = self.batch_rows.min(self.left) as usize;
        if rows == 0 {
            return Ok(None);
        }
        let mut arrays = Vec::with_capacity(self.decoders.len());
        for i in 0..self.decoders.len() {
            let array = self.next_column(i, rows).map_err(|error| {
                let error = error.in_column(self.schema.field(i).name()).in_piece(self.piece);
                self.input.cause(error)
            })?;
            arrays.push(array);
        }
        self.left -= rows as u64;
        let fields = self.schema.fields().clone();
        Ok(Some(StructArray::try_new_with_length(fields, arrays, None, rows)?))
    }
}
