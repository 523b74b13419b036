//! Writes Parquet files. The same arrays, in the same calls, give the same bytes.

use crate::error::{misused, Result};
use crate::writer::{Compression, Options, Output, Write};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{BrotliLevel, Compression as Codec, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

pub struct ParquetWrite {
    writer: ArrowWriter<Output>,
}

impl ParquetWrite {
    pub fn create(output: Output, schema: SchemaRef, options: &Options) -> Result<ParquetWrite> {
        let properties = WriterProperties::builder()
            .set_created_by("glint".into())
            .set_compression(codec(options)?)
            .set_max_row_group_row_count(Some(options.row_group_rows))
            .set_max_row_group_bytes(Some(options.row_group_bytes));
        let properties = with_filters(properties, &schema, options)?;
        let writer = ArrowWriter::try_new(output, schema, Some(properties.build()))?;
        Ok(ParquetWrite { writer })
    }
}

impl Write for ParquetWrite {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        Ok(self.writer.write(&batch)?)
    }

    fn finish(&mut self) -> Result<()> {
        self.writer.finish()?;
        Ok(())
    }
}

/// Bloom filters of all leaves of the columns. They are made for as many values as a row group
/// has rows, and fold when it has fewer.
fn with_filters(
    mut properties: WriterPropertiesBuilder,
    schema: &SchemaRef,
    options: &Options,
) -> Result<WriterPropertiesBuilder> {
    if options.bloom_columns.is_empty() {
        return Ok(properties);
    }
    let descriptor = ArrowSchemaConverter::new().convert(schema)?;
    for (leaf, column) in descriptor.columns().iter().enumerate() {
        if options.bloom_columns.contains(&descriptor.get_column_root_idx(leaf)) {
            let path = column.path().clone();
            properties = properties
                .set_column_bloom_filter_enabled(path.clone(), true)
                .set_column_bloom_filter_fpp(path.clone(), options.bloom_fpp)
                .set_column_bloom_filter_max_ndv(path, options.row_group_rows as u64);
        }
    }
    Ok(properties)
}

fn codec(options: &Options) -> Result<Codec> {
    let level = |least: i32| -> Result<Option<u32>> {
        match options.level {
            None => Ok(None),
            Some(level) if level < least => {
                Err(misused(format!("compression level {level} is below {least}")))
            }
            Some(level) => Ok(Some(level as u32)),
        }
    };
    Ok(match options.compression {
        Compression::None => Codec::UNCOMPRESSED,
        Compression::Snappy => Codec::SNAPPY,
        Compression::Lz4 => Codec::LZ4_RAW,
        Compression::Zstd => Codec::ZSTD(match options.level {
            Some(level) => ZstdLevel::try_new(level)?,
            None => ZstdLevel::default(),
        }),
        Compression::Gzip => Codec::GZIP(match level(0)? {
            Some(level) => GzipLevel::try_new(level)?,
            None => GzipLevel::default(),
        }),
        Compression::Brotli => Codec::BROTLI(match level(0)? {
            Some(level) => BrotliLevel::try_new(level)?,
            None => BrotliLevel::default(),
        }),
    })
}
