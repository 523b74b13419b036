//! Finds encrypted columns in a footer that is not encrypted itself: the parquet crate, built
//! without encryption, leaves their keys out and would call their pages damaged.

use std::collections::BTreeSet;

use crate::thrift::{Compact, LIST};

/// FileMetaData.row_groups, RowGroup.columns, ColumnChunk.crypto_metadata.
const ROW_GROUPS: i16 = 4;
const COLUMNS: i16 = 1;
const CRYPTO_METADATA: i16 = 8;

/// The leaves that are encrypted in a row group. Damage ends the search: the crate reports it.
pub fn encrypted_leaves(footer: &[u8]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut input = Compact::new(footer);
    let _ = input.fields(0, &mut |input, id, kind| {
        if id != ROW_GROUPS || kind != LIST {
            return input.skip(kind, 1);
        }
        input.structs(&mut |input, _| {
            input.fields(1, &mut |input, id, kind| {
                if id != COLUMNS || kind != LIST {
                    return input.skip(kind, 2);
                }
                input.structs(&mut |input, leaf| {
                    input.fields(2, &mut |input, id, kind| {
                        if id == CRYPTO_METADATA {
                            found.insert(leaf);
                        }
                        input.skip(kind, 3)
                    })
                })
            })
        })
    });
    found
}
