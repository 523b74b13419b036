//! The end of an ORC file: the postscript, whose size is the last byte, before it the footer with the
//! types and stripes, and before that the statistics of each stripe.

use crate::error::{damaged, unsupported, Error, Result};
use crate::input::Input;
use crate::orc_blocks::Codec;
use bytes::Bytes;
use orc_rust::proto::r#type::Kind;
use orc_rust::proto::{CalendarKind, Footer, Metadata, PostScript};
use orc_rust::reader::metadata::{read_metadata, FileMetadata};
use prost::Message;
use std::ops::Range;

/// Of the file's end: enough for most tails.
const TAIL_BYTES: u64 = 64 << 10;
/// Of a footer, decompressed.
const FOOTER_BYTES_MAX: usize = 256 << 20;
/// Types within types.
const DEPTH_MAX: usize = 64;
/// Footer.writer.
pub const WRITER_JAVA: u32 = 0;
const MAGIC: &str = "ORC";

pub struct Tail {
    pub codec: Codec,
    pub footer: Footer,
    /// Of stripes, if the file has them.
    pub statistics: Option<Metadata>,
    pub postscript: PostScript,
}

fn read_protobuf<T: Message + Default>(codec: Codec, bytes: &[u8], part: &str) -> Result<T> {
    let name = |error: Error| Error { message: format!("the {part}: {}", error.message), ..error };
    let bytes = codec.read(bytes, FOOTER_BYTES_MAX).map_err(name)?;
    T::decode(&bytes[..]).map_err(|error| damaged(format!("the {part}: {error}")))
}

/// Each type but the first one is part of one that comes before it.
fn check_types(footer: &Footer) -> Result<()> {
    let types = &footer.types;
    if types.is_empty() {
        return Err(damaged("the footer has no types"));
    }
    let mut depths = vec![0; types.len()];
    for (i, part) in types.iter().enumerate() {
        Kind::try_from(part.kind.unwrap_or(0))
            .map_err(|kind| unsupported(format!("type {i} is of an unknown kind: {kind}")))?;
        for &child in &part.subtypes {
            let child = child as usize;
            if child <= i || child >= types.len() || depths[child] != 0 {
                return Err(damaged(format!("the footer: type {i} cannot have type {child}")));
            }
            depths[child] = depths[i] + 1;
            if depths[child] > DEPTH_MAX {
                return Err(unsupported(format!("types within more than {DEPTH_MAX} types")));
            }
        }
    }
    if types[0].kind() != Kind::Struct || types[0].subtypes.len() != types[0].field_names.len() {
        return Err(unsupported("its rows are not structs"));
    }
    Ok(())
}

fn check_stripes(footer: &Footer, end: u64) -> Result<()> {
    let mut rows: u64 = 0;
    for (i, stripe) in footer.stripes.iter().enumerate() {
        let parts = [stripe.offset(), stripe.index_length(), stripe.data_length()];
        let bytes =
            parts.iter().try_fold(stripe.footer_length(), |sum, part| sum.checked_add(*part));
        if bytes.is_none_or(|bytes| bytes > end) {
            return Err(damaged("the stripe is beyond the file's footer").in_piece(i as u32));
        }
        rows = rows.saturating_add(stripe.number_of_rows());
    }
    if footer.number_of_rows.is_some_and(|all| all != rows) {
        let all = footer.number_of_rows();
        return Err(damaged(format!("the footer says {all} rows, its stripes have {rows}")));
    }
    match u32::try_from(footer.stripes.len()) {
        Ok(_) => Ok(()),
        Err(_) => Err(unsupported("the file has too many stripes")),
    }
}

impl Tail {
    pub fn read(input: &Input) -> Result<Tail> {
        let size = input.size();
        let mut start = size - size.min(TAIL_BYTES);
        let mut tail = input.read(start, (size - start) as usize)?;
        let Some((&postscript_bytes, rest)) = tail.split_last() else {
            return Err(damaged("it is empty"));
        };
        let Some(at) = rest.len().checked_sub(postscript_bytes.into()) else {
            return Err(damaged("the postscript is longer than the file"));
        };
        let postscript = PostScript::decode(&rest[at..])
            .map_err(|error| damaged(format!("the postscript: {error}")))?;
        // Old files have it only at their start.
        if postscript.magic.is_some() && postscript.magic() != MAGIC
            || postscript.magic.is_none() && &input.read(0, MAGIC.len())?[..] != MAGIC.as_bytes()
        {
            return Err(damaged("it does not end with the postscript of an ORC file"));
        }
        let codec = Codec::new(postscript.compression, postscript.compression_block_size)?;
        // Version 2 was never finished: its writers say 1.9999.
        if postscript.version.first().is_some_and(|major| *major > 0) {
            return Err(unsupported(format!("version {:?} is not supported", postscript.version)));
        }
        let end = start + at as u64;
        let (footer, metadata) = (postscript.footer_length(), postscript.metadata_length());
        let needed = footer.checked_add(metadata).filter(|needed| *needed <= end);
        let Some(needed) = needed else {
            return Err(damaged("the footer is longer than the file"));
        };
        if end - needed < start {
            let mut longer = Vec::new();
            input.append(end - needed, (start - (end - needed)) as usize, &mut longer)?;
            longer.extend_from_slice(&tail);
            start = end - needed;
            tail = longer.into();
        }
        let part = |from: u64, to: u64| tail.slice((from - start) as usize..(to - start) as usize);
        let mut footer: Footer = read_protobuf(codec, &part(end - footer, end), "footer")?;
        if footer.encryption.is_some() {
            return Err(unsupported("columns of the file are encrypted"));
        }
        // Decimals of Hive 0.11 have no precision; this is what Java's readers take.
        for decimal in &mut footer.types {
            if decimal.kind() == Kind::Decimal && decimal.precision() == 0 {
                (decimal.precision, decimal.scale) = (Some(38), Some(10));
            }
        }
        check_types(&footer)?;
        check_stripes(&footer, end - needed)?;
        // A text in them that is not UTF-8 hides them, not the rows.
        let metadata = part(end - needed, end - postscript.footer_length());
        let statistics: Option<Metadata> = read_protobuf(codec, &metadata, "statistics").ok();
        let statistics = statistics.filter(|s| s.stripe_stats.len() == footer.stripes.len());
        Ok(Tail { codec, footer, statistics, postscript })
    }

    /// Days and times before 1582-10-15 are of the Gregorian calendar. Those of Java's writers are of
    /// the Julian one, unless they say otherwise; other writers never had it.
    pub fn is_proleptic(&self) -> bool {
        let java = self.footer.writer.unwrap_or(WRITER_JAVA) == WRITER_JAVA;
        match self.footer.calendar() {
            CalendarKind::ProlepticGregorian => true,
            CalendarKind::JulianGregorian => false,
            CalendarKind::UnknownCalendar => !java,
        }
    }

    /// The type and those within it: a type's parts follow it.
    pub fn subtree(&self, column: usize) -> Range<usize> {
        let mut end = column + 1;
        let mut at = column;
        while at < end {
            for &child in &self.footer.types[at].subtypes {
                end = end.max(child as usize + 1);
            }
            at += 1;
        }
        column..end
    }

    /// What the crate knows of the file: its types and codec.
    pub fn crate_metadata(&self) -> Result<FileMetadata> {
        let footer = Footer { types: self.footer.types.clone(), ..Default::default() };
        let mut bytes = self.codec.write(&footer.encode_to_vec()).to_vec();
        let postscript = PostScript {
            footer_length: Some(bytes.len() as u64),
            metadata_length: Some(0),
            magic: Some(MAGIC.into()),
            compression: self.postscript.compression,
            compression_block_size: Some(self.codec.block_bytes as u64),
            ..Default::default()
        };
        let postscript = postscript.encode_to_vec();
        bytes.extend_from_slice(&postscript);
        bytes.push(postscript.len() as u8);
        read_metadata(&mut Bytes::from(bytes)).map_err(|error| damaged(error.to_string()))
    }
}
