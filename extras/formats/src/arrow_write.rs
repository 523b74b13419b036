//! Writes Arrow files and streams. They have no dictionaries: a file cannot replace one, and the
//! arrays of a job can come with different ones.

use crate::arrays::{plain_array, plain_fields};
use crate::error::{unsupported, Result};
use crate::writer::{Compression, Format, Options, Output, Write};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::CompressionType;
use arrow_schema::{Schema, SchemaRef};
use std::io::BufWriter;
use std::sync::Arc;

/// Bytes that are collected for one call of the callback: buffers are written one by one.
const BUFFER_BYTES: usize = 256 << 10;

enum Writer {
    File(FileWriter<BufWriter<Output>>),
    Stream(StreamWriter<BufWriter<Output>>),
}

pub struct ArrowWrite {
    writer: Writer,
    schema: SchemaRef,
    batch_rows: usize,
}

impl ArrowWrite {
    pub fn create(
        output: Output,
        schema: SchemaRef,
        options: &Options,
        format: Format,
    ) -> Result<ArrowWrite> {
        let schema = Arc::new(Schema::new(plain_fields(schema.fields())));
        let output = BufWriter::with_capacity(BUFFER_BYTES, output);
        let compression = match options.compression {
            Compression::None => None,
            Compression::Zstd => Some(CompressionType::ZSTD),
            Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
            other => return Err(unsupported(format!("Arrow files cannot use {other:?}"))),
        };
        let mut ipc = IpcWriteOptions::default().try_with_compression(compression)?;
        if compression == Some(CompressionType::ZSTD) && options.level.is_some() {
            ipc = ipc.try_with_compression_level(options.level)?;
        }
        let writer = match format {
            Format::ArrowStream => {
                Writer::Stream(StreamWriter::try_new_with_options(output, &schema, ipc)?)
            }
            _ => Writer::File(FileWriter::try_new_with_options(output, &schema, ipc)?),
        };
        Ok(ArrowWrite { writer, schema, batch_rows: options.row_group_rows })
    }
}

impl Write for ArrowWrite {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (column, field) in batch.columns().iter().zip(self.schema.fields()) {
            columns.push(plain_array(column, field.data_type())?);
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &rows)?;
        for start in (0..batch.num_rows()).step_by(self.batch_rows) {
            let part = batch.slice(start, self.batch_rows.min(batch.num_rows() - start));
            match &mut self.writer {
                Writer::File(writer) => writer.write(&part)?,
                Writer::Stream(writer) => writer.write(&part)?,
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        match &mut self.writer {
            Writer::File(writer) => {
                writer.finish()?;
                writer.flush()?;
            }
            Writer::Stream(writer) => {
                writer.finish()?;
                writer.flush()?;
            }
        }
        Ok(())
    }
}
