//! A message of an Arrow file or stream: where it is, and the bytes of it that are needed. All
//! sizes are checked before memory is allocated.

use crate::error::{damaged, unsupported, Result};
use crate::input::Input;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::{root_as_message, CompressionType, Message, MetadataVersion, RecordBatch};
use arrow_schema::{DataType, Field, Schema, UnionMode};
use bytes::Bytes;
use std::sync::Arc;

/// Bytes of the start of a message that are read at once: more than most metadata has.
const AHEAD_BYTES: u64 = 4 << 10;

/// Bytes between two buffers that are read with them rather than by two calls.
const GAP_BYTES: u64 = 64 << 10;

/// Buffers begin at multiples of this in memory.
const ALIGNMENT: u64 = 64;

#[derive(Clone)]
pub struct RawMessage {
    metadata: Bytes, // the flatbuffer
    body: u64,       // its offset in the file
    pub body_size: u64,
    /// Of the message after it.
    pub next: u64,
}

impl RawMessage {
    /// Reads the message at `offset`, but not its body; none at the end of a stream.
    pub fn read(input: &Input, offset: u64) -> Result<Option<RawMessage>> {
        let left = input.size().saturating_sub(offset);
        if left == 0 {
            return Ok(None);
        }
        let start = input.read(offset, left.min(AHEAD_BYTES) as usize)?;
        let word = |at: usize| -> Result<u32> {
            let word = start.get(at..at + 4).ok_or_else(|| damaged("it ends within a message"))?;
            Ok(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        };
        // Before format version 0.15 there was no 0xffffffff before the size.
        let (prefix, size) = match word(0)? {
            u32::MAX => (8, word(4)?),
            size => (4, size),
        };
        if size == 0 {
            return Ok(None);
        }
        let (size, left) = (u64::from(size), left - prefix);
        if size > left {
            return Err(damaged(format!(
                "a message of {size} bytes, of which the file has {left}"
            )));
        }
        let metadata = match start.get(prefix as usize..(prefix + size) as usize) {
            Some(_) => start.slice(prefix as usize..(prefix + size) as usize),
            None => input.read(offset + prefix, size as usize)?,
        };
        let body_size = parse(&metadata)?.bodyLength();
        let body_size = u64::try_from(body_size).ok().filter(|body| *body <= left - size);
        let body_size = body_size.ok_or_else(|| damaged("a message is larger than the file"))?;
        let body = offset + prefix + size;
        Ok(Some(RawMessage { metadata, body, body_size, next: body + body_size }))
    }

    pub fn message(&self) -> Result<Message<'_>> {
        parse(&self.metadata)
    }

    /// The message and a body with the buffers of some columns of the schema, of which the
    /// message then tells the new places; all others are empty.
    pub fn load(
        &self,
        input: &Input,
        schema: &Schema,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<(Bytes, Buffer)> {
        let message = self.message()?;
        let batch = match message.header_as_dictionary_batch() {
            Some(dictionary) => dictionary.data(),
            None => message.header_as_record_batch(),
        };
        let batch = batch.ok_or_else(|| damaged("a message is no record batch"))?;
        if batch.length() < 0 {
            return Err(damaged("a record batch has a negative number of rows"));
        }
        let buffers = self.wanted_buffers(&batch, schema, message.version(), wanted)?;
        let (mut places, runs, size) = place(&buffers);
        let mut body = MutableBuffer::try_from_len_zeroed(size as usize)
            .map_err(|_| damaged(format!("no memory for a record batch of {size} bytes")))?;
        for run in &runs {
            let part = &mut body[run.to as usize..(run.to + run.size) as usize];
            input.fill(self.body + run.from, part)?;
        }
        if let Some(compression) = batch.compression() {
            check_compressed(&body, &places, compression.codec())?;
        }
        let metadata = self.with_places(&batch, &mut places)?;
        Ok((metadata, body.into()))
    }

    /// Offset and size in the body of each buffer; none if it is not wanted.
    fn wanted_buffers(
        &self,
        batch: &RecordBatch,
        schema: &Schema,
        version: MetadataVersion,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Vec<Option<(u64, u64)>>> {
        let all = batch.buffers().ok_or_else(|| damaged("a record batch has no buffers"))?;
        let views: Vec<i64> = batch.variadicBufferCounts().into_iter().flatten().collect();
        let (mut views, mut at) = (views.into_iter(), 0);
        let mut buffers = Vec::with_capacity(all.len());
        for (column, field) in schema.fields().iter().enumerate() {
            let end = at + buffer_count(field, version, &mut views, all.len())?;
            if end > all.len() {
                return Err(damaged("a record batch has fewer buffers than its schema"));
            }
            for i in at..end {
                let (offset, size) = (all.get(i).offset(), all.get(i).length());
                let within = offset >= 0
                    && size >= 0
                    && offset.checked_add(size).is_some_and(|end| end as u64 <= self.body_size);
                if !within {
                    let text = format!("a buffer of {size} bytes at {offset} of a record batch");
                    return Err(damaged(text).in_column(field.name()));
                }
                buffers.push(wanted(column).then_some((offset as u64, size as u64)));
            }
            at = end;
        }
        buffers.resize(all.len(), None);
        Ok(buffers)
    }

    /// The metadata with other offsets and sizes of buffers.
    fn with_places(&self, batch: &RecordBatch, places: &mut [(u64, u64)]) -> Result<Bytes> {
        let all = batch.buffers().ok_or_else(|| damaged("a record batch has no buffers"))?;
        let start = all.bytes().as_ptr() as usize - self.metadata.as_ptr() as usize;
        let mut metadata = self.metadata.to_vec();
        for (i, (offset, size)) in places.iter().enumerate() {
            let at = start + 16 * i;
            metadata[at..at + 8].copy_from_slice(&offset.to_le_bytes());
            metadata[at + 8..at + 16].copy_from_slice(&size.to_le_bytes());
        }
        Ok(metadata.into())
    }
}

pub fn parse(metadata: &[u8]) -> Result<Message<'_>> {
    root_as_message(metadata).map_err(|error| damaged(format!("a message: {error}")))
}

/// Bytes of a body that are read at once.
struct Run {
    from: u64, // in the body of the file
    to: u64,   // in the new body
    size: u64,
}

/// New offset and size of each buffer, the runs to read, and the size of the new body. Buffers
/// that are near each other stay so: they are read by one call.
fn place(buffers: &[Option<(u64, u64)>]) -> (Vec<(u64, u64)>, Vec<Run>, u64) {
    let mut places = vec![(0, 0); buffers.len()];
    let mut runs: Vec<Run> = Vec::new();
    let mut order: Vec<_> =
        buffers.iter().enumerate().filter_map(|(i, b)| Some((i, (*b)?))).collect();
    order.retain(|(_, (_, size))| *size > 0);
    order.sort_by_key(|(_, (offset, _))| *offset);
    let mut total = 0;
    for (i, (offset, size)) in order {
        let near = |run: &&mut Run| offset <= run.from + run.size + GAP_BYTES;
        let run = match runs.last_mut().filter(near) {
            Some(run) => run,
            None => {
                // As in the file: the parts of an aligned body stay aligned.
                let to = u64::next_multiple_of(total, ALIGNMENT) + offset % ALIGNMENT;
                runs.push(Run { from: offset, to, size: 0 });
                let last = runs.len() - 1;
                &mut runs[last]
            }
        };
        run.size = run.size.max(offset + size - run.from);
        places[i] = (run.to + offset - run.from, size);
        total = run.to + run.size;
    }
    (places, runs, total)
}

/// How many buffers a column has, as arrow_ipc's reader counts them. A view's own number of
/// buffers comes from the message.
fn buffer_count(
    field: &Field,
    version: MetadataVersion,
    views: &mut impl Iterator<Item = i64>,
    most: usize,
) -> Result<usize> {
    let mut all = |fields: &[&Arc<Field>]| -> Result<usize> {
        fields.iter().try_fold(0, |sum, field| Ok(sum + buffer_count(field, version, views, most)?))
    };
    Ok(match field.data_type() {
        DataType::Null => 0,
        DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => 3,
        DataType::Utf8View | DataType::BinaryView => {
            let count = views.next().ok_or_else(|| damaged("a view has no count of buffers"))?;
            match usize::try_from(count) {
                Ok(count) if count <= most => 2 + count,
                _ => return Err(damaged(format!("{count} buffers of a view"))),
            }
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            2 + all(&[item])?
        }
        DataType::ListView(item) | DataType::LargeListView(item) => 3 + all(&[item])?,
        DataType::FixedSizeList(item, _) => 1 + all(&[item])?,
        DataType::Struct(fields) => 1 + all(&fields.iter().collect::<Vec<_>>())?,
        DataType::RunEndEncoded(ends, values) => all(&[ends, values])?,
        DataType::Union(fields, mode) => {
            let nulls = usize::from(version < MetadataVersion::V5);
            let offsets = usize::from(*mode == UnionMode::Dense);
            1 + nulls + offsets + all(&fields.iter().map(|(_, field)| field).collect::<Vec<_>>())?
        }
        _ => 2,
    })
}

/// Compressed buffers begin with their size, for which the reader allocates memory: a size that
/// cannot be is an error here, where it would end the process there.
fn check_compressed(body: &[u8], places: &[(u64, u64)], codec: CompressionType) -> Result<()> {
    if codec != CompressionType::LZ4_FRAME && codec != CompressionType::ZSTD {
        return Err(unsupported(format!("compression {codec:?} is not supported")));
    }
    for (offset, size) in places.iter().filter(|(_, size)| *size >= 8) {
        let mut plain = [0; 8];
        plain.copy_from_slice(&body[*offset as usize..*offset as usize + 8]);
        let plain = i64::from_le_bytes(plain);
        let possible = match usize::try_from(plain) {
            Ok(plain) => Vec::<u8>::new().try_reserve_exact(plain).is_ok(),
            Err(_) => plain == -1,
        };
        if !possible {
            return Err(damaged(format!("{size} bytes decompress to {plain}")));
        }
    }
    Ok(())
}
