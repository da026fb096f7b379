// SPDX-License-Identifier: Apache-2.0

//! How an inode's row is written: its numbers, those of its parts among them, are put together on the stack and handed over at once.

use super::FIRST_FIELDS;
use crate::records::{DirPart, FilePart, InodeRecord};
use minicbor::encode::Write;
use minicbor::{Encode, Encoder, encode};
use nyala_wire::Layout;
use nyala_wire::cbor::Plain;
use nyala_wire::fragments::CookieRange;

impl<C> Encode<C> for InodeRecord {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        let InodeRecord { rdev, dir, file, xattr_bytes, .. } = self;
        // Those at the end that are absent are left out.
        let there = [rdev.is_some(), dir.is_some(), file.is_some(), xattr_bytes.is_some()];
        let fields = fields(FIRST_FIELDS, there);
        let mut plain = InodePlain::default();
        plain.array(fields).number(self.kind as u8).number(self.perm).number(self.nlink);
        plain.number(self.uid).number(self.gid).number(self.size);
        plain.time(self.atime).time(self.mtime).time(self.ctime).time(self.btime);
        if fields > FIRST_FIELDS {
            plain.optional(*rdev);
        }
        if fields > FIRST_FIELDS + 1 {
            match dir {
                Some(part) => write_dir(part, &mut plain, e)?,
                None => {
                    plain.null();
                }
            }
        }
        if fields > FIRST_FIELDS + 2 {
            match file {
                Some(part) => write_file(part, &mut plain, e)?,
                None => {
                    plain.null();
                }
            }
        }
        if let Some(bytes) = xattr_bytes {
            plain.number(*bytes);
        }
        plain.write(e)
    }
}

/// Items of an inode's row: those of its own, of a directory's part and of a file's.
const ITEMS: usize = 21 + 17 + 6 + Layout::PLAIN_ITEMS;
type InodePlain = Plain<{ Plain::<0>::max_bytes(ITEMS) }>;

/// The number of fields of which `first` are always there and of the others those up to the last that is.
fn fields<const N: usize>(first: u64, there: [bool; N]) -> u64 {
    first + there.iter().rposition(|is| *is).map_or(0, |last| last as u64 + 1)
}

fn write_dir<W: Write>(
    part: &DirPart,
    plain: &mut InodePlain,
    e: &mut Encoder<W>,
) -> Result<(), encode::Error<W::Error>> {
    let DirPart { parent, entries, pattern, fragments, range, depth } = part;
    let fields = fields(2, [pattern.is_some(), fragments.is_some(), range.is_some(), depth.is_some()]);
    plain.array(fields).number(parent.0).number(*entries);
    if fields > 2 {
        match pattern {
            Some(pattern) => pattern.write(plain),
            None => {
                plain.null();
            }
        }
    }
    if fields > 3 {
        match fragments {
            Some(fragments) => {
                plain.flush(e)?;
                e.encode(fragments)?;
            }
            None => {
                plain.null();
            }
        }
    }
    match range {
        Some(CookieRange { from, upto }) => {
            plain.array(2).number(*from).number(*upto);
        }
        None if fields > 4 => {
            plain.null();
        }
        None => {}
    }
    if let Some(depth) = depth {
        plain.number(*depth);
    }
    Ok(())
}

fn write_file<W: Write>(
    part: &FilePart,
    plain: &mut InodePlain,
    e: &mut Encoder<W>,
) -> Result<(), encode::Error<W::Error>> {
    let FilePart { layout, inline_version, inline_limit, allocated, unnamed, tail } = part;
    let fields = fields(3, [allocated.is_some(), unnamed.is_some(), tail.is_some()]);
    plain.array(fields);
    layout.write(plain, e)?;
    plain.optional(*inline_version).number(*inline_limit);
    if fields > 3 {
        plain.optional(*allocated);
    }
    if fields > 4 {
        match unnamed {
            Some(unnamed) => plain.flag(*unnamed),
            None => plain.null(),
        };
    }
    if let Some(tail) = tail {
        plain.bytes(tail.len()).flush(e)?;
        e.writer_mut().write_all(tail).map_err(encode::Error::write)?;
    }
    Ok(())
}
