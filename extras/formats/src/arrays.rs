//! Arrays without dictionaries: those of Arrow files have them wherever the writer had.

use crate::error::{damaged, misused, Result};
use arrow_array::cast::AsArray;
use arrow_array::{make_array, Array, ArrayRef, DictionaryArray, Int32Array};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields};
use arrow_select::take::take;
use std::sync::Arc;

/// The field with the types of its dictionaries' values, at any depth. How a writer held a column
/// is no matter of its type.
pub fn plain_field(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Dictionary(_, value) => {
            let value = Arc::new(Field::new("", value.as_ref().clone(), true));
            plain_field(&value).data_type().clone()
        }
        DataType::Struct(fields) => DataType::Struct(plain_fields(fields)),
        DataType::List(item) => DataType::List(plain_field(item)),
        DataType::LargeList(item) => DataType::LargeList(plain_field(item)),
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(plain_field(item), *n),
        DataType::Map(entries, sorted) => DataType::Map(plain_field(entries), *sorted),
        _ => return field.clone(),
    };
    let plain = Field::new(field.name(), data_type, field.is_nullable());
    Arc::new(plain.with_metadata(field.metadata().clone()))
}

pub fn plain_fields(fields: &Fields) -> Fields {
    fields.iter().map(plain_field).collect()
}

/// The array as one of the type that plain_field gives its field.
pub fn plain_array(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let values = plain_array(dictionary.values(), to)?;
        return Ok(take(&values, dictionary.keys(), None)?);
    }
    let children: Vec<&FieldRef> = match to {
        DataType::Struct(fields) => fields.iter().collect(),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            vec![item]
        }
        DataType::Map(entries, _) => vec![entries],
        _ => return Err(misused(format!("an array of {} for {to}", array.data_type()))),
    };
    let data = array.to_data();
    let mut plain = Vec::with_capacity(children.len());
    for (child, field) in data.child_data().iter().zip(children) {
        let child = plain_array(&make_array(child.clone()), field.data_type())?;
        plain.push(child.to_data());
    }
    let builder = data.into_builder().data_type(to.clone()).child_data(plain);
    Ok(make_array(ArrayData::from(builder.build()?)))
}

/// A dictionary of strings with indexes of 32 bits; any other array as one without dictionaries.
pub fn string_dictionary(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let Some(dictionary) = array.as_any_dictionary_opt() else {
        return plain_array(array, to);
    };
    if array.data_type() == to || !matches!(to, DataType::Dictionary(_, _)) {
        return plain_array(array, to);
    }
    if i32::try_from(dictionary.values().len()).is_err() {
        return Err(damaged("a dictionary has too many values"));
    }
    let nulls = dictionary.keys().nulls().cloned();
    let indexes = match dictionary.values().len() {
        0 => vec![0; dictionary.keys().len()],
        _ => dictionary.normalized_keys().into_iter().map(|key| key as i32).collect(),
    };
    let indexes = Int32Array::try_new(indexes.into(), nulls)?;
    Ok(Arc::new(DictionaryArray::try_new(indexes, dictionary.values().clone())?))
}
