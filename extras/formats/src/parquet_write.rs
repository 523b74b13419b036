//! Writes Parquet files. The same arrays, in the same calls, give the same bytes.

use crate::dictionary;
use crate::error::{misused, Result};
use crate::writer::{Compression, Options, Output, Write};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{BrotliLevel, Compression as Codec, GzipLevel, ZstdLevel};
use parquet::file::properties::{
    WriterProperties, WriterPropertiesBuilder, DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT,
};
use parquet::schema::types::ColumnPath;

/// Begins with the first rows, by which it chooses dictionaries.
pub struct ParquetWrite {
    output: Output,
    schema: SchemaRef,
    properties: WriterPropertiesBuilder,
    row_group_rows: usize,
    first: Vec<RecordBatch>,
    first_bytes: usize,
    writer: Option<ArrowWriter<Output>>,
}

impl ParquetWrite {
    pub fn create(output: Output, schema: SchemaRef, options: &Options) -> Result<ParquetWrite> {
        let properties = WriterProperties::builder()
            .set_created_by("glint".into())
            .set_compression(codec(options)?)
            .set_max_row_group_row_count(Some(options.row_group_rows))
            .set_max_row_group_bytes(Some(options.row_group_bytes));
        ArrowSchemaConverter::new().convert(&schema)?; // its errors come now
        Ok(ParquetWrite {
            properties: with_filters(properties, &schema, options)?,
            output,
            schema,
            row_group_rows: options.row_group_rows,
            first: vec![],
            first_bytes: 0,
            writer: None,
        })
    }

    fn first_rows(&self) -> usize {
        self.first.iter().map(RecordBatch::num_rows).sum()
    }

    /// `rows`: of a row group, at most.
    fn begin(&mut self, rows: usize) -> Result<&mut ArrowWriter<Output>> {
        let mut properties = self.properties.clone();
        for (column, field) in self.schema.fields().iter().enumerate() {
            let limit = DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;
            if dictionary::overflows(&self.first, column, rows, limit) {
                let path = ColumnPath::from(vec![field.name().clone()]);
                properties = properties.set_column_dictionary_enabled(path, false);
            }
        }
        let (output, schema) = (self.output.clone(), self.schema.clone());
        let mut writer = ArrowWriter::try_new(output, schema, Some(properties.build()))?;
        for batch in self.first.drain(..) {
            writer.write(&batch)?;
        }
        Ok(self.writer.insert(writer))
    }
}

impl Write for ParquetWrite {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            return Ok(writer.write(&batch)?);
        }
        for column in batch.columns() {
            self.first_bytes += column.to_data().get_slice_memory_size()?;
        }
        self.first.push(batch);
        let enough = self.first_bytes >= dictionary::SAMPLE_BYTES;
        if enough || self.first_rows() >= dictionary::SAMPLE_ROWS {
            self.begin(self.row_group_rows)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.finish()?,
            None => self.begin(self.first_rows())?.finish()?,
        };
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
