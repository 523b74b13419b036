//! The modules of the crate arrow that orc-rust uses, from the crates of version 60.1 that the
//! library has: there is one Arrow in it.

pub mod array {
    pub use arrow_array::array::*;
    pub use arrow_array::builder::*;
    pub use arrow_array::cast::*;
    pub use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
    pub use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder};
}

pub mod buffer {
    pub use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
}

pub mod datatypes {
    pub use arrow_array::types::*;
    pub use arrow_array::{ArrowNativeTypeOp, ArrowPrimitiveType};
    pub use arrow_buffer::{ArrowNativeType, ToByteSlice};
    pub use arrow_schema::*;
}

pub mod error {
    pub use arrow_schema::ArrowError;
}

pub mod record_batch {
    pub use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
}

pub mod compute {
    pub mod kernels {
        use arrow_array::cast::AsArray;
        use arrow_array::{Array, ArrayRef};
        use arrow_schema::{ArrowError, DataType};

        /// The values of a dictionary: orc-rust casts nothing else.
        pub fn cast(array: &dyn Array, to: &DataType) -> Result<ArrayRef, ArrowError> {
            match array.as_any_dictionary_opt() {
                Some(dictionary) if dictionary.values().data_type() == to => {
                    arrow_select::take::take(dictionary.values(), dictionary.keys(), None)
                }
                _ => {
                    let from = array.data_type();
                    Err(ArrowError::CastError(format!("from {from} to {to}")))
                }
            }
        }
    }
}
