//! What a footer says about the values of each row group, without what cannot be relied on.

use crate::error::{damaged, Result};
use crate::parquet_file::ParquetFile;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{new_null_array, Array, ArrayRef, BooleanArray, StructArray};
use arrow_cmp::make_comparator;
use arrow_schema::{DataType, Field, Fields, SortOptions};
use arrow_select::nullif::nullif;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::{ColumnOrder, SortOrder, Type};
use parquet::file::metadata::RowGroupMetaData;
use std::cmp::Ordering;

/// A struct of min, max and null_count with a row for each row group: null where it is unknown.
/// Bounds of strings can be truncated: no value is outside of them, but they need not be values.
/// Bounds of floats say nothing about NaN, and 0 can stand for -0.
pub fn statistics(file: &ParquetFile, column: usize) -> Result<StructArray> {
    let leaves = file.leaves(column);
    let groups = file.metadata.row_groups();
    let field = file.schema.field(column);
    let descriptor = file.metadata.file_metadata().schema_descr();
    let nested = field.data_type().is_nested()
        || leaves.len() != 1
        || descriptor.column(leaves.start).max_rep_level() > 0;
    if nested {
        return unknown(field.data_type(), groups.len());
    }
    let leaf = leaves.start;
    let converter = StatisticsConverter::from_column_index(leaf, field, descriptor)?
        .with_missing_null_counts_as_zero(false);
    let (min, max) = (converter.row_group_mins(groups)?, converter.row_group_maxes(groups)?);
    let nulls = converter.row_group_null_counts(groups)?;
    let distrusted = distrusted_bounds(file, leaf, &min, &max)?;
    let wrong_nulls = groups.iter().zip(nulls.iter()).map(|(group, count)| {
        Some(count.is_none_or(|count| count > group.num_rows().max(0) as u64))
    });
    join(
        nullif(&min, &distrusted)?,
        nullif(&max, &distrusted)?,
        nullif(&nulls, &BooleanArray::from_iter(wrong_nulls))?,
    )
}

/// Of `pieces` pieces about which the file says nothing.
pub fn unknown(data_type: &DataType, pieces: usize) -> Result<StructArray> {
    let bounds = new_null_array(data_type, pieces);
    join(bounds.clone(), bounds, new_null_array(&DataType::UInt64, pieces))
}

pub fn join(min: ArrayRef, max: ArrayRef, nulls: ArrayRef) -> Result<StructArray> {
    let fields = Fields::from(vec![
        Field::new("min", min.data_type().clone(), true),
        Field::new("max", max.data_type().clone(), true),
        Field::new("null_count", DataType::UInt64, true),
    ]);
    let rows = nulls.len();
    Ok(StructArray::try_new_with_length(fields, vec![min, max, nulls], None, rows)?)
}

/// True for each row group of which neither min nor max is used.
fn distrusted_bounds(
    file: &ParquetFile,
    leaf: usize,
    min: &ArrayRef,
    max: &ArrayRef,
) -> Result<BooleanArray> {
    if min.len() != max.len() {
        return Err(damaged("it has other numbers of min and of max values"));
    }
    let order = file.metadata.file_metadata().column_order(leaf);
    let compare = make_comparator(min, max, SortOptions::default());
    let groups = file.metadata.row_groups();
    let distrusted = groups.iter().enumerate().map(|(i, group)| {
        let known = !min.is_null(i) && !max.is_null(i);
        let ordered = match &compare {
            Ok(compare) => known && compare(i, i) != Ordering::Greater,
            Err(_) => false,
        };
        Some(!ordered || !has_bounds(group, leaf, order) || is_nan(min, i) || is_nan(max, i))
    });
    Ok(BooleanArray::from_iter(distrusted))
}

/// Whether the row group's bounds were compared as the column's type asks.
fn has_bounds(group: &RowGroupMetaData, leaf: usize, order: ColumnOrder) -> bool {
    let chunk = group.column(leaf);
    let Some(statistics) = chunk.statistics() else {
        return false;
    };
    let integer = matches!(chunk.column_type(), Type::INT32 | Type::INT64);
    // Without an order, and in the fields that came before it, values were compared as signed
    // integers or bytes, whatever their type.
    if statistics.is_min_max_deprecated() || order == ColumnOrder::UNDEFINED {
        let signed = chunk.column_descr().sort_order() == SortOrder::SIGNED;
        return integer && signed;
    }
    !matches!(order, ColumnOrder::UNKNOWN) && order.sort_order() != SortOrder::UNDEFINED
}

fn is_nan(array: &ArrayRef, i: usize) -> bool {
    if array.is_null(i) {
        return false;
    }
    match array.data_type() {
        DataType::Float16 => array.as_primitive::<Float16Type>().value(i).is_nan(),
        DataType::Float32 => array.as_primitive::<Float32Type>().value(i).is_nan(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(i).is_nan(),
        _ => false,
    }
}
