//! What an ORC file says about the values of each stripe, without what cannot be relied on: bounds of
//! integers, texts and dates. Bounds of floats may leave out NaN; those of times are milliseconds, in
//! files before ORC-135 of the writer's zone; those of char columns are padded or not.

use crate::error::Result;
use crate::orc_clock::gregorian_day;
use crate::orc_file::OrcFile;
use crate::orc_tail::WRITER_JAVA;
use crate::parquet_statistics::{join, unknown};
use arrow_array::types::{Date32Type, Int16Type, Int32Type, Int64Type, Int8Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringArray, StructArray, UInt64Array,
};
use arrow_schema::DataType;
use orc_rust::proto::r#type::Kind;
use orc_rust::proto::ColumnStatistics;
use std::sync::Arc;

/// Java's writers before this version compared texts as UTF-16, and cut some off (HIVE-8732).
const WRITER_VERSION_TEXTS: u32 = 1;

type Bounds<T> = Vec<(Option<T>, Option<T>)>;

/// Both bounds in order, or none.
fn ordered<T: PartialOrd>(min: Option<T>, max: Option<T>) -> (Option<T>, Option<T>) {
    match (min, max) {
        (Some(min), Some(max)) if min <= max => (Some(min), Some(max)),
        _ => (None, None),
    }
}

fn numbers<T: ArrowPrimitiveType>(bounds: Bounds<i64>) -> (ArrayRef, ArrayRef)
where
    T::Native: TryFrom<i64> + PartialOrd,
{
    let native = |bound: Option<i64>| bound.and_then(|bound| T::Native::try_from(bound).ok());
    let fitting = bounds.into_iter().map(|(min, max)| ordered(native(min), native(max)));
    let (min, max): (Vec<_>, Vec<_>) = fitting.unzip();
    let array = |bounds: Vec<Option<T::Native>>| -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::from_iter(bounds))
    };
    (array(min), array(max))
}

fn integer(statistics: &ColumnStatistics) -> (Option<i64>, Option<i64>) {
    let of_type = statistics.int_statistics.as_ref();
    ordered(of_type.and_then(|s| s.minimum), of_type.and_then(|s| s.maximum))
}

fn date(statistics: &ColumnStatistics, proleptic: bool) -> (Option<i64>, Option<i64>) {
    let of_type = statistics.date_statistics.as_ref();
    let day = |day: i32| if proleptic { day.into() } else { gregorian_day(day.into()) };
    ordered(of_type.and_then(|s| s.minimum).map(day), of_type.and_then(|s| s.maximum).map(day))
}

fn text(statistics: &ColumnStatistics) -> (Option<String>, Option<String>) {
    let Some(of_type) = statistics.string_statistics.clone() else {
        return (None, None);
    };
    ordered(of_type.minimum.or(of_type.lower_bound), of_type.maximum.or(of_type.upper_bound))
}

/// Null where the file does not say it, or says what cannot be.
fn null_count(statistics: Option<&ColumnStatistics>, rows: u64) -> Option<u64> {
    let statistics = statistics?;
    let nulls = rows.checked_sub(statistics.number_of_values?)?;
    statistics.has_null.is_none_or(|has_null| has_null == (nulls > 0)).then_some(nulls)
}

pub fn statistics(file: &OrcFile, column: usize) -> Result<StructArray> {
    let (tail, id) = (file.tail(), file.type_id(column));
    let data_type = file.schema.field(column).data_type();
    let stripes = &tail.footer.stripes;
    let Some(metadata) = &tail.statistics else {
        return unknown(data_type, stripes.len());
    };
    let of_stripes: Vec<_> = metadata.stripe_stats.iter().map(|s| s.col_stats.get(id)).collect();
    let counts = of_stripes.iter().zip(stripes);
    let nulls: UInt64Array =
        counts.map(|(of_stripe, stripe)| null_count(*of_stripe, stripe.number_of_rows())).collect();
    let each = |bounds: &dyn Fn(&ColumnStatistics) -> (Option<i64>, Option<i64>)| {
        of_stripes.iter().map(|s| s.map_or((None, None), bounds)).collect::<Bounds<i64>>()
    };
    let java = tail.footer.writer.unwrap_or(WRITER_JAVA) == WRITER_JAVA;
    let texts = !java || tail.postscript.writer_version() >= WRITER_VERSION_TEXTS;
    let (min, max) = match data_type {
        DataType::Int8 => numbers::<Int8Type>(each(&integer)),
        DataType::Int16 => numbers::<Int16Type>(each(&integer)),
        DataType::Int32 => numbers::<Int32Type>(each(&integer)),
        DataType::Int64 => numbers::<Int64Type>(each(&integer)),
        DataType::Date32 => numbers::<Date32Type>(each(&|s| date(s, tail.is_proleptic()))),
        DataType::Utf8 if texts && tail.footer.types[id].kind() != Kind::Char => {
            let bounds = of_stripes.iter().map(|s| s.map_or((None, None), text));
            let (min, max): (Vec<_>, Vec<_>) = bounds.unzip();
            let array = |bounds| -> ArrayRef { Arc::new(StringArray::from_iter::<Vec<_>>(bounds)) };
            (array(min), array(max))
        }
        _ => {
            let none = arrow_array::new_null_array(data_type, stripes.len());
            (none.clone(), none)
        }
    };
    join(min, max, Arc::new(nulls))
}
