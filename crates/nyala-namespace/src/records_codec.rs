// SPDX-License-Identifier: Apache-2.0

//! How the rows are encoded that every operation reads: as the codec does it for other rows, in one piece ([`nyala_wire::cbor`]).

use crate::records::{DirPart, EntryRecord, FilePart, InodeRecord};
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Decoder, decode};
use nyala_wire::cbor::{self, Reader};
use nyala_wire::fragments::{CookieRange, Fragment};
use nyala_wire::{FileKind, InodeId, Layout, Name, StripePattern};

/// Fields of an inode's row that are always there, and all of them.
const FIRST_FIELDS: u64 = 10;
const FIELDS: u64 = 14;

impl<'b, C> Decode<'b, C> for InodeRecord {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        cbor::read(d, "this is no inode's row", inode)
    }
}

fn inode(reader: &mut Reader<'_>) -> Option<InodeRecord> {
    let fields = reader.array().filter(|fields| *fields >= FIRST_FIELDS)?;
    let mut record = InodeRecord {
        kind: FileKind::from_number(reader.number()?)?,
        perm: reader.number()?,
        nlink: reader.number()?,
        uid: reader.number()?,
        gid: reader.number()?,
        size: reader.number()?,
        atime: reader.time()?,
        mtime: reader.time()?,
        ctime: reader.time()?,
        btime: reader.time()?,
        rdev: None,
        dir: None,
        file: None,
        xattr_bytes: None,
    };
    if fields > FIRST_FIELDS {
        record.rdev = reader.optional(Reader::number)?;
    }
    if fields > FIRST_FIELDS + 1 {
        record.dir = reader.optional(dir_part)?;
    }
    if fields > FIRST_FIELDS + 2 {
        record.file = reader.optional(file_part)?;
    }
    if fields > FIRST_FIELDS + 3 {
        record.xattr_bytes = reader.optional(Reader::number)?;
    }
    reader.skip_from(FIELDS, fields)?;
    Some(record)
}

/// Reads the next field, if there are so many and it is not null.
fn field<'b, T>(
    reader: &mut Reader<'b>,
    is_there: bool,
    read: impl FnOnce(&mut Reader<'b>) -> Option<T>,
) -> Option<Option<T>> {
    if is_there { reader.optional(read) } else { Some(None) }
}

fn dir_part(reader: &mut Reader<'_>) -> Option<DirPart> {
    let fields = reader.array().filter(|fields| *fields >= 2)?;
    let part = DirPart {
        parent: InodeId(reader.number()?),
        entries: reader.number()?,
        pattern: field(reader, fields > 2, StripePattern::read)?,
        fragments: field(reader, fields > 3, fragments)?,
        range: field(reader, fields > 4, |reader| pair(reader).map(|(from, upto)| CookieRange { from, upto }))?,
        depth: field(reader, fields > 5, Reader::number)?,
    };
    reader.skip_from(6, fields)?;
    Some(part)
}

fn pair(reader: &mut Reader<'_>) -> Option<(u64, u64)> {
    let fields = reader.array().filter(|fields| *fields >= 2)?;
    let pair = (reader.number()?, reader.number()?);
    reader.skip_from(2, fields)?;
    Some(pair)
}

fn fragments(reader: &mut Reader<'_>) -> Option<Vec<Fragment>> {
    let fragments = reader.array().filter(|fragments| *fragments <= reader.remaining() as u64)?;
    let fragment = |(inode, upto)| Fragment { inode: InodeId(inode), upto };
    (0..fragments).map(|_| pair(reader).map(fragment)).collect()
}

fn file_part(reader: &mut Reader<'_>) -> Option<FilePart> {
    let fields = reader.array().filter(|fields| *fields >= 3)?;
    let part = FilePart {
        layout: Layout::read(reader)?,
        inline_version: reader.optional(Reader::number)?,
        inline_limit: reader.number()?,
        allocated: field(reader, fields > 3, Reader::number)?,
        unnamed: field(reader, fields > 4, Reader::flag)?,
        tail: field(reader, fields > 5, Reader::bytes)?.map(|tail| ByteVec::from(tail.to_vec())),
    };
    reader.skip_from(6, fields)?;
    Some(part)
}

impl<'b, C> Decode<'b, C> for EntryRecord {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        cbor::read(d, "this is no directory entry's row", entry)
    }
}

fn entry(reader: &mut Reader<'_>) -> Option<EntryRecord> {
    let fields = reader.array().filter(|fields| *fields >= 3)?;
    let record = EntryRecord {
        name: Name::new(reader.bytes()?).ok()?,
        inode: InodeId(reader.number()?),
        kind: FileKind::from_number(reader.number()?)?,
        followed: field(reader, fields > 3, Reader::flag)?,
    };
    reader.skip_from(4, fields)?;
    Some(record)
}

mod write;

#[cfg(test)]
mod tests;
