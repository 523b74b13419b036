//! Types of an ORC file as Arrow's, and arrays of the crate orc-rust as arrays of these types.

use crate::error::{damaged, unsupported, Result};
use crate::orc_clock::Clock;
use crate::orc_tail::Tail;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type};
use arrow_array::{
    make_array, Array, ArrayRef, PrimitiveArray, TimestampMicrosecondArray,
    TimestampNanosecondArray,
};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit, UnionFields, UnionMode};
use orc_rust::proto::r#type::Kind;
use std::sync::Arc;

/// Nanoseconds since 1970 in 128 bits: what the crate makes of timestamps without loss.
const NANOSECONDS: DataType = DataType::Decimal128(38, 9);
/// Milliseconds since 1970 that 64 bits of nanoseconds have, but for days at both ends.
const MILLISECONDS_MAX: i64 = 9_223_000_000_000;

/// Nanoseconds, unless the file's statistics say that its times are too far from 1970 for them.
fn time_unit(tail: &Tail, id: usize) -> TimeUnit {
    let statistics = tail.footer.statistics.get(id).and_then(|s| s.timestamp_statistics.as_ref());
    let Some(s) = statistics else {
        return TimeUnit::Nanosecond;
    };
    let bounds = [s.minimum, s.maximum, s.minimum_utc, s.maximum_utc];
    let far = bounds.iter().flatten().any(|ms| ms.unsigned_abs() > MILLISECONDS_MAX as u64);
    if far {
        TimeUnit::Microsecond
    } else {
        TimeUnit::Nanosecond
    }
}

fn child_fields(tail: &Tail, id: usize) -> Result<Vec<FieldRef>> {
    let kind = &tail.footer.types[id];
    if kind.field_names.len() != kind.subtypes.len() {
        return Err(damaged(format!("the footer: type {id} has other numbers of names and parts")));
    }
    let parts = kind.field_names.iter().zip(&kind.subtypes);
    let field = |(name, part): (&String, &u32)| {
        let data_type = data_type(tail, *part as usize)?;
        Ok(Arc::new(Field::new(name, data_type, true)))
    };
    parts.map(field).collect()
}

fn union_type(tail: &Tail, parts: &[u32]) -> Result<DataType> {
    let mut fields = Vec::new();
    for (i, part) in parts.iter().enumerate().take(127) {
        let field = Field::new(i.to_string(), data_type(tail, *part as usize)?, true);
        fields.push((i as i8, Arc::new(field)));
    }
    Ok(DataType::Union(fields.into_iter().collect::<UnionFields>(), UnionMode::Sparse))
}

fn data_type(tail: &Tail, id: usize) -> Result<DataType> {
    let kind = &tail.footer.types[id];
    let part = |i: usize| match kind.subtypes.get(i) {
        Some(part) => data_type(tail, *part as usize),
        None => Err(damaged(format!("the footer: type {id} has too few parts"))),
    };
    Ok(match kind.kind() {
        Kind::Boolean => DataType::Boolean,
        Kind::Byte => DataType::Int8,
        Kind::Short => DataType::Int16,
        Kind::Int => DataType::Int32,
        Kind::Long => DataType::Int64,
        Kind::Float => DataType::Float32,
        Kind::Double => DataType::Float64,
        Kind::String | Kind::Varchar | Kind::Char => DataType::Utf8,
        Kind::Binary => DataType::Binary,
        Kind::Date => DataType::Date32,
        Kind::Timestamp => DataType::Timestamp(time_unit(tail, id), None),
        Kind::TimestampInstant => DataType::Timestamp(time_unit(tail, id), Some("UTC".into())),
        Kind::Decimal => match (kind.precision(), kind.scale()) {
            (precision @ 1..=38, scale) if scale <= precision => {
                DataType::Decimal128(precision as u8, scale as i8)
            }
            (precision, scale) => {
                return Err(unsupported(format!("decimal({precision},{scale}) is not supported")))
            }
        },
        Kind::Struct => DataType::Struct(child_fields(tail, id)?.into()),
        Kind::List => DataType::new_list(part(0)?, true),
        Kind::Map => {
            let fields =
                vec![Field::new("key", part(0)?, false), Field::new("value", part(1)?, true)];
            let entries = Field::new("entries", DataType::Struct(fields.into()), false);
            DataType::Map(Arc::new(entries), false)
        }
        Kind::Union => union_type(tail, &kind.subtypes)?,
    })
}

pub fn columns(tail: &Tail) -> Result<Fields> {
    Ok(child_fields(tail, 0)?.into())
}

/// The field that the crate is asked for.
pub fn crate_field(field: &FieldRef) -> FieldRef {
    let fields = |fields: &Fields| fields.iter().map(crate_field).collect::<Fields>();
    let data_type = match field.data_type() {
        DataType::Timestamp(_, _) => NANOSECONDS,
        DataType::Struct(parts) => DataType::Struct(fields(parts)),
        DataType::List(item) => DataType::List(crate_field(item)),
        DataType::Map(entries, sorted) => DataType::Map(crate_field(entries), *sorted),
        _ => return field.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
}

/// Timestamps of the type `to`, from nanoseconds.
fn timestamps(
    array: &PrimitiveArray<Decimal128Type>,
    to: &DataType,
    clock: &Clock,
) -> Result<ArrayRef> {
    let DataType::Timestamp(unit, zone) = to else {
        return Err(damaged(format!("times are not of the type {to}")));
    };
    let scale = if *unit == TimeUnit::Microsecond { 1000 } else { 1 };
    let number = |time: i128| {
        let time = clock.time(time, zone.is_none());
        match i64::try_from(time.div_euclid(scale)) {
            Ok(number) if time.rem_euclid(scale) == 0 => Ok(number),
            _ => Err(unsupported(format!("{time} nanoseconds since 1970 do not fit {to}"))),
        }
    };
    let values =
        array.iter().map(|time| time.map_or(Ok(0), number)).collect::<Result<Vec<i64>>>()?;
    let (nulls, zone) = (array.nulls().cloned(), zone.clone());
    Ok(match unit {
        TimeUnit::Microsecond => Arc::new(
            TimestampMicrosecondArray::try_new(values.into(), nulls)?.with_timezone_opt(zone),
        ),
        _ => Arc::new(
            TimestampNanosecondArray::try_new(values.into(), nulls)?.with_timezone_opt(zone),
        ),
    })
}

fn dates(array: &PrimitiveArray<Date32Type>, clock: &Clock) -> ArrayRef {
    Arc::new(array.unary::<_, Date32Type>(|day| clock.day(day.into()) as i32))
}

/// The crate's array as one of the type `to`.
pub fn column_array(array: &ArrayRef, to: &DataType, clock: &Clock) -> Result<ArrayRef> {
    match to {
        DataType::Timestamp(_, _) => match array.as_primitive_opt::<Decimal128Type>() {
            Some(times) => return timestamps(times, to, clock),
            None => return Err(damaged(format!("times of the type {}", array.data_type()))),
        },
        DataType::Date32 => match array.as_primitive_opt::<Date32Type>() {
            Some(days) => return Ok(dates(days, clock)),
            None => return Err(damaged(format!("dates of the type {}", array.data_type()))),
        },
        DataType::Decimal128(precision, _) => {
            if let Some(decimals) = array.as_primitive_opt::<Decimal128Type>() {
                decimals.validate_decimal_precision(*precision)?;
            }
        }
        _ => (),
    }
    let children: Vec<&FieldRef> = match to {
        DataType::Struct(fields) => fields.iter().collect(),
        DataType::List(item) => vec![item],
        DataType::Map(entries, _) => vec![entries],
        _ if array.data_type() == to => return Ok(array.clone()),
        _ => return Err(damaged(format!("values of the type {}", array.data_type()))),
    };
    let data = array.to_data();
    if data.child_data().len() != children.len() {
        return Err(damaged(format!("values of the type {}", array.data_type())));
    }
    let mut parts = Vec::with_capacity(children.len());
    for (part, field) in data.child_data().iter().zip(children) {
        let part = column_array(&make_array(part.clone()), field.data_type(), clock)?;
        parts.push(part.to_data());
    }
    let builder = data.into_builder().data_type(to.clone()).child_data(parts);
    Ok(make_array(ArrayData::from(builder.build()?)))
}
